"""Celery's and kombu's settings, each with its reason. Checked against celery 5.7.0, kombu 5.7.0, redis-py 8.1.0."""

from typing import Any

from kombu import Exchange, Queue

QUEUES = ("deliveries", "deliveries.slow", "dead_letters", "inbox", "upkeep")

_exchange = Exchange("holdfast", type="direct")

VISIBILITY_TIMEOUT_SECONDS = 300

# A sweep that waited so long is dropped: those that piled up while no worker was up are not all run afterwards. Long,
# as beat writes the time and the worker judges it, and their clocks may be minutes apart. The name is the one that
# django-celery-beat's scheduler knows; it ignores Celery's own, `expires`, without a word.
_SWEEP = {"queue": "upkeep", "expire_seconds": 600}

SETTINGS: dict[str, Any] = {
    # Direct exchanges only: after FLUSHALL the bindings of other kinds are gone and messages vanish without an error.
    "task_queues": [Queue(name, exchange=_exchange, routing_key=name) for name in QUEUES],
    "task_default_queue": "upkeep",
    "task_default_exchange": "holdfast",
    "task_default_exchange_type": "direct",
    "task_default_routing_key": "upkeep",
    # A misspelt queue is an error, not a new queue that nobody reads.
    "task_create_missing_queues": False,
    "accept_content": ["json"],
    "task_serializer": "json",
    # The database holds every result worth keeping.
    "task_ignore_result": True,
    "result_backend": None,
    # A killed worker's message comes back; leases and the attempt count make the second run harmless. Re-queueing
    # on worker loss as well would loop without a count on Redis.
    "task_acks_late": True,
    "task_reject_on_worker_lost": False,
    "worker_prefetch_multiplier": 1,
    # Celery's own rate limit is per worker; the pacing is ours.
    "worker_disable_rate_limits": True,
    # A fuse: countdowns live in worker memory, and there is at most one an endpoint.
    "worker_eta_task_limit": 5000,
    "worker_send_task_events": False,
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "worker_hijack_root_logger": False,
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    "broker_pool_acquire_timeout": 5,
    # A publish gives up after about a second: the row is the truth and the sweep rings again.
    "task_publish_retry": True,
    "task_publish_retry_policy": {"max_retries": 2, "interval_start": 0.1, "interval_step": 0.2, "interval_max": 0.5},
    "broker_transport_options": {
        "visibility_timeout": VISIBILITY_TIMEOUT_SECONDS,
        # kombu looks for lost messages every interval x throttle; the defaults take about 100 s.
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
        # Without it a publish on a half-open connection waits for ever.
        "socket_timeout": 10,
        "socket_connect_timeout": 3,
        "socket_keepalive": True,
        "health_check_interval": 10,
        "max_connections": 64,
        "priority_steps": [0],
    },
    "timezone": "UTC",
    "enable_utc": True,
    # Every entry is safe to run twice at once: beat has no lock of its own.
    "beat_schedule": {
        "ring for due deliveries": {
            "task": "deliveries.sweep_due",
            "schedule": 2.0,
            "options": _SWEEP,
        },
        "take back lapsed leases": {
            "task": "deliveries.sweep_lapsed",
            "schedule": 5.0,
            "options": _SWEEP,
        },
        "bury expired deliveries": {
            "task": "deliveries.sweep_expired",
            "schedule": 5.0,
            "options": _SWEEP,
        },
        "judge the health of endpoints": {
            "task": "deliveries.sweep_health",
            "schedule": 60.0,
            "options": _SWEEP,
        },
        "try disabled endpoints again": {
            "task": "deliveries.sweep_probes",
            "schedule": 60.0,
            "options": _SWEEP,
        },
        "warn of certificates that end": {
            "task": "deliveries.sweep_certificates",
            "schedule": 600.0,
            "options": _SWEEP,
        },
        "watch dead letters and standstill": {
            "task": "deliveries.sweep_alarms",
            "schedule": 60.0,
            "options": _SWEEP,
        },
        "send notices": {
            "task": "deliveries.sweep_notices",
            "schedule": 20.0,
            "options": _SWEEP,
        },
        "fold the rollups": {
            "task": "deliveries.sweep_rollups",
            "schedule": 300.0,
            "options": _SWEEP,
        },
        "delete what is old": {
            "task": "deliveries.sweep_old",
            "schedule": 600.0,
            "options": _SWEEP,
        },
        "ring for received events": {
            "task": "inbox.sweep_due",
            "schedule": 2.0,
            "options": _SWEEP,
        },
        "take back received events": {
            "task": "inbox.sweep_lapsed",
            "schedule": 5.0,
            "options": _SWEEP,
        },
        "prune received events": {
            "task": "inbox.sweep_old",
            "schedule": 600.0,
            "options": _SWEEP,
        },
        "announce dead letters of the inbox": {
            "task": "inbox.sweep_unannounced",
            "schedule": 30.0,
            "options": _SWEEP,
        },
        "bring the figures of a scrape up to date": {
            "task": "deliveries.sweep_figures",
            "schedule": 10.0,
            "options": _SWEEP,
        },
        "fold the tallies of received events": {
            "task": "inbox.sweep_tallies",
            "schedule": 300.0,
            "options": _SWEEP,
        },
        "announce dead letters nobody heard of": {
            "task": "deliveries.sweep_unannounced",
            "schedule": 30.0,
            "options": _SWEEP,
        },
    },
}
