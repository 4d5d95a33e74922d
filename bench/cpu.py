"""Where the CPU time of a leg went: the difference of two readings, by party."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

import psutil
import redis
from django.db import connection


@dataclass(frozen=True, slots=True)
class CpuSeconds:
    """Seconds of CPU, user and system. `elsewhere` is all else the machine did: the kernel, and whoever shares it."""

    workers: float
    receiver: float
    database: float
    broker: float
    elsewhere: float

    def __sub__(self, earlier: "CpuSeconds") -> "CpuSeconds":
        return CpuSeconds(*(getattr(self, name) - getattr(earlier, name) for name in self.__slots__))


def read_cpu(worker_pids: Iterable[int], receiver_pid: int) -> CpuSeconds:
    """What everybody has used so far. Database and broker count when they run on this machine."""
    workers = sum(map(_used_by, worker_pids))
    receiver = _used_by(receiver_pid)
    database = sum(map(_used_by, _database_pids()))
    broker = _used_by_broker()
    total = psutil.cpu_times()
    machine = sum(total) - total.idle - total.iowait - getattr(total, "guest", 0.0) - getattr(total, "guest_nice", 0.0)
    return CpuSeconds(workers, receiver, database, broker, machine - workers - receiver - database - broker)


def _used_by(pid: int) -> float:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def _database_pids() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity")
        pids = [row[0] for row in cursor.fetchall()]
    return [pid for pid in pids if _is_postgres(pid)]


def _is_postgres(pid: int) -> bool:
    # The database may run on another machine, where the number names something else.
    try:
        return psutil.Process(pid).name().startswith("postgres")
    except psutil.NoSuchProcess:
        return False


def _used_by_broker() -> float:
    with redis.Redis.from_url(os.environ["REDIS_URL"]) as broker:
        used = broker.info("cpu")
    return float(used["used_cpu_sys"] + used["used_cpu_user"])
