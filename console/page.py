"""A row's page: tables below the fields, and buttons for what may be done with the row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Model
from django.http import HttpRequest, HttpResponse


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that belong to the page's row, already worded. `footnote` may hold a link to the rest."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Any]]
    empty: str = "None."
    footnote: Any = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A long text under a heading of its own; `folded` until somebody wants it."""

    title: str
    text: str
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Button:
    """Something to do with the row. Without `address` it is the list's action of that name, for this row alone."""

    label: str
    action: str = ""
    address: str = ""


class PageAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Adds `sections` and `buttons` to the page of a row."""

    change_form_template = "console/page.html"

    def sections(self, request: HttpRequest, row: Any) -> Sequence[Table | Text]:
        """What stands below the fields."""
        return ()

    def buttons(self, request: HttpRequest, row: Any) -> Sequence[Button]:
        """What stands above them: by default every action of the list that this user may run."""
        actions: dict[str, Any] = self.get_actions(request) or {}
        return [Button(str(label), action=name) for name, (_, _, label) in actions.items()]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], add: bool = False, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        row: Model | None = kwargs.get("obj")
        if row is not None and not add:
            context |= {
                "sections": self.sections(request, row),
                "buttons": [] if context.get("is_popup") else self.buttons(request, row),
                "checkbox": ACTION_CHECKBOX_NAME,
            }
        return super().render_change_form(request, context, add, *args, **kwargs)
