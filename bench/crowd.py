"""Much of everything, filled in by the database itself: what an installation holds after a busy month."""

from django.db import connection

from deliveries.watch import heartbeats
from endpoints.models import Endpoint
from inbox.models import Source

PENDING_SHARE, DUE_SHARE, DEAD_SHARE = 0.04, 0.01, 0.004
MINUTES, HOURS = 360, 720
SOURCES, RECEIVED_EACH = 20, 10_000
DAYS_OF_REFUSALS = 400

# Constraint triggers would look up every event and endpoint; these rows are known to be good.
_QUICKLY = "SET session_replication_role = 'replica'; SET synchronous_commit = off"
_AS_USUAL = "RESET session_replication_role; RESET synchronous_commit"

_ENDPOINTS = """
INSERT INTO endpoints_endpoint ({columns})
SELECT {values} FROM endpoints_endpoint, generate_series(2, %(endpoints)s) AS n WHERE id = %(first)s
"""
_EVENTS = """
INSERT INTO deliveries_event (id, type, tenant, sequence, occurred_at, created_at, body, fingerprint)
SELECT 'evt_' || n, 'payment.completed', '', n, now() - age, now() - age, repeat('x', 500), ''
FROM generate_series(1, %(events)s) AS n
CROSS JOIN LATERAL (SELECT (%(events)s - n) * interval '30 days' / %(events)s AS age) AS old
"""
# The newest events wait, those before them are dead now and then.
_DELIVERIES = """
INSERT INTO deliveries_delivery (event_id, endpoint_id, status, attempt_count, budget_offset, next_attempt_at,
                                 deadline_at, last_outcome, created_at, finished_at)
SELECT event.id, endpoint.id, status, 1, 0,
       CASE status WHEN 'pending' THEN now() + CASE WHEN event.sequence %% 4 = 0 THEN interval '-5 minutes'
                                                    ELSE interval '2 hours' END END,
       now() + interval '3 days', '', event.created_at, CASE WHEN status <> 'pending' THEN event.created_at END
FROM deliveries_event event CROSS JOIN endpoints_endpoint endpoint
CROSS JOIN LATERAL (SELECT CASE
    WHEN event.sequence > %(events)s * (1 - %(pending)s::float8) THEN 'pending'
    WHEN (endpoint.id * 7919 + event.sequence) %% 1000 < 1000 * %(dead)s::float8 THEN 'dead'
    ELSE 'delivered' END AS status) AS stands
"""
_LETTERS = """
INSERT INTO deliveries_deadletter (delivery_id, endpoint_id, event_type, failure_class, reason, url, headers, body,
                                   attempts, created_at, resolution)
SELECT id, endpoint_id, 'payment.completed', (ARRAY['rejected', 'auth', 'server_error', 'tls'])[1 + id %% 4],
       'The endpoint answered 400.', 'https://example.com/', '{}', repeat('x', 500), '[]', created_at, 'open'
FROM deliveries_delivery WHERE status = 'dead'
"""
_SPANS = """
INSERT INTO deliveries_endpointspan (endpoint_id, minutes, starts_at, attempts, delivered, delivered_by_number,
                                     failed_by_kind, attempt_ms, end_to_end_ms, retries, attempt_ms_total,
                                     end_to_end_ms_total)
SELECT id, %(minutes)s, date_trunc(%(unit)s, now()) - n * make_interval(mins => %(minutes)s), 20, 18,
       '{16,1,1,0,0,0}', '{0,0,1,0,0,1,0,0,0,0,0,0,0}', '{0,1,5,6,4,2,1,1,0,0,0,0,0}',
       '{0,1,3,5,4,3,1,1,0,0,0,0,0,0,0,0,0}', 2, 3000, 9000
FROM endpoints_endpoint CROSS JOIN generate_series(%(from)s, %(to)s) AS n
ON CONFLICT DO NOTHING
"""
_RECEIVED = """
INSERT INTO inbox_receivedevent (source_id, event_id, type, body, content_type, headers, fingerprint, received_at,
                                 ordering_key, status, attempt_count, budget_offset, next_attempt_at, finished_at,
                                 duplicates, conflicts, handler, reason, failures)
SELECT source.id, 'msg_' || n, 'order.paid', 'x', '', '{}', '', now() - n * interval '1 minute', '', status, 0, 0,
       CASE status WHEN 'received' THEN now() END, CASE status WHEN 'processed' THEN now() END, 0, 0, '', '', '[]'
FROM inbox_source source CROSS JOIN generate_series(1, %(received)s) AS n
CROSS JOIN LATERAL (SELECT CASE WHEN n %% 100 = 0 THEN 'received' ELSE 'processed' END AS status) AS stands
"""
_TALLIES = """
INSERT INTO inbox_sourcetally (source_id, starts_at, slot, received, duplicates, conflicts, finished, failed, latency,
                               latency_ms_total)
SELECT source.id, nullif(n, 0) * interval '1 minute' + date_trunc('minute', now()) - interval '10 minutes', 0,
       100, 10, 0, '{90,0,0,1}', '{1,0,0,0,0,0,0}', '{90,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}', 900
FROM inbox_source source CROSS JOIN generate_series(0, 10) AS n
"""
_REFUSALS = """
INSERT INTO inbox_refusalcount (source_id, day, reason, keys, count, last_at)
SELECT source.id, current_date - n, (ARRAY['bad-signature', 'too-large'])[1 + n %% 2], '', 5, now()
FROM inbox_source source CROSS JOIN generate_series(1, %(days)s) AS n
"""


def gather(deliveries: int, endpoints: int) -> None:
    """Fill the tables of an empty database, and Redis with the signs of a pipeline that runs."""
    Source.objects.bulk_create(Source(slug=f"shop-{n}", scheme="standard-webhooks") for n in range(SOURCES))
    _run(_QUICKLY)
    _copy_endpoints(endpoints)
    events = deliveries // endpoints
    _run(_EVENTS, events=events)
    _run(_DELIVERIES, events=events, pending=PENDING_SHARE, dead=DEAD_SHARE)
    _run(_LETTERS, unused=0)
    _run(_SPANS, minutes=60, unit="hour", **{"from": MINUTES // 60, "to": HOURS})
    _run(_SPANS, minutes=1, unit="minute", **{"from": 0, "to": MINUTES})
    _run(_RECEIVED, received=RECEIVED_EACH)
    _run(_TALLIES, unused=0)
    _run(_REFUSALS, days=DAYS_OF_REFUSALS)
    _run(_AS_USUAL)
    _run("VACUUM (ANALYZE)")
    for queue in ("deliveries", "deliveries.slow", "dead_letters", "inbox", "upkeep"):
        heartbeats.beat(f"{queue}@bench", [queue])
    for duty in ("due", "lapsed", "expired", "recorded"):
        heartbeats.note(duty)


def keep_busy() -> None:
    """Every endpoint has attempts in the current minute too."""
    _run(_SPANS, minutes=1, unit="minute", **{"from": 0, "to": 0})


def _copy_endpoints(endpoints: int) -> None:
    """All alike, but for the address."""
    first = Endpoint.objects.create(url="https://example.com/hooks/1")
    columns = [field.column for field in Endpoint._meta.concrete_fields if not field.primary_key]
    values = ["'https://example.com/hooks/' || n" if column == "url" else column for column in columns]
    statement = _ENDPOINTS.format(columns=", ".join(columns), values=", ".join(values))
    _run(statement, endpoints=endpoints, first=first.pk)


def _run(statement: str, **values: str | float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
