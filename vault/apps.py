from django.apps import AppConfig
from django.core.checks import register

from vault import checks


class VaultConfig(AppConfig):
    name = "vault"
    verbose_name = "Vault"

    def ready(self) -> None:
        register(checks.check_secret_keys, "holdfast")
