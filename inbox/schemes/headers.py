"""Headers, looked up the way HTTP means them: in any case, and never two values for one name. Pure."""

import re
from collections.abc import Mapping

from inbox.schemes.scheme import Reason, Refused


def optional(headers: Mapping[str, str], name: str) -> str | None:
    """The header's value, or None. Raises Refused when it came twice with different values.

    Proxies, HTTP/2 and frameworks change the case of names; a request with two different signatures, ids or timestamps
    was put together by two parties, and which of them is meant cannot be known.
    """
    wanted = name.lower()
    found = [value for key, value in headers.items() if isinstance(key, str) and key.lower() == wanted]
    if not found:
        return None
    value = found[0]
    if not isinstance(value, str):
        raise malformed(name)
    if any(other != value for other in found):
        raise Refused(Reason.MALFORMED_HEADER, f"The header {name} came with different values.")
    return value


def required(headers: Mapping[str, str], name: str, form: re.Pattern[str] | None = None) -> str:
    """The header's value, which must match `form` from end to end. Raises Refused."""
    value = optional(headers, name)
    if not value:
        raise Refused(Reason.MISSING_HEADER, f"The header {name} is missing.")
    if form is not None and not form.fullmatch(value):
        raise malformed(name)
    return value


def malformed(name: str) -> Refused:
    """The refusal of a header that is there but not as prescribed. Its value is never quoted: it may be a secret."""
    return Refused(Reason.MALFORMED_HEADER, f"The header {name} is malformed.")


def media_type(content_type: str) -> str:
    """`application/json` of `Application/JSON; charset=utf-8`."""
    return content_type.partition(";")[0].strip().lower()
