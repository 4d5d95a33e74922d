"""What a redrive would do to the order that ordered endpoints were promised, in words, before it is done."""

from collections.abc import Iterable

from django.db import connection
from django.db.models import QuerySet

from deliveries.models import DeadLetter

# A letter is late when something newer has been delivered already: sent now, it arrives out of sequence.
_LATE = """
SELECT endpoint.id, count(*), count(*) FILTER (WHERE newer.is_delivered)
FROM deliveries_deadletter letter
JOIN endpoints_endpoint endpoint ON endpoint.id = letter.endpoint_id AND endpoint.ordered
CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT FROM deliveries_delivery delivery
                   WHERE delivery.endpoint_id = endpoint.id AND delivery.id > letter.delivery_id
                     AND delivery.status = 'delivered') AS is_delivered
) AS newer
WHERE letter.id = ANY(%s) AND letter.resolution = 'open'
GROUP BY endpoint.id ORDER BY endpoint.id
"""


def order_notes(dead_letters: QuerySet[DeadLetter] | Iterable[int]) -> list[str]:
    """A sentence for each ordered endpoint among these dead letters; empty when none of them is ordered."""
    given = dead_letters.values_list("pk", flat=True) if isinstance(dead_letters, QuerySet) else dead_letters
    with connection.cursor() as cursor:
        cursor.execute(_LATE, [list(given)])
        return [_note(*row) for row in cursor.fetchall()]


def _note(endpoint_id: int, letters: int, late: int) -> str:
    what = f"Endpoint {endpoint_id} is ordered: {letters} dead letter{'' if letters == 1 else 's'}"
    if not late:
        return f"{what} go out first, in sequence; what waits behind them follows. The order is kept."
    return (
        f"{what} go out before everything that still waits, but newer events have been delivered already: "
        f"{late} of them arrive out of sequence."
    )
