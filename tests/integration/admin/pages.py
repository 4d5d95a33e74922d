"""Pressing buttons of the admin in tests."""

from typing import Any

from django.test import Client
from django.urls import reverse


def page(client: Client, row: Any) -> str:
    """The text of a row's page."""
    return client.get(address(row)).content.decode()


def address(row: Any) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def run_action(client: Client, action: str, *rows: Any, confirmed: bool = True, **fields: str) -> Any:
    """Run a list's action on rows ticked by hand: the answer after the redirect, or the page that asks."""
    opts = rows[0]._meta
    data = {"action": action, "_selected_action": [str(row.pk) for row in rows], **fields}
    if confirmed:
        data["confirmed"] = "1"
    return client.post(reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist"), data, follow=True)


def messages_of(response: Any) -> list[str]:
    return [str(message) for message in response.context["messages"]]
