"""What other apps may listen to. `endpoints` does not know who does."""

from django.dispatch import Signal

state_changed = Signal()
"""An endpoint moved to another state. Sent inside the transaction of the move, with the `StateChange` as `change`:
whoever acts outside the database waits for the commit."""
