"""The command line of every process of the stack; docker-compose.yml says the same words."""

import sys

HEALTHY_QUEUES = ("deliveries", "dead_letters", "upkeep")
SLOW_QUEUES = ("deliveries.slow",)
INBOX_QUEUES = ("inbox",)
"""Apart, so that handlers that take long hold up no delivery, and slow endpoints no received event."""

ENVIRONMENT = {"MALLOC_ARENA_MAX": "2"}
"""What every process gets. glibc would give the hundreds of threads of a worker up to eight heaps a core, which fill up
one by one for hours and look like a leak; two are as fast (`python -m bench memory`)."""

WORKER_THREADS = 4
"""Celery threads a worker: each drains an endpoint; the requests themselves run on the HTTP pool."""


def worker(name: str, queues: tuple[str, ...]) -> list[str]:
    """Return the command of a worker for `queues`.

    Threads, as a delivery waits for the network. No gossip, mingle or heartbeat: worker-to-worker chatter over the
    broker that nothing here listens to.
    """
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    pool = ["--pool", "threads", "--concurrency", str(WORKER_THREADS)]
    return [*_celery("worker"), *pool, "-Q", ",".join(queues), *quiet, "-n", f"{name}@%h", "--loglevel", "INFO"]


def beat() -> list[str]:
    """Return the command of the one beat: schedule in the database, no pid file to go stale after a crash."""
    scheduler = "django_celery_beat.schedulers:DatabaseScheduler"
    return [*_celery("beat"), "--scheduler", scheduler, "--pidfile=", "--loglevel", "INFO"]


def web_server(bind: str, processes: int = 2) -> list[str]:
    """Return the command of production's web server, which also serves the inbox's door, on `host:port`."""
    served = ["webhooks_project.wsgi:application", "--bind", bind, "--workers", str(processes), "--threads", "4"]
    # The control socket's default place is one for the whole machine.
    return [sys.executable, "-m", "gunicorn", *served, "--no-control-socket"]


def web(port: int) -> list[str]:
    """Return the command of the development web server on 127.0.0.1."""
    return [sys.executable, "manage.py", "runserver", "--noreload", f"127.0.0.1:{port}"]


def receiver(port: int) -> list[str]:
    """Return the command of the demo receiver on 127.0.0.1."""
    return [sys.executable, "-m", "demo.receiver", "--port", str(port)]


def _celery(program: str) -> list[str]:
    return [sys.executable, "-m", "celery", "-A", "webhooks_project", "--quiet", program]
