"""The work every leg drains: the same endpoints, and as many fresh deliveries as asked for."""

import time
from dataclasses import dataclass

from django.db import connection

from bench.ground import clear_broker
from deliveries.publishing import publish_many
from demo.receiver.client import ReceiverProcess
from endpoints.models import Endpoint

POLL_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class Destination:
    """One endpoint as a loop without Django needs it."""

    id: int
    url: str
    secrets: list[str]


def make_destinations(receiver: ReceiverProcess, count: int) -> list[Destination]:
    """Create `count` endpoints with default settings at the receiver, which learns their secrets."""
    made = []
    for number in range(1, count + 1):
        endpoint = Endpoint.objects.create(url=receiver.url(f"/ok/{number}"))
        secrets = [row.secret for row in endpoint.signing_secrets.all()]
        receiver.secret(str(number), *secrets)
        made.append(Destination(endpoint.pk, endpoint.url, secrets))
    return made


def prefill(events: int) -> None:
    """Start over with `events` fresh events, each due at every endpoint, and nobody rung for."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE deliveries_event RESTART IDENTITY CASCADE")
    publish_many(_event(number) for number in range(events))
    clear_broker()
    with connection.cursor() as cursor:
        # Whether autovacuum came by in time would else decide over the plans of one leg and not of the next.
        cursor.execute("ANALYZE")


def delivery_ids() -> list[int]:
    """All deliveries, in the order in which they were made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM deliveries_delivery ORDER BY id")
        return [row[0] for row in cursor.fetchall()]


def wait_until_final(deadline: float) -> bool:
    """Poll until no delivery is open any more; false when `deadline` (on `time.monotonic`) passed before."""
    with connection.cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute("SELECT 1 FROM deliveries_delivery WHERE status IN ('pending', 'sending') LIMIT 1")
            if cursor.fetchone() is None:
                return True
            time.sleep(POLL_SECONDS)
    return False


def statuses() -> dict[str, int]:
    """How many deliveries stand where."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT status, count(*) FROM deliveries_delivery GROUP BY status")
        return dict(cursor.fetchall())


def attempts() -> int:
    """How many attempts were recorded."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM deliveries_attempt")
        return int(cursor.fetchone()[0])


def _event(number: int) -> dict[str, object]:
    """About half a kilobyte, as the events of payment providers are."""
    return {
        "type": "payment.completed",
        "data": {
            "payment_id": f"pay_{number:012d}",
            "amount": 100 + number,
            "currency": "EUR",
            "customer": {"id": f"cus_{number % 977:09d}", "name": "Zoë Example", "country": "DE"},
            "lines": [{"sku": f"A-{line}", "quantity": line, "price": 1299} for line in range(1, 4)],
            "metadata": {"order": f"2024-{number:08d}", "channel": "web", "note": "thank you for your order"},
        },
    }
