"""What two clusters saw in runs of several sequences, and which sequences differ."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self, TypeVar

Seen = list[list[dict[str, Any]]]
"""What a cluster says: for each round, for each sequence, by name."""
Difference = tuple[int, int, str, Any, Any]
"""Number of the sequence, of the round, what differs, and what both say of it."""


class Run(Protocol):
    """Sequences that are played together."""

    @property
    def sequences(self) -> Sequence[Any]:
        """What is done with each topic."""

    def only(self, numbers: Sequence[int], /) -> Self:
        """Return a run of some of the sequences."""

    def described(self, number: int, index: int, /) -> str:
        """Return what is done with one topic up to a round."""


AnyRun = TypeVar("AnyRun", bound=Run)


def count_differing(
    runs: Mapping[int, AnyRun],
    play: Callable[[AnyRun, str], tuple[Seen, Seen]],
    tell: Callable[[str], object],
) -> int:
    """Play the runs, by their seed, and return how many sequences differ.

    A sequence that differs is played again, and counts only if it differs again: what Kafka does
    by itself comes at other times under load. `play` takes a run and a prefix of names, and
    returns what Kafka and ours have seen. `tell` takes lines of progress, and what differs.
    """
    count = 0
    for seed, run in runs.items():
        playing, found = run, list[Difference]()
        for attempt in ("first", "again"):
            found = differences(*play(playing, f"{seed}-{attempt}"))
            numbers = sorted({difference[0] for difference in found})
            tell(f"seed {seed}, {attempt}: {len(numbers)} of {len(playing.sequences)} differ")
            if not numbers:
                break
            for number, index, what, kafka, ours in found:
                steps = playing.described(number, index)
                tell(f"{steps}\n  {what}: Kafka {kafka}, ours {ours}")
            if attempt == "first":
                playing = playing.only(numbers)
        count += len({difference[0] for difference in found})
    return count


def differences(kafka: Seen, ours: Seen) -> list[Difference]:
    """Return the differences of each sequence in its first round that has one."""
    found: list[Difference] = []
    differing: set[int] = set()
    for index, (theirs, own) in enumerate(zip(kafka, ours, strict=True)):
        for number, (said, answered) in enumerate(zip(theirs, own, strict=True)):
            keys = [key for key in said if said[key] != answered[key]]
            if number not in differing:
                found += [(number, index, key, said[key], answered[key]) for key in keys]
            if keys:
                differing.add(number)
    return found
