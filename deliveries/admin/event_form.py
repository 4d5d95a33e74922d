"""The form that publishes an event by hand."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Final

from django import forms

from console.json_text import UnusableJSON, parse
from deliveries.errors import InvalidEvent
from deliveries.models import Event

_LONGEST_SEQUENCE: Final = 2**63 - 1
"""Bodies are tried out with it, so that the real number, which is shorter, cannot make one too large."""


class EventForm(forms.ModelForm):  # type: ignore[type-arg]
    """Type, tenant and data; every rule of publishing arrives as an error of the field it is about."""

    data = forms.CharField(  # type: ignore[assignment]
        widget=forms.Textarea(attrs={"rows": 12, "cols": 90, "class": "code", "spellcheck": "false"}),
        initial="{}",
        help_text="A JSON object or array. It is sent as typed, but for spaces.",
    )

    class Meta:
        model = Event
        fields = ("type", "tenant", "data")
        widgets: ClassVar = {
            "type": forms.TextInput(attrs={"size": 60, "placeholder": "payment.completed"}),
            "tenant": forms.TextInput(attrs={"size": 60}),
        }

    def clean_data(self) -> Any:
        try:
            return parse(self.cleaned_data["data"])
        except UnusableJSON as error:
            raise forms.ValidationError(str(error)) from None

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        draft = Event(type=self.instance.type, tenant=self.instance.tenant)
        if not {"type", "tenant"} & set(self.errors):
            self._try(draft.ensure_publishable)
        if not self.errors:
            draft.data = self.instance.data = self.cleaned_data["data"]
            self._try(partial(draft.render, _LONGEST_SEQUENCE))

    def _try(self, rule: Callable[[], None]) -> None:
        try:
            rule()
        except InvalidEvent as error:
            self.add_error(error.field if error.field in self.fields else "data", str(error))
