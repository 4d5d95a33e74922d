"""What `deliveries` raises, and when. Every class is a HoldfastError; a refused argument is a ValueError as well.

All of these are raised before any row is written, so the caller's transaction stays usable.
"""


class HoldfastError(Exception):
    """Holdfast refused to do what it was asked; the message says why and what to do instead."""


class InvalidEvent(HoldfastError, ValueError):
    """The event cannot be published as it is: `field` says which part, `rule` which rule it broke.

    `field` is the argument's name, or a path into the data such as `data.lines[3].price`.
    `rule` is a short stable name such as `not-finite`, fit for code to branch on; the message is for people.
    """

    def __init__(self, message: str, *, field: str, rule: str) -> None:
        super().__init__(message)
        self.field = field
        self.rule = rule


class InvalidEventType(InvalidEvent):
    """The event type is not dot-separated segments of letters, digits, `_` and `-`."""

    def __init__(self, message: str, *, field: str = "type", rule: str = "malformed") -> None:
        super().__init__(message, field=field, rule=rule)


class InvalidPayload(InvalidEvent):
    """The data cannot be written as strict JSON that every receiver reads the same way."""

    def __init__(self, message: str, *, field: str = "data", rule: str = "malformed") -> None:
        super().__init__(message, field=field, rule=rule)


class PayloadTooLarge(InvalidEvent):
    """The rendered body is larger than an event may be; send a reference to the data instead of the data."""

    def __init__(self, message: str, *, field: str = "data", rule: str = "too-large") -> None:
        super().__init__(message, field=field, rule=rule)


class IdempotencyConflict(HoldfastError):
    """An event with this id is stored already, and its type, tenant or data differ from what was published now."""

    def __init__(self, event_id: str) -> None:
        super().__init__(
            f"Event {event_id} is stored already with other content. Publish the new content under an id of its own."
        )
        self.event_id = event_id


class RedriveRefused(HoldfastError):
    """The dead letter cannot go back to work, or be discarded, in the state it is in now."""


class NoteRequired(HoldfastError, ValueError):
    """A redrive, discard or replay needs a note that says why: it is kept with the rows for whoever asks later."""


class OperationFinished(HoldfastError):
    """The redrive or replay cannot be stopped: everything it sent out has been tried."""
