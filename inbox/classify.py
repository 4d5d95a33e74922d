"""Which class an exception of a handler belongs to, when the handler did not say."""

from typing import Final

from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, InterfaceError, OperationalError

from inbox.errors import FailureClass, ProcessingFailed

_KNOWN: Final[tuple[tuple[tuple[type[BaseException], ...], FailureClass], ...]] = (
    # Deadlocks, serialisation failures, a database that restarts.
    ((OperationalError, InterfaceError), FailureClass.TRANSIENT),
    ((IntegrityError, DataError, ValidationError), FailureClass.DATA_INTEGRITY),
    # Sockets, DNS, TLS, timeouts: requests' exceptions are OSErrors too. What cannot be a peer's doing follows first.
    ((FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError), FailureClass.LOGIC),
    ((OSError,), FailureClass.DEPENDENCY),
)


def classify(error: BaseException) -> FailureClass:
    """What the error says of itself, or what its type says; anything nobody thought of is a fault in the logic."""
    if isinstance(error, ProcessingFailed):
        return error.failure_class
    return next((found for types, found in _KNOWN if isinstance(error, types)), FailureClass.LOGIC)


def reason(error: BaseException) -> str:
    """One sentence for an operator. PostgreSQL cannot store NUL, UTF-8 no lone surrogate, and nobody reads a novel."""
    text = f"{error}" if isinstance(error, ProcessingFailed) else f"{type(error).__name__}: {error}"
    clean = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    return clean.strip()[:2000] or type(error).__name__
