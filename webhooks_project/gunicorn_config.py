"""gunicorn's configuration in production: its own lines look like all others, from its first on."""

import os

from webhooks_project.logs import logging_config

logconfig_dict = logging_config(
    format=os.environ.get("LOG_FORMAT") or "json", level=os.environ.get("LOG_LEVEL") or "INFO", attempts=True
)
