"""Why a bench has no figures to give."""


class BenchFailed(RuntimeError):
    """The message says what went wrong; nothing was measured that could be trusted."""
