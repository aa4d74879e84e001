"""Play random changes of replicated topics with both clusters: `scripts/compare --replicas 3`."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from tests.differential.clusters import ComparedCluster, Setup
from tests.differential.played_runs import Seen, count_differing
from tests.differential.replica_rounds import (
    BROKERS,
    CONFIG,
    ReplicaPlay,
    ReplicaRun,
    random_run,
)
from tests.differential.unclean_rounds import random_unclean_run

SEQUENCES_PER_SEED, ROUNDS = 24, 12
SETUP = Setup(brokers=len(BROKERS), config=CONFIG)
KEPT = Path(__file__).with_name("replica_runs.json")
"""Some sequences of lost ends, and what Apache Kafka said of them."""
KEPT_SEQUENCES, KEPT_ROUNDS = 8, 16
RUNS = {"high-watermarks": random_run, "lost-ends": random_unclean_run}
"""What makes the runs of a seed, by what they are about."""
_AGREEMENT_TIMEOUT_S = 40
_REPLICATION_TIMEOUT_S = 3
_POLL_S = 0.2

Said = TypeVar("Said")


@dataclass(frozen=True, slots=True)
class KeptReplicaRun:
    """A run with what Kafka said."""

    run: ReplicaRun
    seen: Seen

    @classmethod
    def load(cls) -> "KeptReplicaRun":
        """Return what is kept."""
        return msgspec.json.decode(KEPT.read_bytes(), type=cls)


def keep(kafka: ComparedCluster, seed: int, tell: Callable[[str], object]) -> None:
    """Play a run on Kafka, and keep it with what Kafka said."""
    run = random_unclean_run(seed, KEPT_SEQUENCES, KEPT_ROUNDS)
    (seen,) = play_on((kafka,), run, "kept", tell)
    KEPT.write_bytes(msgspec.json.encode(asdict(KeptReplicaRun(run, seen))) + b"\n")


def compare_replicas(
    kafka: ComparedCluster,
    ours: ComparedCluster,
    seeds: Iterable[int],
    tell: Callable[[str], object],
) -> int:
    """Compare the runs of some seeds; return how many sequences differ."""

    count = 0
    for about, make_run in RUNS.items():

        def play(run: ReplicaRun, prefix: str, about: str = about) -> tuple[Seen, Seen]:
            theirs, own = play_on((kafka, ours), run, f"{about}-{prefix}", tell)
            return theirs, own

        runs = {seed: make_run(seed, SEQUENCES_PER_SEED, ROUNDS) for seed in seeds}
        count += count_differing(runs, play, tell)
    return count


def play_on(
    clusters: Sequence[ComparedCluster],
    run: ReplicaRun,
    prefix: str,
    tell: Callable[[str], object],
) -> list[Seen]:
    """Play a run on all clusters at once, round by round, and return what each of them says."""
    plays = [ReplicaPlay(cluster, prefix) for cluster in clusters]
    try:
        for play in plays:
            play.create(run.sequences)
        for index, move in enumerate(run.moves):
            if move is not None:
                for play in plays:
                    play.move(*move)
            partitions = _agreed(plays, ReplicaPlay.partitions, _AGREEMENT_TIMEOUT_S)
            tell(f"round {index + 1} of {len(run.moves)}: {move or 'no broker moves'}")
            operations = [sequence.operations[index] for sequence in run.sequences]
            answers = [play.do(operations) for play in plays]
            # A high watermark that must stand has time to move.
            time.sleep(max(cluster.settle_s for cluster in clusters))
            looks = _agreed(plays, ReplicaPlay.look, _REPLICATION_TIMEOUT_S)
            for play, described, answered, look in zip(
                plays, partitions, answers, looks, strict=True
            ):
                play.seen.append(
                    [
                        {"partition": described[number], "answer": answered[number], **look[number]}
                        for number in range(len(run.sequences))
                    ]
                )
    finally:
        for play in plays:
            play.close()
    return [play.seen for play in plays]


def _agreed(
    plays: list[ReplicaPlay], ask: Callable[[ReplicaPlay], list[Said]], timeout_s: float
) -> list[list[Said]]:
    """Return what the clusters say, once they say the same or the time is over."""
    deadline_s = time.monotonic() + timeout_s
    while True:
        said = [ask(play) for play in plays]
        if all(other == said[0] for other in said) or time.monotonic() > deadline_s:
            return said
        time.sleep(_POLL_S)
