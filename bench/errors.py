"""Why a bench has no figures to give."""


class BenchFailed(RuntimeError):
    """The message says what went wrong; nothing was measured that could be trusted."""


class PromiseBroken(BenchFailed):
    """It was measured, and what may not happen did: `figures` say how often."""

    def __init__(self, message: str, figures: dict[str, float]) -> None:
        super().__init__(message)
        self.figures = figures
