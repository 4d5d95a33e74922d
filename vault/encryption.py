"""Model fields whose column holds Fernet ciphertext, so that a database dump gives away no secret."""

import json
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.db import models

from vault.conf import secret_keys
from vault.errors import UndecryptableValue


def encrypt(text: str) -> str:
    """Encrypt with the newest key."""
    return _fernet(secret_keys()).encrypt(text.encode()).decode()


def decrypt(ciphertext: str) -> str:
    """Decrypt with whichever key fits; raises UndecryptableValue when none does."""
    return _decrypt(secret_keys(), ciphertext)


@lru_cache(maxsize=4)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


# Decrypting costs about 50 µs and the delivery path asks for the same few secrets over and over.
@lru_cache(maxsize=4096)
def _decrypt(keys: tuple[str, ...], ciphertext: str) -> str:
    try:
        return _fernet(keys).decrypt(ciphertext.encode()).decode()
    except InvalidToken:
        raise UndecryptableValue(
            "a stored value was encrypted with a key that HOLDFAST_SECRET_KEYS no longer holds: add the old key back"
        ) from None


class EncryptedTextField(models.TextField):  # type: ignore[type-arg]
    """Text in Python, ciphertext in the table."""

    def get_prep_value(self, value: Any) -> Any:
        return None if value is None else encrypt(str(value))

    def from_db_value(self, value: str | None, _expression: object, _connection: object) -> Any:
        return None if value is None else decrypt(value)


class EncryptedJSONField(models.JSONField):
    """A JSON value in Python, ciphertext in a text column."""

    def db_type(self, connection: Any) -> str:
        return "text"

    def get_internal_type(self) -> str:
        return "TextField"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return None if value is None else encrypt(json.dumps(value))

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        return self.get_db_prep_value(value, connection)

    def from_db_value(self, value: str | None, _expression: object, _connection: object) -> Any:
        return None if value is None else json.loads(decrypt(value))
