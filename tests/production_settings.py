"""Production's settings and the bookshop: what the worker and web processes of the acceptance tests run with."""

from webhooks_project.settings import *  # noqa: F403
from webhooks_project.settings import INSTALLED_APPS as _APPS
from webhooks_project.settings import MIDDLEWARE as _MIDDLEWARE

INSTALLED_APPS = [*_APPS, "tests.bookshop"]
MIDDLEWARE = ["tests.bookshop.faults.Faults", *_MIDDLEWARE]
