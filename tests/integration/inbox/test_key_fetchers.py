"""Keys that a provider publishes: fetched by a function of the installation that the settings list, and no other."""

import time

import pytest
from django.core.checks import run_checks
from django.test import Client

from inbox import key_fetchers
from inbox.models import ReceivedEvent, RefusalCount
from tests.integration.inbox.conftest import make_source
from tests.unit.inbox.senders import PLAID_JWK, PLAID_KEY_ID, plaid_headers

pytestmark = pytest.mark.django_db

BODY = b'{"webhook_type":"TRANSACTIONS","webhook_code":"SYNC_UPDATES_AVAILABLE","item_id":"wz666MBjYWTp2PDzzggY"}'
HERE = f"{__name__}.fetch"

asked: list[str] = []
NOT_A_FUNCTION = "text"


def fetch(key_id):
    """What an installation would ask Plaid over the network."""
    asked.append(key_id)
    return PLAID_JWK if key_id == PLAID_KEY_ID else None


@pytest.fixture(autouse=True)
def nothing_fetched():
    asked.clear()
    key_fetchers._cached.cache_clear()


def post(path, body=BODY, **changes):
    source = make_source(scheme="plaid", options={"key_fetcher": path})
    headers = plaid_headers(BODY, int(time.time()), **changes)
    return Client().post(f"/inbox/{source.slug}/", data=body, content_type="application/json", headers=headers)


def check_ids():
    found = run_checks(tags=["holdfast", "database"], databases=["default"])
    return [message.id for message in found if message.id.startswith("inbox.")]


def test_a_plaid_webhook_comes_through_the_door_with_the_key_that_the_listed_function_fetches(settings):
    settings.HOLDFAST_INBOX = {"KEY_FETCHERS": [HERE]}

    assert post(HERE).status_code == 200

    event = ReceivedEvent.objects.get()
    assert (event.type, bytes(event.body)) == ("TRANSACTIONS.SYNC_UPDATES_AVAILABLE", BODY)
    assert asked == [PLAID_KEY_ID]
    assert check_ids() == []


def test_a_body_that_the_token_was_not_made_for_is_401(settings):
    settings.HOLDFAST_INBOX = {"KEY_FETCHERS": [HERE]}

    assert post(HERE, body=BODY + b" ").status_code == 401


def test_a_key_is_fetched_once_for_many_requests_and_sources(settings):
    settings.HOLDFAST_INBOX = {"KEY_FETCHERS": [HERE]}

    assert [post(HERE, note=number).status_code for number in range(3)] == [200] * 3
    assert asked == [PLAID_KEY_ID]


@pytest.mark.parametrize(
    ("listed", "named"),
    [
        ([], HERE),
        ([HERE], "os.system"),
        ([f"{__name__}.missing"], f"{__name__}.missing"),
        (["no_such_module.fetch"], "no_such_module.fetch"),
        ([f"{__name__}.NOT_A_FUNCTION"], f"{__name__}.NOT_A_FUNCTION"),
    ],
)
def test_a_source_whose_function_is_not_listed_or_not_there_refuses_everything_and_a_check_says_so(
    settings, listed, named
):
    settings.HOLDFAST_INBOX = {"KEY_FETCHERS": listed}

    assert post(named).status_code == 401

    assert asked == []
    assert RefusalCount.objects.get().reason == "bad-options"
    assert "inbox.W001" in check_ids()
    assert ("inbox.E002" in check_ids()) == (named in listed)


@pytest.mark.parametrize("wrong", ["a.b", [1], [""], 7])
def test_settings_that_are_no_list_of_paths_are_refused_at_boot(settings, wrong):
    settings.HOLDFAST_INBOX = {"KEY_FETCHERS": wrong}

    assert "inbox.E001" in check_ids()
