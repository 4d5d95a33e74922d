"""The examples of the documentation, run as they stand there."""

import io
import json
import shutil
import subprocess
import time
import unittest
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import connection

from deliveries.models import Event
from deliveries.outcomes import Failure
from deliveries.transport import MemoryTransport
from endpoints.models import Endpoint, SigningSecret
from endpoints.signing import new_secret, sign
from inbox.models import Source, SourceSecret
from tests.examples import example
from tests.factories import make_endpoint

BODY = '{"text":"Zoë 😊","score":0.0}'.encode()


def run(page: str, beginning: str, **names: Any) -> dict[str, Any]:
    """What the names of a Python example are after it was run; `secret` takes the place of whsec_… in it."""
    text = example(page, "python", beginning).replace('"whsec_…"', repr(names.get("secret")))
    exec(compile(text, page, "exec"), names)  # noqa: S102 - it is our own documentation
    return names


@pytest.mark.django_db
def test_the_first_example_of_the_readme_records_an_event_for_its_endpoint(empty_redis):
    names = run("README.md", "from django.db import transaction")

    assert names["event"].deliveries.get().endpoint == names["endpoint"]
    assert names["secret"].startswith("whsec_")
    assert json.loads(Event.objects.get().body)["data"] == {"order": 1042, "total": "12.50 EUR"}


@pytest.mark.django_db
def test_after_the_documented_steps_the_old_encryption_key_is_not_needed_any_more(settings):
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.HOLDFAST_SECRET_KEYS = [old]
    endpoint = make_endpoint(headers={"X-Key": "k"})
    secret = endpoint.signing_secrets.get().secret
    source = Source.objects.create(slug="shop", scheme="standard-webhooks")
    source.secrets.create(secret=secret)

    settings.HOLDFAST_SECRET_KEYS = [new, old]
    run("README.md", "from endpoints.models import Endpoint, SigningSecret")

    settings.HOLDFAST_SECRET_KEYS = [new]
    assert Endpoint.objects.get(pk=endpoint.pk).headers == {"X-Key": "k"}
    assert SigningSecret.objects.get(endpoint=endpoint).secret == secret
    assert SourceSecret.objects.get(source=source).secret == secret


@pytest.mark.django_db(transaction=True)
def test_the_test_that_is_shown_passes(empty_redis):
    # Class-level transactions of Django's TestCase need a connection outside any.
    shown = run("docs/testing.md", "import json")["OrderWebhookTest"]
    connection.ensure_connection()

    result = unittest.TextTestRunner(io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(shown))

    assert (result.testsRun, result.errors, result.failures) == (1, [], [])


def test_the_script_of_answers_that_is_shown_is_taken():
    receiver = MemoryTransport()

    run("docs/testing.md", "from deliveries.outcomes", receiver=receiver)

    assert list(receiver._scripts["https://shop.example/hook"]) == [503, Failure.TIMEOUT, 200]


@pytest.fixture
def request_of_now():
    secret, timestamp = new_secret(), int(time.time())
    headers = {
        "webhook-id": "evt_1",
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign([new_secret(), secret], "evt_1", timestamp, BODY),
    }
    return secret, headers


def test_the_plain_python_that_verifies_accepts_what_is_genuine_and_nothing_else(request_of_now):
    secret, headers = request_of_now
    is_genuine = run("docs/signatures.md", "import base64")["is_genuine"]

    assert is_genuine(secret, headers, BODY)
    assert not is_genuine(secret, headers, BODY + b" ")
    assert not is_genuine(new_secret(), headers, BODY)
    assert not is_genuine(secret, headers | {"webhook-timestamp": str(int(time.time()) - 301)}, BODY)


@pytest.mark.parametrize(
    ("beginning", "found"),
    [("from standardwebhooks", {"event": json.loads(BODY)}), ("from endpoints", {"event_id": "evt_1"})],
)
def test_the_libraries_are_used_as_shown(request_of_now, beginning, found):
    secret, headers = request_of_now
    request = SimpleNamespace(headers=headers, body=BODY)

    names = run("docs/signatures.md", beginning, secret=secret, request=request, time=time)

    assert {name: names[name] for name in found} == found


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_the_shell_lines_give_the_signature(request_of_now):
    secret, headers = request_of_now
    script = example("docs/signatures.md", "sh", "key=")
    environment = {"SECRET": secret, "ID": "evt_1", "TIMESTAMP": headers["webhook-timestamp"], "BODY": BODY.decode()}

    printed = subprocess.run(
        ["/bin/sh", "-c", script], env={"PATH": "/usr/bin:/bin", **environment}, capture_output=True, check=True
    )

    assert f"v1,{printed.stdout.decode().strip()}" == headers["webhook-signature"].split(" ")[1]
