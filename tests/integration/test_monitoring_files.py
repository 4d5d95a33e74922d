"""The dashboard and the alert rules: they parse, and every metric and label they name is in a real scrape."""

import json
import re
from pathlib import Path

import pytest
import yaml
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from deliveries.sweeps import due, expired, figures, lapsed, rollups
from deliveries.watch import heartbeats
from inbox.refusals import count_refusal
from inbox.sweeps import tallies
from tests.factories import make_delivered, make_endpoint
from tests.integration.inbox.conftest import make_sender

pytestmark = pytest.mark.django_db

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "monitoring"
RULES = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]

EXPRESSIONS = {rule["alert"]: [rule["expr"]] for rule in RULES} | {
    panel["title"]: [target["expr"] for target in panel["targets"]] for panel in PANELS
}
METRIC = re.compile(r"(holdfast_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!=|=)"([^"]*)"')
GROUPING = re.compile(r"by \(([^)]*)\) \(")
OFFERED_BY_PROMETHEUS = {"instance"}


@pytest.fixture
def scraped(empty_redis, settings, tmp_path):
    """Name of a series -> the sets of labels it comes with, of an installation in which everything happened once."""
    settings.STATIC_ROOT, settings.HOLDFAST_METRICS_TOKEN = str(tmp_path), "token"
    make_delivered(make_endpoint())
    sender = make_sender()
    sender.post()
    count_refusal(sender.source.pk, "too-large")
    heartbeats.beat("a@here", ["dead_letters", "deliveries", "deliveries.slow", "inbox", "upkeep"])
    for sweep in (due, lapsed, expired, figures, rollups, tallies):
        sweep.sweep()
    for duty in ("recorded", "health", "alarms", "notices", "unannounced", "old", "probes", "certificates"):
        heartbeats.note(duty)
    text = Client().get("/metrics", headers={"authorization": "Bearer token"}).content.decode()
    found: dict[str, list[dict[str, str]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample.labels)
    return found


@pytest.mark.parametrize("user", EXPRESSIONS)
def test_every_metric_and_label_that_is_named_is_in_a_scrape(scraped, user):
    for expression in EXPRESSIONS[user]:
        metrics = METRIC.findall(expression)
        assert metrics, expression
        for name, matchers in metrics:
            assert name in scraped, f"{user} names {name}"
            for label, how, value in MATCHER.findall(matchers):
                values = {labels[label] for labels in scraped[name]}
                for each in value.split("|") if how == "=~" else [value]:
                    assert each in values, f"{user}: {name} has no {label} {each!r}"
        for label in grouped_by(expression):
            assert any(label in scraped[name][0] for name, _ in metrics), f"{user} groups by {label}"


def grouped_by(expression):
    words = {word.strip() for group in GROUPING.findall(expression) for word in group.split(",")}
    return words - OFFERED_BY_PROMETHEUS


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_alert_says_what_it_is_and_what_to_do(rule):
    assert rule["alert"].startswith("Holdfast")
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert len(rule["annotations"]["summary"]) > 20
    assert len(rule["annotations"]["description"]) > 50
    for label in re.findall(r"\$labels\.(\w+)", str(rule["annotations"])):
        assert re.search(rf"by \([^)]*{label}[^)]*\)", rule["expr"]), f"no label {label}"


def test_every_command_that_an_alert_tells_to_run_exists():
    told = set(re.findall(r"`manage\.py (\w+)", json.dumps(RULES)))

    assert told >= {"pipeline_status", "sweep", "redrive"}
    root = FOLDER.parents[1]
    assert not [name for name in told if not list(root.glob(f"*/management/commands/{name}.py"))]


def test_parentheses_and_brackets_are_closed():
    for expressions in EXPRESSIONS.values():
        for expression in expressions:
            for opening, closing in ("()", "[]", "{}"):
                assert expression.count(opening) == expression.count(closing), expression


def test_every_panel_says_what_it_shows_and_in_which_unit():
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    for panel in PANELS:
        assert len(panel["description"]) > 10
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24


def test_nothing_that_a_scrape_tells_is_left_out_of_both_files(scraped):
    named = {name for expressions in EXPRESSIONS.values() for text in expressions for name, _ in METRIC.findall(text)}
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in scraped}

    assert families <= {re.sub(r"_(bucket|count|sum)$", "", name) for name in named}
