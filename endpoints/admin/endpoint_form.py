"""The form of an endpoint. Its rules are the model's; here is only how headers are typed and never shown."""

import json
from typing import Any, ClassVar

from django import forms
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper

from endpoints.models import Endpoint


class EndpointForm(forms.ModelForm):  # type: ignore[type-arg]
    """Headers are changed by naming them: the stored values never reach the page."""

    headers = forms.CharField(
        required=False,
        strip=True,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 80, "class": "code", "spellcheck": "false"}),
        help_text=(
            'A JSON object: {"X-Api-Key": "…"} sets or replaces a header, {"X-Api-Key": null} removes it. '
            "Headers you do not name stay as they are; empty changes nothing. Values are stored encrypted and never "
            "shown again."
        ),
    )

    class Meta:
        model = Endpoint
        fields = "__all__"  # noqa: DJ007 (what is editable is declared on the model)
        labels: ClassVar = {"url": "URL", "ca_certificate": "CA certificate", "timeout_seconds": "Timeout, seconds"}
        widgets: ClassVar = {
            "url": forms.TextInput(attrs={"size": 90}),
            "description": forms.TextInput(attrs={"size": 90}),
            "event_types": forms.TextInput(attrs={"size": 90}),
            "ca_certificate": forms.Textarea(attrs={"rows": 3, "cols": 80, "class": "code", "spellcheck": "false"}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.pop("headers", None)
        policy = getattr(self.fields.get("retry_policy"), "widget", None)
        if isinstance(policy, RelatedFieldWidgetWrapper):
            # A policy belongs to many endpoints: it is changed on its own page, not from here.
            policy.can_add_related = policy.can_change_related = policy.can_delete_related = False

    def clean_headers(self) -> dict[str, Any]:
        """The stored headers with the typed changes in them; names are compared as HTTP does, without case."""
        kept: dict[str, Any] = dict(self.instance.headers or {})
        for name, value in _parsed(self.cleaned_data["headers"]):
            kept = {known: text for known, text in kept.items() if known.lower() != name.lower()}
            if value is not None:
                kept[name] = value
        return kept


def _parsed(text: str) -> list[tuple[str, Any]]:
    if not text:
        return []
    try:
        pairs = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        raise forms.ValidationError(f"This is not JSON: {_place(error)}") from None
    if not isinstance(pairs, _Pairs):
        raise forms.ValidationError('Write an object of names and values, such as {"X-Api-Key": "…"}.')
    names = [name.lower() for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise forms.ValidationError(f"The header {twice} is given twice.")
    return pairs


class _Pairs(list[tuple[str, Any]]):
    """An object's members in order, doubles included."""


def _place(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, column {error.colno}."
    return "it is nested too deeply."
