"""How the admin shows endpoints."""

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.presentation import badge, link_to, may
from endpoints.models import Endpoint, State


def endpoint_with_state(endpoint: Endpoint) -> SafeString:
    """A link to an endpoint, with its state unless that is the usual one."""
    state = "" if endpoint.state == State.ACTIVE else badge(endpoint.state)
    return format_html("{} {}", link_to(endpoint), state)


def visible_url(request: HttpRequest, url: str, host: str) -> str:
    """The whole URL for those who may change endpoints; for others its host: path and query are often a credential."""
    return url if may(request, "endpoints.change_endpoint") else f"{host}/… (whole for those who may change endpoints)"
