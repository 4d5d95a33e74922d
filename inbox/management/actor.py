"""On whose behalf a management command acts."""

import getpass


def command_actor() -> str:
    """`command:` and the operating system's user, as the audit rows show it."""
    try:
        return f"command:{getpass.getuser()}"
    except (KeyError, OSError):
        # A container may run under a number that has no name.
        return "command:unknown"
