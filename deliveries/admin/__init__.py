"""The admin of deliveries, one file a model. The endpoint's page is registered anew with what waits for it."""

from django.contrib import admin

from deliveries.admin.attempt import AttemptAdmin
from deliveries.admin.dead_letter import DeadLetterAdmin
from deliveries.admin.delivery import DeliveryAdmin
from deliveries.admin.endpoint import EndpointWithTrafficAdmin
from deliveries.admin.event import EventAdmin
from deliveries.admin.notice import NoticeAdmin
from deliveries.admin.operation import OperationAdmin
from deliveries.models import Attempt, DeadLetter, Delivery, Event, Notice, Operation
from endpoints import admin as endpoints_admin  # noqa: F401  (registers the plain page first)
from endpoints.models import Endpoint

admin.site.register(Attempt, AttemptAdmin)
admin.site.register(DeadLetter, DeadLetterAdmin)
admin.site.register(Delivery, DeliveryAdmin)
admin.site.register(Event, EventAdmin)
admin.site.register(Notice, NoticeAdmin)
admin.site.register(Operation, OperationAdmin)
admin.site.unregister(Endpoint)
admin.site.register(Endpoint, EndpointWithTrafficAdmin)
