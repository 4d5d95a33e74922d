"""How the admin shows moments, states, links and long text."""

from datetime import datetime
from typing import Final

from django.contrib.admin.utils import quote
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

EMPTY: Final = "-"

# What colour a state is shown in; anything else stays plain.
_TONES: Final = {
    "active": "good",
    "healthy": "good",
    "delivered": "good",
    "processed": "good",
    "redriven": "good",
    "sending": "busy",
    "processing": "busy",
    "received": "busy",
    "pending": "busy",
    "paused": "held",
    "warning": "held",
    "failing": "bad",
    "disabled": "bad",
    "dead": "bad",
    "open": "bad",
    "archived": "quiet",
    "ignored": "quiet",
    "stale": "quiet",
    "discarded": "quiet",
}


def moment(at: datetime | None) -> SafeString | str:
    """To the second, with the server's time zone: at night nobody should have to guess. Lists hide the zone."""
    if at is None:
        return EMPTY
    here = timezone.localtime(at)
    shown, zone = f"{here:%Y-%m-%d %H:%M:%S}", f"{here:%Z}"
    return format_html('<time datetime="{}" title="{}">{} <span>{}</span></time>', here.isoformat(), zone, shown, zone)


def badge(state: str) -> SafeString | str:
    """A state as a coloured word."""
    return format_html('<span class="state {}">{}</span>', _TONES.get(state, ""), state) if state else EMPTY


def link_to(row: Model | None, text: object = None) -> SafeString | str:
    """A link to a row's page in the admin."""
    return link(row._meta.app_label, str(row._meta.model_name), row.pk, row if text is None else text) if row else EMPTY


def link(app: str, model: str, pk: int | str, text: object) -> SafeString:
    """The same for a row that is not loaded."""
    return format_html('<a href="{}">{}</a>', reverse(f"admin:{app}_{model}_change", args=[quote(pk)]), text)


def list_link(app: str, model: str, query: str, text: object) -> SafeString:
    """A link to a filtered list."""
    return format_html('<a href="{}?{}">{}</a>', reverse(f"admin:{app}_{model}_changelist"), query, text)


def may(request: HttpRequest, permission: str) -> bool:
    """Whether the signed-in user has a permission, such as `deliveries.view_answer`."""
    return bool(request.user.has_perm(permission))
