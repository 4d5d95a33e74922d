"""Any other provider that sends an HMAC in a header, described by options. Pure.

{"header": "X-Signature", "algorithm": "sha256", "encoding": "hex", "prefix": "sha256=",
 "timestamp_header": "X-Timestamp", "template": "{timestamp}.{body}", "id_path": "id", "type_path": "type"}
"""

from collections.abc import Mapping, Sequence
from typing import Any

from inbox.schemes import bodies, headers, keys, macs
from inbox.schemes.freshness import UNIX_SECONDS, check_age
from inbox.schemes.generic_options import GenericOptions, faults_of
from inbox.schemes.scheme import TOLERANCE_SECONDS, Reason, Refused, Request, Verified


class GenericHmac:
    """The key is the text of the secret. What each option means stands with `GenericOptions`."""

    name = "generic-hmac"
    needs_secret = True

    def options_faults(self, options: Mapping[str, Any]) -> dict[str, str]:
        return faults_of(options)

    def secret_fault(self, secret: str) -> str | None:
        return keys.fault_of(secret, keys.text_key)

    def verify(
        self,
        request: Request,
        secrets: Sequence[str],
        options: Mapping[str, Any],
        *,
        tolerance_seconds: int = TOLERANCE_SECONDS,
    ) -> Verified:
        live = keys.live_keys(secrets, keys.text_key)
        faults = faults_of(options)
        if faults:
            raise Refused(Reason.BAD_OPTIONS, f"The options {', '.join(sorted(faults))} make no sense.")
        rules = GenericOptions(**options)
        offered = _offered(request, rules)
        timestamp = _timestamp(request, rules, tolerance_seconds)
        event_id = _header(request, rules.id_header)
        event_type = bodies.name(_header(request, rules.type_header))
        signed = rules.signed_content(body=request.body, timestamp=timestamp, message_id=event_id)
        make = macs.hex_mac if rules.encoding == "hex" else macs.base64_mac
        macs.prove(live, [offered], lambda key: make(key, signed, rules.algorithm))
        return _verified(request.body, rules, event_id, event_type)


def _offered(request: Request, rules: GenericOptions) -> str:
    header = headers.required(request.headers, rules.header)
    if not header.startswith(rules.prefix):
        raise headers.malformed(rules.header)
    signature = header.removeprefix(rules.prefix)
    return signature.lower() if rules.encoding == "hex" else signature


def _timestamp(request: Request, rules: GenericOptions, tolerance_seconds: int) -> str:
    if not rules.timestamp_header:
        return ""
    timestamp = headers.required(request.headers, rules.timestamp_header, UNIX_SECONDS)
    check_age(int(timestamp), request.received_at, tolerance_seconds)
    return timestamp


def _header(request: Request, name: str) -> str:
    return headers.required(request.headers, name) if name else ""


def _verified(body: bytes, rules: GenericOptions, event_id: str, event_type: str) -> Verified:
    document = bodies.parsed(body)
    if not event_type and rules.type_path:
        event_type = bodies.name_at(document, rules.type_path)
    named = bodies.name(event_id) or (bodies.name_at(document, rules.id_path) if rules.id_path else "")
    return Verified(named or bodies.digest(body), event_type if document is not None else "", body, None)
