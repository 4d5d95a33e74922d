"""What the bench needs to know of a shape."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.crew import Crew


@dataclass(frozen=True, slots=True)
class Leg:
    """One shape of delivering."""

    name: str
    command: Callable[[int], list[str]]
    """What starts the worker process of this number."""
    brief: Callable[[Crew], None]
    """Tells the started workers what they must know, or fills their queue out of their sight; not on the clock."""
    ring: Callable[[Crew], None]
    """Lets them begin; the clock starts with it."""
