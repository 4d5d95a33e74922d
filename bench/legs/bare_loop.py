"""The bare loop: claim a batch, post it, record it. Neither Celery nor Django; the yardstick of the drain bench.

It is what one would write for this single purpose: the same rows, the same lease, the same transport and signatures,
and none of the pacing, isolation, health and hand-over. Each thread is a loop of its own with its own connection.
"""

import argparse
import json
import os
import sys
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_network
from uuid import uuid4

import psycopg2
from psycopg2.extensions import connection as Connection  # noqa: N812
from psycopg2.extras import execute_values

from bench.leash import tell_ready
from deliveries.outcomes import Exchange
from deliveries.transport import HttpTransport, Request
from endpoints.signing import sign

ROWS_PER_ENDPOINT = 16
LEASE_SECONDS = 60
TIMEOUT_SECONDS = 5.0
RETRY_SECONDS = 30
IDLE_SECONDS = 0.05

# Endpoint by endpoint, as the index of due rows has them.
_CLAIM = """
WITH due AS (
    SELECT row.id FROM unnest(%s) AS wanted(endpoint_id)
    CROSS JOIN LATERAL (
        SELECT id FROM deliveries_delivery
        WHERE endpoint_id = wanted.endpoint_id AND status = 'pending' AND next_attempt_at <= now()
        ORDER BY next_attempt_at, id LIMIT %s FOR UPDATE SKIP LOCKED
    ) AS row
), taken AS (
    UPDATE deliveries_delivery delivery
    SET status = 'sending', attempt_count = attempt_count + 1, next_attempt_at = NULL, lease_token = %s,
        lease_expires_at = now() + make_interval(secs => %s)
    FROM due WHERE delivery.id = due.id
    RETURNING delivery.id, delivery.endpoint_id, delivery.event_id, delivery.attempt_count
)
SELECT taken.*, event.body FROM taken JOIN deliveries_event event ON event.id = taken.event_id
"""

_MOVE_DELIVERED = """
UPDATE deliveries_delivery
SET status = 'delivered', finished_at = now(), lease_token = NULL, lease_expires_at = NULL, last_outcome = 'delivered'
WHERE id = ANY(%s) AND status = 'sending' AND lease_token = %s
"""

_MOVE_FAILED = """
UPDATE deliveries_delivery
SET status = 'pending', next_attempt_at = now() + make_interval(secs => %s), last_outcome = 'server_error',
    lease_token = NULL, lease_expires_at = NULL
WHERE id = ANY(%s) AND status = 'sending' AND lease_token = %s
"""

_WRITE_ATTEMPTS = """
INSERT INTO deliveries_attempt (delivery_id, number, started_at, duration_ms, outcome, status_code, reason, host,
                                address, retry_after, snippet)
VALUES %s
"""


@dataclass(slots=True)
class Row:
    """One claimed delivery."""

    id: int
    endpoint_id: int
    event_id: str
    number: int
    body: str


class Loop:
    """One thread's work. `destinations` maps endpoint ids to their URL and live secrets."""

    def __init__(self, destinations: dict[int, tuple[str, list[str]]], transport: HttpTransport) -> None:
        self._destinations = destinations
        self._transport = transport
        self._connection: Connection = psycopg2.connect(os.environ["DATABASE_URL"])

    def run(self) -> None:
        """Work for ever."""
        while True:
            token = str(uuid4())
            rows = self._claim(token)
            if rows:
                self._record(token, [self._send(row) for row in rows])
            else:
                time.sleep(IDLE_SECONDS)

    def _claim(self, token: str) -> list[Row]:
        with self._connection, self._connection.cursor() as cursor:
            cursor.execute(_CLAIM, [list(self._destinations), ROWS_PER_ENDPOINT, token, LEASE_SECONDS])
            return [Row(*row) for row in cursor.fetchall()]

    def _send(self, row: Row) -> tuple[Row, datetime, Exchange]:
        url, secrets = self._destinations[row.endpoint_id]
        body = row.body.encode()
        started_at = datetime.now(UTC)
        timestamp = int(started_at.timestamp())
        headers = {
            "content-type": "application/json",
            "webhook-id": row.event_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(secrets, row.event_id, timestamp, body),
        }
        return row, started_at, self._transport.send(Request(url, headers, body, TIMEOUT_SECONDS))

    def _record(self, token: str, results: list[tuple[Row, datetime, Exchange]]) -> None:
        delivered = [row.id for row, _, exchange in results if _accepted(exchange)]
        failed = [row.id for row, _, exchange in results if not _accepted(exchange)]
        with self._connection, self._connection.cursor() as cursor:
            cursor.execute(_MOVE_DELIVERED, [delivered, token])
            if failed:
                cursor.execute(_MOVE_FAILED, [RETRY_SECONDS, failed, token])
            execute_values(cursor, _WRITE_ATTEMPTS, [_attempt(*result) for result in results], page_size=len(results))


def _accepted(exchange: Exchange) -> bool:
    return exchange.status_code is not None and 200 <= exchange.status_code < 300


def _attempt(row: Row, started_at: datetime, exchange: Exchange) -> tuple[object, ...]:
    return (
        row.id,
        row.number,
        started_at,
        exchange.duration_ms,
        "delivered" if _accepted(exchange) else "server_error",
        exchange.status_code,
        exchange.error,
        exchange.host,
        exchange.address,
        exchange.retry_after or "",
        exchange.snippet,
    )


def main() -> None:
    """Read the destinations from standard input, say ready, begin at the next line, end with standard input."""
    parser = argparse.ArgumentParser(prog="python -m bench.legs.bare_loop")
    parser.add_argument("--threads", type=int, required=True)
    threads = parser.parse_args().threads
    destinations = {item["id"]: (item["url"], item["secrets"]) for item in json.loads(sys.stdin.readline())}
    transport = HttpTransport([ip_network("127.0.0.0/8")])
    loops = [Loop(destinations, transport) for _ in range(threads)]
    tell_ready()
    if sys.stdin.readline():
        for loop in loops:
            threading.Thread(target=loop.run, daemon=True).start()
        sys.stdin.read()


if __name__ == "__main__":
    main()
