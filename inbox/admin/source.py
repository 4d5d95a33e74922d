"""Sources in the admin: their form, their secrets' fingerprints, and how they are doing."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.page import Button, PageAdmin, Table, Text
from console.presentation import list_link, may, moment
from console.tables import BigTableAdmin
from inbox.admin.secret_view import PERMISSION, SecretView
from inbox.doubts import doubt_about
from inbox.figures import SourceFigures, figures_of
from inbox.models import Source, SourceSecret
from inbox.report import lines
from inbox.schemes import SCHEMES


class SourceForm(forms.ModelForm):  # type: ignore[type-arg]
    """The rules are the model's; here is only that schemes are picked from a list."""

    scheme = forms.ChoiceField(choices=[(name, name) for name in sorted(SCHEMES)])

    class Meta:
        model = Source
        fields = "__all__"  # noqa: DJ007 (what is editable is declared on the model)
        widgets: ClassVar = {
            "options": forms.Textarea(attrs={"rows": 4, "cols": 80, "class": "code", "spellcheck": "false"}),
        }


class SourceAdmin(SecretView, PageAdmin, BigTableAdmin):
    form = SourceForm
    list_display = ("slug", "scheme", "enabled", "state", "unhandled", "concurrency")
    readonly_fields: ClassVar[tuple[str, ...]] = ("address", "state")
    prepopulated_fields: ClassVar = {}

    def get_fields(self, request: HttpRequest, obj: Source | None = None) -> Any:
        """What is read only says nothing about a source that is not there yet."""
        typed = [field for field in super().get_fields(request, obj) if field not in self.readonly_fields]
        return ["state", "address", *typed] if obj else typed

    def get_readonly_fields(self, request: HttpRequest, obj: Source | None = None) -> tuple[str, ...]:
        """Handlers and providers know the slug: it stays as it is."""
        return (*self.readonly_fields, "slug") if obj else self.readonly_fields

    def sections(self, request: HttpRequest, row: Source) -> Sequence[Table | Text]:
        found = figures_of(row)
        return (_secrets(row), _dead_letters(found), Text("How it is doing", "\n".join(list(lines([found]))[1:])))

    def buttons(self, request: HttpRequest, row: Source) -> Sequence[Button]:
        address = reverse("admin:inbox_source_rotate", args=[row.pk])
        offered = (Button("Add a secret", address=address),) if may(request, PERMISSION) else ()
        return (*super().buttons(request, row), *offered)

    @admin.display(description="address")
    def address(self, source: Source) -> str:
        return reverse("inbox:door", args=[source.slug])

    @admin.display(description="state")
    def state(self, source: Source) -> SafeString | str:
        if not source.enabled:
            return format_html('<span class="state held">{}</span>', "disabled")
        doubt = doubt_about(source)
        if doubt is None:
            return format_html('<span class="state good">{}</span>', "open")
        return format_html('<span class="state bad">{}</span> {}', doubt.sentence, doubt.hint)


def _secrets(source: Source) -> Table:
    # The ciphertext stays in the database: a lost key must not take the page away.
    rows = SourceSecret.objects.filter(source=source).defer("secret")[:20]
    return Table(
        "Secrets",
        ("Key", "Added", "Believed"),
        [(row.fingerprint, moment(row.created_at), _believed(row)) for row in rows],
        empty="None: without one, everything is refused.",
        footnote="Secrets are never shown again; compare the key with those that a refusal names.",
    )


def _believed(secret: SourceSecret) -> SafeString | str:
    if secret.expires_at is None:
        return "yes"
    return format_html(
        "{} {}", "until" if secret.expires_at > timezone.now() else "no, since", moment(secret.expires_at)
    )


def _dead_letters(found: SourceFigures) -> Table:
    return Table(
        "Open dead letters",
        ("Class", "How many"),
        [
            (list_link("inbox", "deadletter", f"source={found.source}&failure_class={name}", name), f"{count:,}")
            for name, count in found.open_dead_letters.items()
        ],
    )
