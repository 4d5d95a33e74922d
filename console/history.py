"""What an action leaves behind: the selection in words, and a line in the admin's own history."""

from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import QuerySet
from django.http import HttpRequest


def selection_in_words(request: HttpRequest, count: int, noun: str) -> str:
    """What the operator chose, for the operation's record."""
    if request.POST.get("select_across") != "1":
        return f"{count} {noun} ticked in the admin."
    chosen = "&".join(f"{name}={value}" for name, value in request.GET.items())
    return f"All {count} {noun} in the admin's list{f' with {chosen}' if chosen else ''}."


def log(request: HttpRequest, rows: QuerySet[Any] | list[Any], message: str) -> None:
    """One line of the admin's own history for each row."""
    if rows:
        LogEntry.objects.log_actions(str(request.user.pk), rows, CHANGE, message)
