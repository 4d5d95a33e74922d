"""The admin of endpoints, one file a model."""

from django.contrib import admin

from endpoints.admin.endpoint import EndpointAdmin
from endpoints.admin.retry_policy import RetryPolicyAdmin
from endpoints.admin.state_change import StateChangeAdmin
from endpoints.models import Endpoint, RetryPolicy, StateChange

admin.site.register(Endpoint, EndpointAdmin)
admin.site.register(RetryPolicy, RetryPolicyAdmin)
admin.site.register(StateChange, StateChangeAdmin)
