"""What goes wrong with received events: the classes handlers raise or return, and why a verb refuses. Pure."""

from enum import StrEnum


class FailureClass(StrEnum):
    """Why an attempt failed or an event was given up; the value is what rows, screens and metrics carry."""

    TRANSIENT = "transient"  # passes by itself within minutes: retried
    DEPENDENCY = "dependency"  # another system is away: retried, with longer waits
    DATA_INTEGRITY = "data-integrity"  # the event contradicts what is stored: a person has to look
    LOGIC = "logic"  # the handler's own fault, or one nobody thought of: mend, then redrive
    POISON = "poison"  # proven genuine, but no JSON: never given to a handler
    UNHANDLED = "unhandled"  # no handler wants this type, and the source keeps such events
    CRASHED = "crashed"  # the worker died over it, or its lease ran out


class InboxError(Exception):
    """The inbox refused to do what it was asked; the message says why and what to do instead."""


class ProcessingFailed(InboxError):
    """What a handler raises, or returns, to say that its event was not processed. The message is for an operator."""

    failure_class: FailureClass = FailureClass.LOGIC


class Transient(ProcessingFailed):
    """Worth another try soon: a lock, a race, a row that another event is about to write."""

    failure_class = FailureClass.TRANSIENT


class Dependency(ProcessingFailed):
    """Another system does not answer; tried again with longer waits."""

    failure_class = FailureClass.DEPENDENCY


class DataIntegrity(ProcessingFailed):
    """The event contradicts what is stored; another try would fail the same way. A dead letter at once."""

    failure_class = FailureClass.DATA_INTEGRITY


class Logic(ProcessingFailed):
    """The handler cannot deal with this event as it is written. A dead letter at once."""

    failure_class = FailureClass.LOGIC


class RedriveRefused(InboxError):
    """The dead letter cannot go back to work, or be discarded, in the state it is in now."""


class NoteRequired(InboxError, ValueError):
    """A discard needs a note that says why: it is kept for whoever asks later."""


class SecretRefused(InboxError, ValueError):
    """The secret cannot be one of the source's scheme, or is stored already. The message never quotes it."""


class HandlerConflict(InboxError):
    """Two handlers claim the same pattern of one source: which of them is meant cannot be known."""
