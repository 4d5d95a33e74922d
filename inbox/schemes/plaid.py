"""Plaid: `Plaid-Verification`, a JWT signed with ES256 that holds the SHA-256 of the body and its time of issue. Pure.

https://plaid.com/docs/api/webhooks/webhook-verification/
"""

import hashlib
import hmac
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jwt

from inbox.schemes import bodies, headers
from inbox.schemes.freshness import check_age
from inbox.schemes.options import unknown_options
from inbox.schemes.scheme import TOLERANCE_SECONDS, Reason, Refused, Request, Verified

SIGNATURE_HEADER = "Plaid-Verification"
ALGORITHM = "ES256"
KEY_FETCHER = "key_fetcher"

_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,2000}\.[A-Za-z0-9_-]{1,4000}\.[A-Za-z0-9_-]{1,200}")
_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")

_log = logging.getLogger(__name__)


class Plaid:
    """Keys are Plaid's own public ones, so a source has no secret, but a fetcher of keys.

    The option `key_fetcher` is a callable that takes a key id and returns the JWK (a mapping), or None when Plaid knows
    no such key; it raises when Plaid cannot be asked. A source stores its dotted path; `inbox.key_fetchers` gives
    `verify` the function, behind a cache.
    """

    name = "plaid"
    needs_secret = False

    def options_faults(self, options: Mapping[str, Any]) -> dict[str, str]:
        faults = unknown_options(options, (KEY_FETCHER,))
        fetcher = options.get(KEY_FETCHER)
        dotted = isinstance(fetcher, str) and all(part.isidentifier() for part in fetcher.split(".")) and "." in fetcher
        if not dotted and not callable(fetcher):
            faults[KEY_FETCHER] = "Give the dotted path of a function that takes a key id and returns Plaid's key."
        return faults

    def secret_fault(self, secret: str) -> str | None:
        return "Plaid signs with keys of its own; a Plaid source has no secret."

    def verify(
        self,
        request: Request,
        secrets: Sequence[str],
        options: Mapping[str, Any],
        *,
        tolerance_seconds: int = TOLERANCE_SECONDS,
    ) -> Verified:
        fetch = options.get(KEY_FETCHER)
        if not callable(fetch):
            raise Refused(Reason.BAD_OPTIONS, "No function to fetch Plaid's keys with is configured.")
        token = headers.required(request.headers, SIGNATURE_HEADER, _TOKEN)
        key_id = _key_id(token)
        claims = _claims(token, _key(fetch, key_id, request.received_at), key_id)
        issued_at = bodies.unix_seconds(bodies.at(claims, "iat"))
        if issued_at is None:
            raise headers.malformed(SIGNATURE_HEADER)
        check_age(issued_at, request.received_at, tolerance_seconds)
        _check_body(request.body, bodies.at(claims, "request_body_sha256"), key_id)
        return _verified(request.body, issued_at)


def _key_id(token: str) -> str:
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError):
        raise headers.malformed(SIGNATURE_HEADER) from None
    key_id = header.get("kid")
    # The token must not choose how it is checked: "none", or HS256 with the public key as its secret, proves nothing.
    if header.get("alg") != ALGORITHM or not isinstance(key_id, str) or not _KEY_ID.fullmatch(key_id):
        raise headers.malformed(SIGNATURE_HEADER)
    return key_id


def _key(fetch: Callable[[str], Mapping[str, Any] | None], key_id: str, now: float) -> jwt.PyJWK:
    try:
        found = fetch(key_id)
        key = jwt.PyJWK(dict(found), ALGORITHM) if found else None
    except Exception as fault:  # the fetcher is the user's own code and may fail in any way
        _log.warning("Plaid's key %s could not be had: %s", key_id, type(fault).__name__)
        raise Refused(Reason.KEY_UNAVAILABLE, "Plaid's key could not be had just now.") from None
    expired_at = bodies.unix_seconds(bodies.at(found, "expired_at"))
    if key is None or (expired_at is not None and expired_at <= now):
        raise Refused(Reason.UNKNOWN_KEY, "The token names a key that Plaid does not know or has retired.")
    return key


def _claims(token: str, key: jwt.PyJWK, key_id: str) -> Any:
    # The signature alone: PyJWT would judge times by the clock of this process, not by the time of arrival.
    try:
        payload = jwt.PyJWS(algorithms=[ALGORITHM]).decode(token, key, algorithms=[ALGORITHM])
    except (jwt.PyJWTError, ValueError):
        raise Refused(Reason.BAD_SIGNATURE, "The token's signature does not match.", (key_id,)) from None
    return bodies.parsed(payload)


def _check_body(body: bytes, claimed: Any, key_id: str) -> None:
    ours = hashlib.sha256(body).hexdigest().encode()
    if not hmac.compare_digest(ours, str(claimed).encode(errors="replace")):
        raise Refused(Reason.BAD_SIGNATURE, "The token is genuine, but was made for another body.", (key_id,))


def _verified(body: bytes, issued_at: float) -> Verified:
    document = bodies.parsed(body)
    parts = [bodies.name_at(document, path) for path in ("webhook_type", "webhook_code")]
    # Plaid gives no event id, and says the same thing in the same words each time an item has news: the body alone
    # would make the second piece of news a duplicate. A retry, being signed anew, counts as an event of its own.
    event_id = bodies.digest(f"{issued_at:.0f}.".encode() + body if document is not None else body)
    return Verified(event_id, ".".join(part for part in parts if part), body, None)
