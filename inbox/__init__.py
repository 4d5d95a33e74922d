"""What came in: webhooks of others, proven at the door, stored once, processed later.

# inbox_handlers.py of any installed app
from inbox import handler

@handler("stripe", "payment_intent.*")
def record_payment(event):
    Payment.objects.create(intent=event.data["data"]["object"]["id"])
"""

from inbox.errors import DataIntegrity, Dependency, Logic, Transient
from inbox.handlers import handler
from inbox.incoming import Incoming
from inbox.order import apply_if_newer
from inbox.statuses import Result

__all__ = [
    "DataIntegrity",
    "Dependency",
    "Incoming",
    "Logic",
    "Result",
    "Transient",
    "apply_if_newer",
    "handler",
]
