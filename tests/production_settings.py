"""Production's settings and the bookshop: what the worker and web processes of the acceptance tests run with."""

from webhooks_project.settings import *  # noqa: F403
from webhooks_project.settings import INSTALLED_APPS as _APPS
from webhooks_project.settings import MIDDLEWARE as _MIDDLEWARE

INSTALLED_APPS = [*_APPS, "tests.bookshop"]
MIDDLEWARE = ["tests.bookshop.faults.Faults", *_MIDDLEWARE]

# A notice need not wait for most of a minute: judged and sent often.
for _entry, _seconds in {"judge the health of endpoints": 5.0, "send notices": 2.0}.items():
    CELERY_BEAT_SCHEDULE[_entry] = {**CELERY_BEAT_SCHEDULE[_entry], "schedule": _seconds}  # noqa: F405
