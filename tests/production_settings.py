"""Production's settings and the bookshop: what the worker and web processes of the acceptance tests run with."""

from webhooks_project import broker
from webhooks_project.settings import *  # noqa: F403
from webhooks_project.settings import INSTALLED_APPS as _APPS
from webhooks_project.settings import MIDDLEWARE as _MIDDLEWARE

INSTALLED_APPS = [*_APPS, "tests.bookshop"]
MIDDLEWARE = ["tests.bookshop.faults.Faults", *_MIDDLEWARE]

# A notice need not wait for most of a minute: judged and sent often.
_OFTEN = {"judge the health of endpoints": 5.0, "send notices": 2.0}
CELERY_BEAT_SCHEDULE = {
    name: {**entry, "schedule": _OFTEN.get(name, entry["schedule"])}
    for name, entry in broker.SETTINGS["beat_schedule"].items()
}
