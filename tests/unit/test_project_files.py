"""The files around the code say what the code needs: compose, requirements, Makefile."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from webhooks_project import broker, roles

ROOT = Path(__file__).resolve().parents[2]
SERVICES = {"postgres", "valkey", "migrate", "web", "worker", "worker-slow", "worker-inbox", "beat"}
REQUIREMENTS = ("requirements.txt", "requirements-tracing.txt", "requirements-dev.txt", "constraints.txt")
SECRET_NAME = re.compile(r"PASSWORD|SECRET|KEY|URL")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def requirement_lines(name: str) -> list[str]:
    lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return [line for line in lines if line and not line.startswith("-")]


def project_of(line: str) -> str:
    return re.split(r"[=<>~!\[; ]", line)[0]


def test_compose_has_every_service_of_the_pipeline(compose):
    assert set(compose["services"]) == SERVICES


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_each_service_has_a_health_check_or_says_why_not(compose, name):
    service = compose["services"][name]
    assert service.get("healthcheck", {}).get("test") or len(service.get("x-no-healthcheck", "")) > 20


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_secret_stands_in_compose_or_has_a_default(compose, name):
    environment = compose["services"][name].get("environment", {})
    for key, value in environment.items():
        if SECRET_NAME.search(key):
            # Required from outside, or empty unless given: what a mail server without accounts needs.
            assert re.search(r"\$\{[A-Z_]+:(\?[^}]+|-)\}", value), f"{key} has a default"


def test_everything_waits_for_a_healthy_database_and_for_the_migrations(compose):
    for name in ("web", "worker", "worker-slow", "worker-inbox", "beat"):
        needs = compose["services"][name]["depends_on"]
        assert needs["postgres"]["condition"] == needs["valkey"]["condition"] == "service_healthy"
        assert needs["migrate"]["condition"] == "service_completed_successfully"


@pytest.mark.parametrize(
    ("service", "command"),
    [
        ("worker", roles.worker("healthy", roles.HEALTHY_QUEUES)),
        ("worker-slow", roles.worker("slow", roles.SLOW_QUEUES)),
        ("worker-inbox", roles.worker("inbox", roles.INBOX_QUEUES)),
        ("beat", roles.beat()),
    ],
)
def test_compose_runs_the_same_celery_options_as_the_stack(compose, service, command):
    program = "beat" if service == "beat" else "worker"
    written = compose["services"][service]["command"]
    assert written[:3] == ["celery", "-A", "webhooks_project"]
    assert written[written.index(program) :] == command[command.index(program) :]


def test_compose_serves_the_web_as_the_roles_say(compose):
    command = roles.web_server("0.0.0.0:8000")
    program = command.index("gunicorn")
    assert compose["services"]["web"]["command"][: len(command) - program] == command[program:]


@pytest.mark.parametrize("queues", [roles.HEALTHY_QUEUES, roles.SLOW_QUEUES, roles.INBOX_QUEUES])
def test_workers_run_threads_and_do_not_talk_to_each_other(queues):
    command = roles.worker("any", queues)
    assert command[command.index("--pool") + 1] == "threads"
    assert {"--without-gossip", "--without-mingle", "--without-heartbeat"} <= set(command)


def test_every_declared_queue_has_exactly_one_kind_of_worker():
    assert sorted([*roles.HEALTHY_QUEUES, *roles.SLOW_QUEUES, *roles.INBOX_QUEUES]) == sorted(broker.QUEUES)


def test_the_broker_never_evicts(compose):
    assert "--maxmemory-policy noeviction" in compose["services"]["valkey"]["command"][-1]


def test_the_image_does_not_run_as_root():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users
    assert users[-1] not in {"root", "0"}


def test_the_image_gives_every_process_what_the_stack_gives_it():
    text = (ROOT / "Dockerfile").read_text()
    for name, value in roles.ENVIRONMENT.items():
        assert re.search(rf"^(ENV|   ) {name}={value}( |$)", text, re.MULTILINE)


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_requirement_is_pinned_to_one_version(name):
    for line in requirement_lines(name):
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line), line


def test_no_package_is_pinned_twice():
    projects = [project_of(line).lower().replace("_", "-") for name in REQUIREMENTS for line in requirement_lines(name)]
    assert len(projects) == len(set(projects))


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-tracing.txt", "requirements-dev.txt"])
def test_every_direct_dependency_has_its_reason(name):
    reasons = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", (ROOT / "docs/dependencies.md").read_text(), re.MULTILINE))
    for line in requirement_lines(name):
        assert len(reasons.get(project_of(line), "")) > 10, f"docs/dependencies.md has no reason for {line}"


def test_every_make_target_is_listed_by_make_help():
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony is not None
    documented = set(re.findall(r"^([a-z]+):.*## \S", makefile, re.MULTILINE))
    assert documented == set(phony.group(1).split())
