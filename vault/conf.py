"""The setting this package reads. Refused at boot by `vault.checks`."""

from django.conf import settings


def secret_keys() -> tuple[str, ...]:
    """Fernet keys (`HOLDFAST_SECRET_KEYS`), newest first: the first encrypts, every one decrypts."""
    return tuple(settings.HOLDFAST_SECRET_KEYS)
