from django.apps import AppConfig
from django.core.checks import register

from endpoints import checks


class EndpointsConfig(AppConfig):
    name = "endpoints"
    verbose_name = "Endpoints"

    def ready(self) -> None:
        register(checks.check_allowed_networks, "holdfast")
