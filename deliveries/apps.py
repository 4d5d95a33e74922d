from django.apps import AppConfig
from django.core.checks import register

from deliveries import checks


class DeliveriesConfig(AppConfig):
    name = "deliveries"
    verbose_name = "Deliveries"

    def ready(self) -> None:
        register(checks.check_conf, "holdfast")
        register(checks.check_operators, "holdfast")
        # Signals need the models, which exist only from here on.
        from deliveries import signals, worker_life  # noqa: PLC0415

        signals.connect()
        worker_life.connect()
