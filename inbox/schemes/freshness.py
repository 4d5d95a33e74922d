"""Whether a signature was made about when the request arrived. Pure: the time of arrival is an argument."""

import re

from inbox.schemes.scheme import Reason, Refused

UNIX_SECONDS = re.compile(r"[0-9]{1,12}")
"""Whole seconds in ASCII digits: a longer number is no time, and other digits would be read but not signed alike."""


def check_age(timestamp: float, received_at: float, tolerance_seconds: int) -> None:
    """Raises Refused when more than `tolerance_seconds` lie between signing and arrival, in either direction.

    A time in the future is refused too: it would let a captured request be replayed until that time has passed.
    """
    ahead = timestamp - received_at
    if not abs(ahead) <= tolerance_seconds:
        where = "in the future" if ahead > 0 else "old"
        raise Refused(
            Reason.STALE, f"The timestamp is {abs(ahead):.0f} s {where}; at most {tolerance_seconds} s are allowed."
        )
