"""Give an endpoint a new signing secret from the command line; `endpoint rotate` is the same."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from endpoints.management.rotating import add_rotate_arguments, rotate_by_command


class Command(BaseCommand):
    help = "Make a new signing secret for an endpoint and print it, once. The old ones sign on for the overlap."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("endpoint", type=int, help="The endpoint's number.")
        add_rotate_arguments(parser)

    def handle(self, *, endpoint: int, **options: Any) -> None:
        said = rotate_by_command(endpoint, overlap_hours=options["overlap_hours"], dry_run=options["dry_run"])
        self.stdout.write(json.dumps(said.figures) if options["json"] else said.text)
        if said.remark and not options["json"]:
            self.stderr.write(said.remark)
