"""The half that schemes without options, keyed with the text of a secret, have in common. Pure."""

from collections.abc import Mapping
from typing import Any

from inbox.schemes import keys
from inbox.schemes.options import unknown_options


class TextSecret:
    """Takes no options; the secret's UTF-8 bytes are the key."""

    needs_secret = True

    def options_faults(self, options: Mapping[str, Any]) -> dict[str, str]:
        return unknown_options(options, ())

    def secret_fault(self, secret: str) -> str | None:
        return keys.fault_of(secret, keys.text_key)
