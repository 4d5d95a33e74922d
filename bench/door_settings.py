"""Production's settings and one application more: the handlers that the door's bench brings along."""

from webhooks_project.settings import *  # noqa: F403
from webhooks_project.settings import INSTALLED_APPS as _APPS

INSTALLED_APPS = [*_APPS, "bench.door_app"]
