"""What the documentation says, compared with what the code does: tables, names, links."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from deliveries.conf import Conf
from deliveries.outcomes import Exchange, Failure, Kind, Permanence, judge
from deliveries.retries import backoff_seconds
from endpoints.policies import EXPONENTIAL, SHIPPED, Policy
from webhooks_project import broker

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"`([^`]+)`")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# Read by Django, Celery and OpenTelemetry themselves, or by the demo's screen; no part of the configuration.
NOT_OURS = {"DJANGO_SETTINGS_MODULE", "OTEL_SERVICE_NAME", "PYTHONWARNINGS", "TERM", "NO_COLOR"}


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table on a page whose header begins with `heading`."""
    text = (ROOT / page).read_text()
    start = text.index(f"\n| {heading} |")
    table = text[start:].strip().split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[2:]]


def first_words(page: str, heading: str) -> list[str]:
    return [CODE.findall(cells[0])[0] for cells in rows(page, heading)]


def variables_read(path: Path) -> Iterator[str]:
    """Names that a file looks up in the environment, itself or through the small functions of the settings."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(func=ast.Attribute(attr="get" | "setdefault", value=ast.Attribute(attr="environ"))):
                yield _text(node.args[0])
            case ast.Call(func=ast.Name(id="_flag" | "_words" | "_required")):
                yield _text(node.args[0])
            case ast.Subscript(value=ast.Attribute(attr="environ")):
                yield _text(node.slice)
            case ast.Compare(comparators=[ast.Attribute(attr="environ")]):
                yield _text(node.left)


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_the_readme_lists_every_environment_variable_once_and_no_other():
    read = {name for path in (ROOT / "webhooks_project").rglob("*.py") for name in variables_read(path) if name}

    assert sorted(first_words("README.md", "variable")) == sorted(read - NOT_OURS)


def test_the_readme_lists_every_setting_with_its_default():
    listed = {CODE.findall(cells[0])[0]: ast.literal_eval(cells[1].strip("`")) for cells in rows("README.md", "key")}

    assert listed == {field.name.upper(): [] if field.default == () else field.default for field in fields(Conf)}


def test_the_readme_lists_every_management_command_once_and_no_other():
    files = ROOT.glob("*/management/commands/*.py")

    assert sorted(first_words("README.md", "command")) == sorted(path.stem for path in files if path.stem != "__init__")


def test_the_readme_names_every_page():
    linked = "\n".join((ROOT / page).read_text() for page in ("README.md", "docs/decisions/README.md"))

    assert not [page.name for page in PAGES[1:] if f"{page.name})" not in linked]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_or_a_heading_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text())):
        if not target.startswith("https://"):
            name, _, heading = target.partition("#")
            there = (page.parent / name).resolve() if name else page
            assert there.exists(), target
            assert not heading or heading in headings(there), target


def headings(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_of_ours_that_is_named_exists(page):
    named = re.findall(
        r"`((?:webhooks_project|deliveries|endpoints|inbox|demo|tests|bench|docs)/[\w./]*)`", page.read_text()
    )

    assert not [name for name in named if not (ROOT / name).exists()]


def test_every_test_that_covers_a_field_case_exists():
    named = re.findall(r"`([\w/.]+)::(\w+)`", (ROOT / "docs/field-cases.md").read_text())
    texts = {file: (ROOT / "tests" / file).read_text() for file, _ in named if (ROOT / "tests" / file).is_file()}

    assert len(named) > 100
    assert not [f"{file}::{test}" for file, test in named if f"def {test}(" not in texts.get(file, "")]


def test_every_field_case_is_answered_in_its_order():
    numbers = re.findall(r"^\| C(\d{3}) \| (.+?) \|", (ROOT / "docs/field-cases.md").read_text(), re.MULTILINE)

    assert [int(number) for number, _ in numbers] == list(range(1, 103))


NOW = datetime(2026, 12, 1, tzinfo=UTC)


class TestOutcomes:
    def test_every_status_has_the_class_and_the_consequence_of_the_table(self):
        table = rows("docs/retries.md", "what happened")
        listed = {int(code): cells for cells in table for code in re.findall(r"\b\d{3}\b", cells[0])}
        for status in range(200, 600):
            cells = listed.get(status) or self.family(table, status)
            outcome = judge(Exchange(status_code=status), now=NOW)
            assert cells[1] == f"`{outcome.kind}`", status
            assert consequence(cells[2]) is outcome.permanence, status
            assert ("held" in cells[2]) == outcome.slows_endpoint, status

    def test_every_failure_without_a_status_is_there(self):
        table = rows("docs/retries.md", "what happened")
        listed = {CODE.findall(cells[1])[0]: cells[2] for cells in table}
        for failure in Failure:
            assert consequence(listed[failure.value]) is judge(Exchange(failure=failure), now=NOW).permanence
        assert set(listed) == {kind.value for kind in Kind}

    def family(self, table, status):
        names = {2: "2xx", 3: "3xx", 4: "other 4xx", 5: "other 5xx"}
        return next(cells for cells in table if cells[0].startswith(names[status // 100]))


def consequence(words: str) -> Permanence:
    for start, permanence in (
        ("final", Permanence.FINAL),
        ("dead letter at once", Permanence.PERMANENT),
        ("tried again", Permanence.TRANSIENT),
    ):
        if words.startswith(start):
            return permanence
    raise AssertionError(words)


@pytest.mark.parametrize("policy", SHIPPED, ids=lambda policy: policy.name)
def test_the_table_of_policies_says_what_is_shipped(policy):
    listed = {CODE.findall(cells[0])[0]: cells[1:] for cells in rows("docs/retries.md", "policy")}

    assert listed[policy.name] == [
        policy.kind,
        waits(policy),
        str(policy.max_attempts),
        f"{policy.deadline_seconds // 3600} h",
        f"{policy.timeout_seconds} s" if policy.timeout_seconds else "the endpoint's",
    ]
    assert len(listed) == len(SHIPPED)


def waits(policy: Policy) -> str:
    if policy.kind == EXPONENTIAL:
        return f"{span(policy.base_seconds)} to {span(policy.cap_seconds)}"
    steps = ", ".join(span(seconds) for seconds in policy.schedule_seconds)
    return f"{steps}; + up to {policy.jitter:.0%}".replace("%", " %")


def span(seconds: int) -> str:
    if seconds < 60:
        return f"{seconds} s"
    return f"{seconds // 60} m" if seconds % 3600 else f"{seconds // 3600} h"


def test_the_default_policy_waits_as_the_formula_says():
    policy = SHIPPED[0]
    assert "random(0, min(cap, base × 2^n))" in (ROOT / "docs/retries.md").read_text()

    longest = [max(backoff_seconds(policy, attempt, Random(seed)) for seed in range(200)) for attempt in (1, 2, 3, 15)]

    assert [round(wait / window, 1) for wait, window in zip(longest, (30, 60, 120, 43_200), strict=True)] == [1.0] * 4


def test_the_sweeps_that_are_listed_run_as_often_as_it_says():
    listed = {CODE.findall(cells[0])[0]: cells[1] for cells in rows("docs/architecture.md", "sweep")}
    scheduled = broker.SETTINGS["beat_schedule"].values()

    assert listed == {entry["task"].rpartition("sweep_")[2]: f"{entry['schedule']:g} s" for entry in scheduled}


def test_the_permissions_that_are_listed_are_those_that_exist():
    declared = [
        f"{app}.{name}"
        for app in ("deliveries", "endpoints", "inbox")
        for path in ROOT.glob(f"{app}/models/*.py")
        for name in re.findall(r'\("(\w+)", "Can \w', path.read_text())
    ]

    assert sorted(first_words("docs/security.md", "permission")) == sorted(declared)
