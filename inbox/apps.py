from django.apps import AppConfig
from django.core.checks import Tags, register
from django.utils.module_loading import autodiscover_modules

HANDLER_MODULE = "inbox_handlers"
"""Looked for in every installed app. A name of our own: importing whatever is called `handlers` could do anything."""


class InboxConfig(AppConfig):
    name = "inbox"
    verbose_name = "Inbox"

    def ready(self) -> None:
        # Handlers, checks and signals need the models, which exist only from here on.
        from inbox import checks, worker_life  # noqa: PLC0415

        register(checks.check_conf, "holdfast")
        register(checks.check_key_fetchers, "holdfast")
        register(checks.check_sources, Tags.database)
        autodiscover_modules(HANDLER_MODULE)
        worker_life.connect()
