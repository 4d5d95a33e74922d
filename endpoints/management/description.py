"""An endpoint in words and figures, for people and for `--json`. Secrets and header values are never part of it."""

from datetime import datetime
from typing import Any

from endpoints.models import Endpoint, SigningSecret


def summary(endpoint: Endpoint) -> dict[str, Any]:
    """One line's worth; the host stands for the URL, whose path or query may be a credential."""
    return {
        "id": endpoint.pk,
        "state": endpoint.state,
        "host": endpoint.host,
        "tenant": endpoint.tenant,
        "event_types": endpoint.event_types,
    }


def details(endpoint: Endpoint, now: datetime) -> dict[str, Any]:
    """Everything that may be shown of an endpoint."""
    live = SigningSecret.objects.live(now).filter(endpoint=endpoint)
    return summary(endpoint) | {
        "url": endpoint.url,
        "description": endpoint.description,
        "owner_email": endpoint.owner_email,
        "state_reason": endpoint.state_reason,
        "state_changed_at": endpoint.state_changed_at.isoformat(),
        "state_changed_by": endpoint.state_changed_by,
        "rate_limit_per_second": endpoint.rate_limit_per_second,
        "max_concurrency": endpoint.max_concurrency,
        "timeout_seconds": endpoint.timeout_seconds,
        "retry_policy": endpoint.policy.name,
        "ordered": endpoint.ordered,
        "dead_letter_blocks": endpoint.dead_letter_blocks,
        "health_thresholds": [f"{name} {value:g}" for name, value in sorted(endpoint.health_thresholds.items())],
        "header_names": sorted(endpoint.headers),
        "signing_secrets": [
            {"fingerprint": row.fingerprint, "expires_at": row.expires_at and row.expires_at.isoformat()}
            for row in live
        ],
    }


def line(fields: dict[str, Any]) -> str:
    """A summary as one line of text."""
    tenant = f" tenant {fields['tenant']}" if fields["tenant"] else ""
    return f"{fields['id']:>6}  {fields['state']:<9} {fields['host']}{tenant}  {', '.join(fields['event_types'])}"


def paragraph(fields: dict[str, Any]) -> str:
    """Details as text, a field a line."""
    return "\n".join(f"{name:<22} {_text(value)}" for name, value in fields.items())


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_text(entry) for entry in value) or "-"
    if isinstance(value, dict):
        return f"{value['fingerprint']}" + (f" until {value['expires_at']}" if value["expires_at"] else "")
    return "-" if value in (None, "") else str(value)
