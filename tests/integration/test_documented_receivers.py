"""The receivers without Holdfast that docs/receiving.md shows, each cut out and run against signed requests."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import requests
from django.test import RequestFactory

from endpoints.signing import new_secret, sign
from tests.acceptance.waiting import eventually
from tests.examples import example
from webhooks_project.ports import unused_port

PAGE = "docs/receiving.md"
DOUBLES = Path(__file__).parent / "doubles"
SECRET = new_secret()
BODY = '{"id":"evt_1","text":"Zoë 😊","score":0.0}'.encode()

Headers = dict[str, str]
Post = Callable[[Headers, bytes], int]

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")
needs_go = pytest.mark.skipif(not shutil.which("go"), reason="Go is not installed")


def signed(seconds: int = 0, secret: str = SECRET) -> Headers:
    """The headers of a request that was made so many seconds from now."""
    at = int(time.time()) + seconds
    return {
        "webhook-id": "evt_1",
        "webhook-timestamp": str(at),
        "webhook-signature": sign([secret], "evt_1", at, BODY),
    }


def rotated() -> Headers:
    """As during a rotation, with a version that nobody knows yet."""
    both = sign([new_secret(), SECRET], "evt_1", (at := int(time.time())), BODY)
    return signed() | {"webhook-timestamp": str(at), "webhook-signature": f"v2,AAAA {both}"}


def judge(post: Post) -> None:
    """What a receiver accepts, and that it refuses everything else with a 4xx."""
    assert [post(headers, BODY) for headers in (signed(), signed(-290), signed(290), rotated())] == [200] * 4
    refused = {
        "tampered": post(signed(), BODY.replace(b"0.0", b"0.1")),
        "rewritten": post(signed(), json.dumps(json.loads(BODY)).encode()),
        "empty": post(signed(), b""),
        "stale": post(signed(-302), BODY),
        "of the future": post(signed(310), BODY),
        "another secret": post(signed(secret=new_secret()), BODY),
        "another id": post(signed() | {"webhook-id": "evt_2"}, BODY),
        "garbage": post(signed() | {"webhook-signature": "v1,\xe9 %%% v1, ,"}, BODY),
        "no number": post(signed() | {"webhook-timestamp": "soon"}, BODY),
        "a large number": post(signed() | {"webhook-timestamp": "9" * 5000}, BODY),
        "unsigned": post({}, BODY),
    }
    assert {name for name, status in refused.items() if not 400 <= status < 500} == set()


@pytest.fixture
def verifying(monkeypatch: pytest.MonkeyPatch) -> None:
    """The documented module of that name, importable."""
    monkeypatch.setenv("WEBHOOK_SECRET", SECRET)
    module = ModuleType("verifying")
    exec(example(PAGE, "python", "import base64"), module.__dict__)  # noqa: S102 - it is our own documentation
    monkeypatch.setitem(sys.modules, "verifying", module)


def names_of(beginning: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(example(PAGE, "python", beginning), names)  # noqa: S102 - it is our own documentation
    return names


def test_the_django_receiver_accepts_what_is_genuine_and_nothing_else(verifying):
    hook = names_of("import json\n\nfrom django.http")["hook"]

    def post(headers: Headers, body: bytes) -> int:
        request = RequestFactory().post("/hook", data=body, content_type="application/json", headers=headers)
        return int(hook(request).status_code)

    judge(post)
    assert hook(RequestFactory().get("/hook")).status_code == 405


def test_the_fastapi_receiver_accepts_what_is_genuine_and_nothing_else(verifying):
    app = names_of("import json\n\nfrom fastapi")["app"]

    judge(lambda headers, body: asyncio.run(call(app, headers, body)))


async def call(app: Any, headers: Headers, body: bytes) -> int:
    """One request to an ASGI application; gives the status."""
    sent: list[dict[str, Any]] = []
    scope = {"type": "http", "method": "POST", "path": "/hook", "raw_path": b"/hook", "query_string": b""}
    scope |= {"headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app({**scope, "http_version": "1.1", "scheme": "http", "root_path": ""}, receive, send)
    return int(sent[0]["status"])


@contextmanager
def serving(command: list[str], **environment: str) -> Iterator[Post]:
    """A receiver in a process of its own."""
    port = unused_port()
    process = subprocess.Popen(command, env={**os.environ, **environment, "WEBHOOK_SECRET": SECRET, "PORT": str(port)})
    try:
        eventually(lambda: answers(port), within=10)
        with requests.Session() as session:
            # latin-1, as they come on the wire.
            yield (
                lambda headers, body: (
                    session.post(
                        f"http://127.0.0.1:{port}/hook", data=body, headers=on_the_wire(headers), timeout=5
                    ).status_code
                )
            )
    finally:
        process.kill()
        process.wait()


def on_the_wire(headers: Headers) -> Mapping[str, str | bytes]:
    return {name: value.encode("latin-1") for name, value in headers.items()}


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@needs_node
def test_the_express_receiver_accepts_what_is_genuine_and_nothing_else(tmp_path):
    (tmp_path / "receiver.js").write_text(example(PAGE, "js", "const crypto"))

    with serving(["node", str(tmp_path / "receiver.js")], NODE_PATH=str(DOUBLES)) as post:
        judge(post)


def go_program(folder: Path, main: str) -> list[str]:
    """Compile the documented function with a program around it. Seconds at the first time, then from Go's cache."""
    (folder / "verifying.go").write_text(example(PAGE, "go", 'package main\n\nimport (\n\t"crypto/hmac"'))
    (folder / "main.go").write_text(main)
    command = ["go", "build", "-o", str(folder / "receiver"), "verifying.go", "main.go"]
    subprocess.run(command, cwd=folder, env={**os.environ, "GOTOOLCHAIN": "local"}, check=True)
    return [str(folder / "receiver")]


@needs_go
def test_the_go_function_accepts_what_is_genuine_and_nothing_else(tmp_path):
    command = go_program(tmp_path, (DOUBLES / "main.go").read_text())

    def post(headers: Headers, body: bytes) -> int:
        environment = {"WEBHOOK_SECRET": SECRET, **headers}
        encoded = {name.encode(): value.encode("latin-1") for name, value in environment.items()}
        status = subprocess.run(command, env=encoded, input=body, check=False).returncode
        return {0: 200, 41: 401}[status]

    judge(post)


@needs_go
def test_the_go_receiver_accepts_what_is_genuine_and_nothing_else(tmp_path):
    asked = subprocess.run(["go", "list", "-f", "{{.Stale}}", "net/http"], capture_output=True, text=True, check=True)
    if "false" not in asked.stdout:
        pytest.skip("Go has not compiled net/http on this machine yet, which takes half a minute")
    command = go_program(tmp_path, example(PAGE, "go", 'package main\n\nimport (\n\t"encoding/base64"'))

    with serving(command) as post:
        judge(post)
