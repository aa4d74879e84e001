"""A mutant: a bug, and where it is to be found."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.simulation.patches import Patch, edit
from tests.simulation.world import World

WORLDS_MAX = 40
"""A mutant must be found within so many worlds."""


@dataclass(frozen=True)
class Mutant:
    """One bug; `world_class` has the circumstances in which it shows."""

    name: str
    """What is wrong, in one sentence."""
    checker: str
    apply: Callable[[Patch], None]
    world_class: type[World] = World

    def worlds_needed(self) -> int | None:
        """Return how many worlds run until the checker finds the bug; None if none does."""
        with Patch.context() as patch:
            self.apply(patch)
            for seed in range(WORLDS_MAX):
                violations = self.world_class(seed).run().violations
                if any(found.startswith(f"{self.checker}: ") for found in violations):
                    return seed + 1
        return None


def edited(
    name: str,
    checker: str,
    function: Any,
    right: str,
    wrong: str,
    world_class: type[World] = World,
) -> Mutant:
    """Return a mutant with another text in the source of a function."""
    apply = partial(edit, function=function, right=right, wrong=wrong)
    return Mutant(name, checker, apply, world_class)
