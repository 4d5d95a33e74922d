"""`manage.py demo`: the whole pipeline at work, shown and proven."""

import os
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from demo import scenario
from demo.place import PlaceRefused
from demo.processes import ProcessDied
from webhooks_project.leftovers import StackRunning

INTERRUPTED = 130
"""What a shell reports for a program ended by Ctrl-C: 128 and the signal's number."""


class Command(BaseCommand):
    """Runs the demo to its end; the last line is one JSON object."""

    help = (
        "Start workers, beat and a receiver with seven endpoints on a database of their own, deliver 200 events to "
        "each, print what became of them, redrive dead letters, and prove that nothing was lost. Takes under a "
        "minute. Exit status 1 when something was lost or not signed rightly."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Run it; Ctrl-C stops everything it started."""
        try:
            sys.exit(scenario.run(settings.DATA_DIR / "demo", settings.BASE_DIR, os.environ))
        except KeyboardInterrupt:
            self.stderr.write("\nStopped; nothing of the demo is running any more.")
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            # Whoever read this has left (`| head`). Python would complain once more when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except StackRunning as error:
            raise CommandError("Another demo is running from this checkout; wait for it or stop it.") from error
        except (PlaceRefused, ProcessDied) as error:
            raise CommandError(str(error)) from error
