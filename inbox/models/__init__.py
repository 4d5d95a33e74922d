"""What came in, from whom, and what became of it."""

from inbox.models.dead_letter import DeadLetter, Resolution
from inbox.models.fetched_object import FetchedObject
from inbox.models.operation import Operation
from inbox.models.received_event import ReceivedEvent
from inbox.models.refusal_count import RefusalCount
from inbox.models.refusal_total import RefusalTotal
from inbox.models.source import Source
from inbox.models.source_secret import SourceSecret
from inbox.models.source_tally import SourceTally

__all__ = [
    "DeadLetter",
    "FetchedObject",
    "Operation",
    "ReceivedEvent",
    "RefusalCount",
    "RefusalTotal",
    "Resolution",
    "Source",
    "SourceSecret",
    "SourceTally",
]
