"""How commands say which rows they mean: numbers, or filters, or everything on purpose."""

from argparse import ArgumentParser
from collections.abc import Mapping
from datetime import UTC, datetime, time
from typing import Any

from django.core.management.base import CommandError
from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_date, parse_datetime

from deliveries import operations
from deliveries.models import DeadLetter, Event, Resolution
from endpoints.matching import pattern_fault
from endpoints.models import Endpoint

FILTERS = ("endpoint", "type", "failure_class", "tenant", "since", "until")


def add_time_and_type_arguments(parser: ArgumentParser) -> None:
    """The filters that events and dead letters share."""
    parser.add_argument("--endpoint", type=int, metavar="ID", help="Only this endpoint.")
    parser.add_argument("--type", metavar="PATTERN", help="Only these event types: payment.completed or payment.*")
    parser.add_argument("--since", metavar="TIME", help="From this ISO 8601 date or time on; UTC unless it says.")
    parser.add_argument("--until", metavar="TIME", help="Before this ISO 8601 date or time.")
    parser.add_argument("--all", action="store_true", help="Everything; needed when nothing narrows the choice.")


def add_dead_letter_arguments(parser: ArgumentParser) -> None:
    """Which dead letters."""
    parser.add_argument("ids", nargs="*", type=int, metavar="ID", help="Dead letters by number.")
    add_time_and_type_arguments(parser)
    parser.add_argument("--class", dest="failure_class", metavar="CLASS", help="Only this failure class: timeout, ...")


def selected_dead_letters(options: Mapping[str, Any]) -> QuerySet[DeadLetter] | list[int]:
    """The numbers as given, or the open dead letters that the filters leave. Raises CommandError."""
    check_choice(options)
    if options["ids"]:
        return list(options["ids"])
    chosen = DeadLetter.objects.filter(time_range(options), resolution=Resolution.OPEN)
    if options["endpoint"] is not None:
        chosen = chosen.filter(endpoint=existing_endpoint(options["endpoint"]))
    if options["type"]:
        chosen = chosen.filter(type_condition(options["type"], "event_type"))
    if options["failure_class"]:
        chosen = chosen.filter(failure_class=options["failure_class"])
    return chosen


def selected_events(options: Mapping[str, Any], endpoint: Endpoint | None) -> QuerySet[Event] | list[str]:
    """The ids as given, or the events that the filters leave. Raises CommandError."""
    check_choice(options)
    if options["ids"]:
        known = set(Event.objects.filter(pk__in=options["ids"]).values_list("pk", flat=True))
        if missing := [id for id in options["ids"] if id not in known]:
            raise CommandError(f"There is no event {', '.join(missing)}.")
        return list(options["ids"])
    chosen = Event.objects.filter(time_range(options))
    if options["type"]:
        chosen = chosen.filter(type_condition(options["type"], "type"))
    if endpoint is not None:
        chosen = chosen.filter(tenant=endpoint.tenant)
    if options["tenant"] is not None:
        chosen = chosen.filter(tenant=options["tenant"])
    return chosen


def check_choice(options: Mapping[str, Any]) -> None:
    """Numbers, filters or --all, and no two that contradict each other."""
    narrowed = [name for name in FILTERS if options.get(name) is not None]
    by_filter = [name for name in narrowed if name != "endpoint" or "failure_class" in options]
    if options["ids"] and (by_filter or options["all"]):
        raise CommandError("Name rows by id, or by filters, not both.")
    if not options["ids"] and not narrowed and not options["all"]:
        raise CommandError("Nothing is selected: name ids, or filters, or say --all.")


def checked_rate(rate: float | None) -> float | None:
    """Deliveries a second, or CommandError."""
    if rate is not None and not 0 < rate <= operations.MOST_PER_SECOND:
        raise CommandError(f"--rate: more than 0 and at most {operations.MOST_PER_SECOND:,.0f} deliveries a second.")
    return rate


def existing_endpoint(id: int) -> Endpoint:
    """The endpoint, or CommandError: a number that exists nowhere is a slip, not an empty choice."""
    if found := Endpoint.objects.filter(pk=id).first():
        return found
    raise CommandError(f"--endpoint: there is no endpoint {id}.")


def type_condition(pattern: str, column: str) -> Q:
    """Rows whose event type fits the pattern, by equality or by prefix."""
    if fault := pattern_fault(pattern):
        raise CommandError(f"--type: {fault}")
    if pattern == "*":
        return Q()
    return Q(**{f"{column}__startswith": pattern[:-1]}) if pattern.endswith(".*") else Q(**{column: pattern})


def time_range(options: Mapping[str, Any]) -> Q:
    """Rows created within --since and --until."""
    chosen = Q()
    if options["since"]:
        chosen &= Q(created_at__gte=moment("--since", options["since"]))
    if options["until"]:
        chosen &= Q(created_at__lt=moment("--until", options["until"]))
    return chosen


def moment(option: str, text: str) -> datetime:
    """An aware time from ISO 8601; a date is its midnight, and a time without a zone is UTC."""
    try:
        day, point = parse_date(text), parse_datetime(text)
    except ValueError as error:
        raise CommandError(f"{option}: {error}.") from error
    if day:
        point = datetime.combine(day, time.min)
    if point is None:
        raise CommandError(f"{option}: {text!r} is no ISO 8601 date or time, such as 2025-03-01T12:00:00Z.")
    return point if point.tzinfo else point.replace(tzinfo=UTC)


def in_words(options: Mapping[str, Any], noun: str) -> str:
    """The choice, for the audit row."""
    if options["ids"]:
        count = len(options["ids"])
        return f"{count} {noun.removesuffix('s') if count == 1 else noun} by id."
    narrowed = [f"{name.replace('failure_class', 'class')} {options[name]}" for name in FILTERS if options.get(name)]
    return f"{noun.capitalize()} by {', '.join(narrowed)}." if narrowed else f"All {noun}."
