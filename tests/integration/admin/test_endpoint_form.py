"""The form of an endpoint: every rule beside its field, and header values that go in but never come out."""

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from endpoints.models import Endpoint
from tests.factories import make_endpoint, make_event
from tests.integration.admin.pages import address, page
from tests.integration.transport.certificates import Authority

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

GOOD = {
    "url": "http://127.0.0.1:9/in",
    "event_types": "payment.*, invoice.paid",
    "tenant": "acme",
    "description": "",
    "owner_email": "",
    "rate_limit_per_second": "",
    "max_concurrency": "8",
    "timeout_seconds": "5",
    "retry_policy": "",
    "headers": "",
    "ca_certificate": "",
}
ADD = "admin:endpoints_endpoint_add"


def _save(client: Client, endpoint: Endpoint, **changes: str) -> None:
    answer = client.post(address(endpoint), {**GOOD, **changes})
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    endpoint.refresh_from_db()


def test_an_endpoint_is_made_with_what_was_typed(operator: Client):
    operator.post(reverse(ADD), {**GOOD, "headers": '{"X-Api-Key": "abc"}'})

    endpoint = Endpoint.objects.get()
    assert endpoint.event_types == ["payment.*", "invoice.paid"]
    assert (endpoint.tenant, endpoint.headers) == ("acme", {"X-Api-Key": "abc"})
    assert endpoint.signing_secrets.count() == 1


@pytest.mark.parametrize(
    ("field", "typed"),
    [
        ("url", ""),
        ("url", "ftp://example.com/"),
        ("url", "http://10.0.0.1/"),
        ("url", "https://user:pass@example.com/"),
        ("event_types", ""),
        ("event_types", "payment.*,*.completed"),
        ("rate_limit_per_second", "0"),
        ("rate_limit_per_second", "soon"),
        ("max_concurrency", "101"),
        ("timeout_seconds", "31"),
        ("timeout_seconds", ""),
        ("owner_email", "nobody"),
        ("ca_certificate", "/etc/ssl/ca.pem"),
        ("ca_certificate", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"),
        ("headers", "X-Api-Key: abc"),
        ("headers", "[]"),
        ("headers", '{"Webhook-Signature": "v1,forged"}'),
        ("headers", '{"X-Api-Key": "a", "x-api-key": "b"}'),
        ("headers", '{"X-Api-Key": 5}'),
        ("headers", '{"X-Api-Key": "a\\r\\nX-Other: b"}'),
    ],
)
def test_a_broken_rule_is_said_beside_its_field(operator: Client, field: str, typed: str):
    answer = operator.post(reverse(ADD), {**GOOD, field: typed})

    assert list(answer.context["adminform"].form.errors) == [field]
    assert not Endpoint.objects.exists()


def test_a_private_authority_is_taken_as_pem_and_may_be_taken_away(operator: Client):
    endpoint, pem = make_endpoint(), Authority().pem

    _save(operator, endpoint, ca_certificate=f"  {pem}  ")
    assert endpoint.ca_certificate == pem.strip()

    _save(operator, endpoint, ca_certificate="")
    assert endpoint.ca_certificate == ""


def test_stored_header_values_never_reach_a_page(operator: Client, signed_in):
    endpoint = make_endpoint(headers={"X-Api-Key": "s3cr3t-value", "Authorization": "Bearer t0ken"})

    for client in (operator, signed_in(), signed_in("endpoints.change_endpoint")):
        for text in (
            page(client, endpoint),
            client.get(reverse("admin:endpoints_endpoint_changelist")).content.decode(),
        ):
            assert "s3cr3t-value" not in text
            assert "t0ken" not in text
        assert "Authorization, X-Api-Key" in page(client, endpoint)


def test_headers_that_are_not_named_stay(operator: Client):
    endpoint = make_endpoint(headers={"X-Api-Key": "old", "X-Team": "blue"})

    _save(operator, endpoint)
    assert endpoint.headers == {"X-Api-Key": "old", "X-Team": "blue"}

    _save(operator, endpoint, headers='{"x-api-key": "new", "X-More": "1"}')
    assert endpoint.headers == {"x-api-key": "new", "X-Team": "blue", "X-More": "1"}

    _save(operator, endpoint, headers='{"X-TEAM": null}')
    assert endpoint.headers == {"x-api-key": "new", "X-More": "1"}


def test_the_admins_history_names_changed_headers_without_their_values(operator: Client):
    endpoint = make_endpoint()

    _save(operator, endpoint, headers='{"X-Api-Key": "s3cr3t-value"}')

    entry = LogEntry.objects.latest("pk")
    assert "headers" in entry.get_change_message()
    assert "s3cr3t-value" not in entry.change_message


def test_the_path_of_a_url_is_shown_only_to_those_who_may_change_it(operator: Client, signed_in):
    endpoint = make_endpoint(url="http://127.0.0.1:9/services/T0B1?token=SECRET")

    assert "SECRET" in page(operator, endpoint)
    assert "SECRET" not in page(signed_in(), endpoint)
    assert "http://127.0.0.1:9/…" in page(signed_in(), endpoint)


def test_an_endpoint_with_deliveries_is_archived_not_deleted(operator: Client):
    used, unused = make_endpoint(tenant="used"), make_endpoint(tenant="unused")
    make_event(tenant="used")

    answers = [
        operator.post(address(endpoint).replace("/change/", "/delete/"), {"post": "yes"}).status_code
        for endpoint in (used, unused)
    ]

    assert answers == [403, 302]
    assert list(Endpoint.objects.all()) == [used]
    assert "deletelink" not in page(operator, used)
