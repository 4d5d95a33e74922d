"""Events that kill whoever handles them."""

from tests.chaos import cast
from tests.chaos.stage import Stage


def poison(stage: Stage) -> None:
    """One event among twenty kills its worker at every attempt. It ends as a dead letter; the account says when."""
    stage.burst(10, "rare.poison")
    stage.burst(1, "rare.poison", note=cast.POISON)
    stage.burst(10, "rare.poison")
