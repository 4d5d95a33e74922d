"""Signing secrets in the admin: fingerprints for everybody, the secret itself once, to whoever has just made it.

A session remembers which secrets it made, not the secrets. Each can be shown once, for ten minutes, and showing it is
logged; after that only a rotation gives a secret that can be read.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from django import forms
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.page import Table
from console.presentation import moment
from endpoints.models import Endpoint, SigningSecret

REVEAL_MINUTES: Final = 10
_SESSION_KEY: Final = "signing_secrets_to_show"


class RotationForm(forms.Form):
    """How long the old secrets go on signing beside the new one."""

    overlap = forms.TypedChoiceField(
        label="Old secrets go on signing for",
        coerce=int,
        initial=24,
        choices=[
            (1, "1 hour"),
            (24, "24 hours"),
            (72, "3 days"),
            (168, "7 days"),
            (0, "no time: they leaked, stop using them now"),
        ],
    )

    @property
    def period(self) -> timedelta:
        return timedelta(hours=self.cleaned_data["overlap"])


class RevocationForm(forms.Form):
    """Which secret stops signing, and why."""

    secret = forms.ModelChoiceField(SigningSecret.objects.none(), empty_label=None, widget=forms.RadioSelect)
    reason = forms.CharField(max_length=2_000, widget=forms.Textarea(attrs={"rows": 3, "cols": 60}))

    def __init__(self, data: Any, endpoint: Endpoint, now: datetime) -> None:
        super().__init__(data)
        live = SigningSecret.objects.live(now).filter(endpoint=endpoint).defer("secret")
        self.fields["secret"].queryset = live  # type: ignore[attr-defined]


def changes_table(endpoint: Endpoint) -> Table:
    """Who made and who revoked its secrets, newest first."""
    rows = endpoint.secret_changes.all()[:20]
    return Table(
        "Changes of signing secrets",
        ("When", "What", "Fingerprint", "Who", "Reason"),
        [(moment(row.at), row.act, row.fingerprint, row.actor, row.reason) for row in rows],
        empty="It has the secret it was made with.",
    )


def secrets_table(endpoint: Endpoint, now: datetime) -> Table:
    """The endpoint's secrets, newest first, without any of them."""
    # The ciphertext stays in the database: a lost key must not take the page away.
    rows = endpoint.signing_secrets.defer("secret")[:20]
    return Table(
        "Signing secrets",
        ("Fingerprint", "Created", "Signs"),
        [(row.fingerprint, moment(row.created_at), _signs(row, now)) for row in rows],
        footnote="A secret is shown once, right after it was made, to those who may reveal it.",
    )


def allow_one_look(request: HttpRequest, secret: SigningSecret) -> None:
    """Remember that this session made the secret, and when."""
    request.session[_SESSION_KEY] = {**_allowed(request), str(secret.pk): timezone.now().isoformat()}


def has_a_look(request: HttpRequest, secret: SigningSecret) -> bool:
    """Whether this session may still see the secret."""
    made_at = _allowed(request).get(str(secret.pk))
    return made_at is not None and timezone.now() - datetime.fromisoformat(made_at) < timedelta(minutes=REVEAL_MINUTES)


def use_the_look(request: HttpRequest, secret: SigningSecret) -> bool:
    """The same, and it was the last time."""
    had = has_a_look(request, secret)
    request.session[_SESSION_KEY] = {pk: at for pk, at in _allowed(request).items() if pk != str(secret.pk)}
    return had


def _allowed(request: HttpRequest) -> dict[str, Any]:
    return dict(request.session.get(_SESSION_KEY, {}))


def _signs(secret: SigningSecret, now: datetime) -> SafeString | str:
    if secret.expires_at is None:
        return "yes"
    return format_html("{} {}", "until" if secret.expires_at > now else "no, since", moment(secret.expires_at))
