"""Play random changes of replicated topics with both clusters: `scripts/compare --replicas 3`."""

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from tests.differential.clusters import ComparedCluster, Setup
from tests.differential.played_runs import Seen, count_differing
from tests.differential.replica_rounds import (
    BROKERS,
    CONFIG,
    ReplicaPlay,
    ReplicaRun,
    random_run,
)

SEQUENCES_PER_SEED, ROUNDS = 24, 12
SETUP = Setup(brokers=len(BROKERS), config=CONFIG)
_AGREEMENT_TIMEOUT_S = 40
_REPLICATION_TIMEOUT_S = 3
_POLL_S = 0.2

Said = TypeVar("Said")


def compare_replicas(
    kafka: ComparedCluster,
    ours: ComparedCluster,
    seeds: Iterable[int],
    tell: Callable[[str], object],
) -> int:
    """Compare the runs of some seeds; return how many sequences differ."""

    def play(run: ReplicaRun, prefix: str) -> tuple[Seen, Seen]:
        return play_on_both(kafka, ours, run, f"replicas-{prefix}", tell)

    runs = {seed: random_run(seed, SEQUENCES_PER_SEED, ROUNDS) for seed in seeds}
    return count_differing(runs, play, tell)


def play_on_both(
    kafka: ComparedCluster,
    ours: ComparedCluster,
    run: ReplicaRun,
    prefix: str,
    tell: Callable[[str], object],
) -> tuple[Seen, Seen]:
    """Play a run on both clusters, round by round, and return what Kafka and ours say."""
    plays = [ReplicaPlay(cluster, prefix) for cluster in (kafka, ours)]
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
            time.sleep(kafka.settle_s)  # A high watermark that must stand has time to move.
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
    return plays[0].seen, plays[1].seen


def _agreed(
    plays: list[ReplicaPlay], ask: Callable[[ReplicaPlay], list[Said]], timeout_s: float
) -> list[list[Said]]:
    """Return what both clusters say, once they say the same or the time is over."""
    deadline_s = time.monotonic() + timeout_s
    while True:
        said = [ask(play) for play in plays]
        if said[0] == said[1] or time.monotonic() > deadline_s:
            return said
        time.sleep(_POLL_S)
