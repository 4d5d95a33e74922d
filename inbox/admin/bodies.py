"""How stored bodies and headers are shown, to those who may see them."""

from collections.abc import Sequence

from django.http import HttpRequest

from console.json_text import indented
from console.page import Table, Text
from console.presentation import may
from inbox.models import ReceivedEvent

PERMISSION = "inbox.view_body"


def request_sections(request: HttpRequest, event: ReceivedEvent) -> Sequence[Table | Text]:
    """What arrived; one line instead for those who may not see it, and once it was pruned."""
    if not may(request, PERMISSION):
        return (Text("Request", "(shown to those who may see headers and bodies of received events)"),)
    if event.body is None:
        return (Text("Request", "(pruned: it was kept as long as it had to be)"),)
    body = bytes(event.body)
    payload = body if event.payload is None else bytes(event.payload)
    return (
        Table("Headers", ("Name", "As it came, without credentials"), sorted(event.headers.items())),
        Text("Payload, indented for reading", indented(_text(payload))),
        Text(f"Body, the exact {len(body):,} bytes", _text(body), folded=True),
    )


def _text(body: bytes) -> str:
    return body.decode(errors="backslashreplace")
