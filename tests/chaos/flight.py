"""The requests in flight when something was killed: the receiver had them, and the database no result of them."""

import time
from typing import Final

from django.db import DatabaseError, InterfaceError, connection

from tests.chaos.witness import Pair, Witness

LANDING_SECONDS: Final = 0.3
"""What the dead had written to a socket still arrives; after this long it has been read and logged."""

PATIENCE_SECONDS: Final = 60.0

# The moment its last recorded attempt was over: what the receiver got after it belongs to the attempt under way.
_SENDING: Final = """
SELECT delivery.endpoint_id, delivery.event_id, delivery.attempt_count,
       (SELECT coalesce(max(extract(epoch FROM started_at) + duration_ms / 1000.0), 0)::float8
        FROM deliveries_attempt attempt WHERE attempt.delivery_id = delivery.id)
FROM deliveries_delivery delivery WHERE delivery.status = 'sending'
"""
ROUNDING_SECONDS: Final = 0.002


Flight = tuple[Pair, int]
"""A delivery and the number of the attempt under way."""


def in_flight(witness: Witness) -> set[Flight]:
    """Call it right after a kill. Those of a worker that lives on may be among them: the answer is an upper bound."""
    under_lease = _under_lease()
    time.sleep(LANDING_SECONDS)
    witness.read()
    return {
        (pair, number)
        for (pair, number), since in under_lease.items()
        if witness.latest.get(pair, 0.0) > since + ROUNDING_SECONDS
    }


def _under_lease() -> dict[Flight, float]:
    """The deliveries that somebody sends, and since when (seconds since 1970) nothing is on record of each."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with connection.cursor() as cursor:
                cursor.execute(_SENDING)
                return {((endpoint, event), number): since for endpoint, event, number, since in cursor.fetchall()}
        except (DatabaseError, InterfaceError):
            # Nothing moves while the database is away either.
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
