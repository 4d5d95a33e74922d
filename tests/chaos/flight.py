"""The requests in flight when something was killed: the receiver had them, and the database no result of them."""

import time
from typing import Final

from django.db import DatabaseError, InterfaceError, connection

from tests.chaos.witness import Pair, Witness

LANDING_SECONDS: Final = 0.3
"""What the dead had written to a socket still arrives; after this long it has been read and logged."""

PATIENCE_SECONDS: Final = 60.0

_SENDING: Final = """
SELECT delivery.endpoint_id, delivery.event_id,
       (SELECT count(*) FROM deliveries_attempt attempt WHERE attempt.delivery_id = delivery.id)
FROM deliveries_delivery delivery WHERE delivery.status = 'sending'
"""


def in_flight(witness: Witness) -> set[Pair]:
    """Call it right after a kill. Those of a worker that lives on may be among them: the answer is an upper bound."""
    recorded = _recorded()
    time.sleep(LANDING_SECONDS)
    witness.read()
    return {pair for pair, attempts in recorded.items() if witness.requests[pair] > attempts}


def _recorded() -> dict[Pair, int]:
    """The deliveries under lease, and how many attempts of each are on record."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with connection.cursor() as cursor:
                cursor.execute(_SENDING)
                return {(endpoint, event): attempts for endpoint, event, attempts in cursor.fetchall()}
        except (DatabaseError, InterfaceError):
            # Nothing moves while the database is away either.
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
