#!/usr/bin/env python
"""Holdfast's command line: Django's own commands and ours (`manage.py help` lists them)."""

import os
import sys

from django.core.management import execute_from_command_line

from webhooks_project.boot import prepare


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webhooks_project.settings")
    prepare()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
