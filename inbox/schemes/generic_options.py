"""The options of the generic HMAC scheme: what they mean, and when they make no sense. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from inbox.schemes.options import unknown_options

ALGORITHMS = ("sha1", "sha256", "sha512")
ENCODINGS = ("hex", "base64")

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_PATH = re.compile(r"[^.\s]+(?:\.[^.\s]+)*")
_PLACEHOLDER = re.compile(r"(\{(?:body|timestamp|id)\})")


@dataclass(frozen=True, slots=True)
class GenericOptions:
    """How a provider signs. An empty text means "none"."""

    header: str = ""  # carries the signature; the only option that must be given
    algorithm: str = "sha256"
    encoding: str = "hex"
    prefix: str = ""  # what stands before the signature in its header, such as "sha256="
    timestamp_header: str = ""  # whole Unix seconds; must be part of what is signed
    template: str = "{body}"  # what is signed: text with {body}, {timestamp} and {id}, the latter from id_header
    id_header: str = ""  # the event id, to deduplicate on; required of every request when given
    type_header: str = ""
    id_path: str = ""  # dotted path in the JSON, used without an id_header
    type_path: str = ""

    def signed_content(self, *, body: bytes, timestamp: str, message_id: str) -> bytes:
        """The bytes under the signature. Header values are bytes that WSGI spells in Latin-1."""
        values = {
            "{body}": body,
            "{timestamp}": timestamp.encode(),
            "{id}": message_id.encode("latin-1", "replace"),
        }
        return b"".join(values.get(piece, piece.encode()) for piece in _PLACEHOLDER.split(self.template))


def faults_of(options: Mapping[str, Any]) -> dict[str, str]:
    """A sentence for each option that makes no sense."""
    known = [field.name for field in fields(GenericOptions)]
    faults = unknown_options(options, known)
    given = {name: value for name, value in options.items() if name in known}
    faults |= {name: "This must be a text." for name, value in given.items() if not _is_text(value)}
    if faults:
        return faults
    rules = GenericOptions(**given)
    return _choice_faults(rules) | _spelling_faults(rules) | _template_faults(rules)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


def _choice_faults(rules: GenericOptions) -> dict[str, str]:
    faults = {}
    if rules.algorithm not in ALGORITHMS:
        faults["algorithm"] = f"Choose one of {', '.join(ALGORITHMS)}."
    if rules.encoding not in ENCODINGS:
        faults["encoding"] = f"Choose one of {', '.join(ENCODINGS)}."
    return faults


def _spelling_faults(rules: GenericOptions) -> dict[str, str]:
    faults = {}
    if not rules.header:
        faults["header"] = "Name the header that carries the signature."
    for name in ("header", "timestamp_header", "id_header", "type_header"):
        if (value := getattr(rules, name)) and not _HEADER_NAME.fullmatch(value):
            faults[name] = "This is not the name of a header."
    for name in ("id_path", "type_path"):
        if (value := getattr(rules, name)) and not _PATH.fullmatch(value):
            faults[name] = "This is not a dotted path, such as data.id."
    return faults


def _template_faults(rules: GenericOptions) -> dict[str, str]:
    if rules.template.count("{body}") != 1:
        return {"template": "The template must hold {body} exactly once."}
    if ("{timestamp}" in rules.template) != bool(rules.timestamp_header):
        return {"template": "{timestamp} here and timestamp_header need each other: an unsigned time proves nothing."}
    if "{id}" in rules.template and not rules.id_header:
        return {"template": "{id} in the template needs id_header."}
    return {}
