"""Create, look at and switch endpoints from the command line."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from deliveries.management.traffic import traffic
from endpoints import availability
from endpoints.errors import TransitionRefused
from endpoints.management import rotating
from endpoints.management.actor import command_actor
from endpoints.management.description import details, line, paragraph, summary
from endpoints.models import Endpoint, RetryPolicy, State

MOVES = {
    "pause": availability.pause,
    "disable": availability.disable,
    "enable": availability.enable,
    "archive": availability.archive,
}


class Command(BaseCommand):
    help = (
        "Create an endpoint, list or show endpoints, move one (pause, disable, enable, archive), or rotate or revoke "
        "one of its signing secrets."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        create = actions.add_parser("create", help="Make an endpoint; prints its number and its signing secret, once.")
        _add_create_arguments(create)
        listing = actions.add_parser("list", help="List endpoints, one a line.")
        listing.add_argument("--state", choices=State.values)
        listing.add_argument("--tenant")
        listing.add_argument("--json", action="store_true", help="Print a JSON array.")
        show = actions.add_parser("show", help="Show one endpoint; secrets and header values stay hidden.")
        show.add_argument("id", type=int)
        show.add_argument("--json", action="store_true", help="Print a JSON object.")
        for name in MOVES:
            move = actions.add_parser(name, help=f"Move one endpoint: {name}.")
            move.add_argument("id", type=int)
            move.add_argument("--reason", default="", required=name != "enable", help="Why, for the ledger.")
            move.add_argument("--dry-run", action="store_true", help="Only say whether it could be done.")
            move.add_argument("--json", action="store_true", help="Print a JSON object.")

        rotate = actions.add_parser(
            "rotate", help="Make a new signing secret and print it, once; the old ones sign on."
        )
        rotate.add_argument("id", type=int)
        rotating.add_rotate_arguments(rotate)
        revoke = actions.add_parser("revoke", help="Stop signing with one secret at once, as when it leaked.")
        revoke.add_argument("id", type=int)
        rotating.add_revoke_arguments(revoke)

    def handle(self, *, action: str, **options: Any) -> None:
        if action in MOVES:
            self._move(action, options)
        elif action == "create":
            self._create(options)
        elif action == "list":
            self._list(options)
        elif action in ("rotate", "revoke"):
            self._change_secret(action, options)
        else:
            endpoint = _get(options["id"])
            fields = details(endpoint, timezone.now()) | traffic(endpoint)
            self._print(fields, paragraph(fields), options["json"])

    def _create(self, options: dict[str, Any]) -> None:
        endpoint = _from(options)
        try:
            if options["dry_run"]:
                endpoint.full_clean()
                return self._print({"dry_run": True, "url": endpoint.url}, "It would be created.", options["json"])
            endpoint.save()
        except ValidationError as error:
            raise CommandError(_faults(error)) from error
        secret = endpoint.signing_secrets.get().secret
        fields = summary(endpoint) | {"signing_secret": secret}
        text = f"Endpoint {endpoint.pk} created. Its signing secret, shown only now:\n{secret}"
        return self._print(fields, text, options["json"])

    def _list(self, options: dict[str, Any]) -> None:
        given = {name: options[name] for name in ("state", "tenant") if options[name] is not None}
        rows = Endpoint.objects.filter(**given).defer("headers", "ca_certificate")
        if options["json"]:
            self.stdout.write(json.dumps([summary(row) for row in rows]))
            return
        for row in rows.iterator():
            self.stdout.write(line(summary(row)))

    def _move(self, action: str, options: dict[str, Any]) -> None:
        try:
            with transaction.atomic():
                change = MOVES[action](options["id"], actor=command_actor(), reason=options["reason"])
                transaction.set_rollback(options["dry_run"])
        except (TransitionRefused, ValueError) as error:
            raise CommandError(str(error)) from error
        fields = {"id": options["id"], "from": change.from_state, "to": change.to_state, "dry_run": options["dry_run"]}
        would = "would go" if options["dry_run"] else "went"
        text = f"Endpoint {options['id']} {would} from {change.from_state} to {change.to_state}."
        self._print(fields, text, options["json"])

    def _change_secret(self, action: str, options: dict[str, Any]) -> None:
        id, dry_run = options["id"], options["dry_run"]
        if action == "rotate":
            said = rotating.rotate_by_command(id, overlap_hours=options["overlap_hours"], dry_run=dry_run)
        else:
            reason = options["reason"]
            said = rotating.revoke_by_command(id, options["fingerprint"], reason=reason, dry_run=dry_run)
        self._print(said.figures, said.text, options["json"])
        if said.remark and not options["json"]:
            self.stderr.write(said.remark)

    def _print(self, fields: dict[str, Any], text: str, as_json: bool) -> None:
        self.stdout.write(json.dumps(fields) if as_json else text)


def _add_create_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("url")
    parser.add_argument("--tenant", default="", help="Receives this tenant's events only.")
    parser.add_argument("--event-type", action="append", dest="event_types", metavar="PATTERN", help="May be repeated.")
    parser.add_argument("--description", default="")
    parser.add_argument("--owner-email", default="", help="Told about dead letters.")
    parser.add_argument("--rate-limit", type=float, metavar="PER_SECOND", help="Requests a second; none by default.")
    parser.add_argument("--max-concurrency", type=int, default=8, help="Requests in flight at once.")
    parser.add_argument("--timeout", type=int, default=5, metavar="SECONDS", help="Total time of one request.")
    parser.add_argument(
        "--retry-policy", metavar="NAME", help="A retry policy by name; without, the one named default."
    )
    parser.add_argument("--ordered", action="store_true", help="One request at a time, in strict sequence.")
    parser.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="May be repeated.")
    parser.add_argument("--dry-run", action="store_true", help="Only check the arguments.")
    parser.add_argument("--json", action="store_true", help="Print a JSON object.")


def _from(options: dict[str, Any]) -> Endpoint:
    return Endpoint(
        url=options["url"],
        tenant=options["tenant"],
        event_types=options["event_types"] or ["*"],
        description=options["description"],
        owner_email=options["owner_email"],
        rate_limit_per_second=options["rate_limit"],
        max_concurrency=options["max_concurrency"],
        timeout_seconds=options["timeout"],
        retry_policy=_policy(options["retry_policy"]),
        ordered=options["ordered"],
        headers=dict(_header(given) for given in options["header"]),
    )


def _policy(name: str | None) -> RetryPolicy | None:
    if name is None:
        return None
    if found := RetryPolicy.objects.filter(name=name).first():
        return found
    known = ", ".join(RetryPolicy.objects.values_list("name", flat=True))
    raise CommandError(f"--retry-policy: there is no policy {name}; known are {known}.")


def _header(given: str) -> tuple[str, str]:
    name, separator, value = given.partition("=")
    if not separator:
        raise CommandError("--header: write NAME=VALUE.")
    return name.strip(), value.strip()


def _get(id: int) -> Endpoint:
    try:
        return Endpoint.objects.get(pk=id)
    except Endpoint.DoesNotExist:
        raise CommandError(f"There is no endpoint {id}.") from None


def _faults(error: ValidationError) -> str:
    return "; ".join(f"{field}: {' '.join(sentences)}" for field, sentences in error.message_dict.items())
