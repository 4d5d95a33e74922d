"""Actions that ask before they act: a page that says what will happen to how many rows, and takes a note."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Max, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse

from console.tables import COUNT_CAP, capped_count, row_number

SHOWN_ROWS: Final = 20
NOTE_LENGTH: Final = 2_000


@dataclass(frozen=True, slots=True)
class Question:
    """What the page says. `facts` and `warnings` stand above the note, a line each."""

    action: str
    title: str
    consequence: str
    button: str
    note_label: str = "Note"
    note_required: bool = False
    dangerous: bool = False
    facts: Sequence[str] = field(default=())
    warnings: Sequence[str] = field(default=())


class NoteForm(forms.Form):
    """The note of one action; what it is called and whether it must be there depends on the question."""

    note = forms.CharField(max_length=NOTE_LENGTH, widget=forms.Textarea(attrs={"rows": 3, "cols": 60}))

    def __init__(self, data: Any, question: Question) -> None:
        super().__init__(data, label_suffix="")
        note = self.fields["note"]
        note.label = question.note_label
        note.required = question.note_required
        note.error_messages["required"] = "Say why in a few words: it is kept for whoever asks later."


def chosen_rows(model_admin: "admin.ModelAdmin[Any]", request: HttpRequest, listed: QuerySet[Any]) -> QuerySet[Any]:
    """The rows an action is about.

    Rows ticked by hand are looked up by id alone: `listed` went through the list's filters again, so a row that
    somebody else has resolved meanwhile would vanish instead of being refused with a reason. "All that match" stays a
    filter, frozen at the newest row there was when the question was asked.
    """
    if not _is_across(request):
        return model_admin.get_queryset(request).filter(pk__in=request.POST.getlist(ACTION_CHECKBOX_NAME))
    newest = row_number(request.POST.get("newest", ""))
    return listed if newest is None else listed.filter(**{f"{_order_field(listed)}__lte": newest})


def confirmed_note(
    model_admin: "admin.ModelAdmin[Any]", request: HttpRequest, rows: QuerySet[Any], question: Question
) -> str | TemplateResponse:
    """The note of an operator who has said yes (it may be empty), or the page that asks.

    More than COUNT_CAP rows are never confirmed: that is work for the command line.
    """
    form = NoteForm(request.POST if "confirmed" in request.POST else None, question)
    count = capped_count(rows, COUNT_CAP)
    if count <= COUNT_CAP and form.is_valid():
        return str(form.cleaned_data["note"]).strip()
    across = _is_across(request)
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.model._meta,
        "title": question.title,
        "question": question,
        "form": form,
        "shown": rows[:SHOWN_ROWS],
        "unshown": max(count - SHOWN_ROWS, 0),
        "count": count,
        "too_many": count > COUNT_CAP,
        "cap": COUNT_CAP,
        "checkbox": ACTION_CHECKBOX_NAME,
        "ids": request.POST.getlist(ACTION_CHECKBOX_NAME),
        "newest": _newest(request, rows) if across else "",
        "media": model_admin.media,
    }
    return TemplateResponse(request, "console/confirm.html", context)


def _is_across(request: HttpRequest) -> bool:
    return request.POST.get("select_across") == "1"


def _order_field(rows: QuerySet[Any]) -> str:
    return str(rows.model._meta.ordering[0]).removeprefix("-")


def _newest(request: HttpRequest, rows: QuerySet[Any]) -> str:
    return request.POST.get("newest") or str(rows.aggregate(newest=Max(_order_field(rows)))["newest"] or 0)
