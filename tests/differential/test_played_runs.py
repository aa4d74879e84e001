"""Which sequences of a run differ, and which of them count."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.differential.played_runs import Seen, count_differing, differences


@dataclass(frozen=True)
class NamedRun:
    """A run whose sequences are names."""

    sequences: Sequence[str]

    def only(self, numbers: Sequence[int]) -> "NamedRun":
        return NamedRun([self.sequences[number] for number in numbers])

    def described(self, number: int, index: int) -> str:
        return f"{self.sequences[number]} up to {index}"


def test_a_difference_is_found_in_the_first_round_that_has_it() -> None:
    kafka = [[{"size": 1, "offset": 0}, {"size": 0, "offset": 0}] for _ in range(3)]
    ours = [
        [{"size": 1, "offset": 0}, {"size": 0, "offset": 0}],
        [{"size": 2, "offset": 0}, {"size": 0, "offset": 0}],
        [{"size": 3, "offset": 1}, {"size": 0, "offset": 5}],
    ]
    assert differences(kafka, ours) == [(0, 1, "size", 1, 2), (1, 2, "offset", 0, 5)]


def test_only_a_sequence_that_differs_again_counts() -> None:
    always, prefixes, lines = {"b"}, list[str](), list[str]()

    def play(run: NamedRun, prefix: str) -> tuple[Seen, Seen]:
        prefixes.append(f"{prefix}: {''.join(run.sequences)}")
        differing = always | ({"c"} if prefix.endswith("first") else set())
        kafka = [[{"offset": 0} for _ in run.sequences]]
        return kafka, [[{"offset": int(name in differing)} for name in run.sequences]]

    runs = {4: NamedRun("abc"), 5: NamedRun("a")}
    assert count_differing(runs, play, lines.append) == 1
    assert prefixes == ["4-first: abc", "4-again: bc", "5-first: a"]
    assert lines[-2:] == ["b up to 0\n  offset: Kafka 0, ours 1", "seed 5, first: 0 of 1 differ"]
