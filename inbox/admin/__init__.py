"""The admin of the inbox, one file a model."""

from django.contrib import admin

from inbox.admin.dead_letter import DeadLetterAdmin
from inbox.admin.operation import OperationAdmin
from inbox.admin.received_event import ReceivedEventAdmin
from inbox.admin.refusal_count import RefusalCountAdmin
from inbox.admin.source import SourceAdmin
from inbox.models import DeadLetter, Operation, ReceivedEvent, RefusalCount, Source

admin.site.register(DeadLetter, DeadLetterAdmin)
admin.site.register(Operation, OperationAdmin)
admin.site.register(ReceivedEvent, ReceivedEventAdmin)
admin.site.register(RefusalCount, RefusalCountAdmin)
admin.site.register(Source, SourceAdmin)
