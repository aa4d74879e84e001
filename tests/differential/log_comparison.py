"""Play random changes of logs with both clusters: `scripts/compare --logs 3`."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from mock_kafka import MockKafka
from tests.differential.cleaning_rounds import CleaningPlay, random_cleaning_run
from tests.differential.clusters import ComparedCluster, Setup, compared, our_config
from tests.differential.log_rounds import (
    CHECK_INTERVAL_MS,
    CONFIG,
    OUR_CONFIG,
    LogPlay,
    LogRun,
    random_run,
)
from tests.differential.played_runs import Seen, count_differing

KEPT = Path(__file__).with_name("log_runs.json")
"""Some sequences, and what Apache Kafka said of them."""
KEPT_CLEANINGS = Path(__file__).with_name("cleaning_runs.json")
SEQUENCES_PER_SEED, ROUNDS = 24, 12
KEPT_SEQUENCES, KEPT_ROUNDS = 16, 10
SETUP = Setup(config=CONFIG)


@dataclass(frozen=True, slots=True)
class Rounds:
    """What is compared: how runs are made of a seed and played; `kept` is the file of one."""

    about: str
    random_run: Callable[[int, int, int], LogRun]
    play: type[LogPlay]
    kept: Path

    def load(self) -> "KeptRun":
        """Return the run that is kept."""
        return KeptRun.load(self.kept)


CHANGES = Rounds("changes", random_run, LogPlay, KEPT)
CLEANINGS = Rounds("cleanings", random_cleaning_run, CleaningPlay, KEPT_CLEANINGS)


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run with what Kafka said: `moments` and `seen` are those of its `LogPlay`."""

    run: LogRun
    moments: Sequence[int]
    seen: Seen

    @classmethod
    def load(cls, path: Path) -> "KeptRun":
        """Return the run of a file."""
        return msgspec.json.decode(path.read_bytes(), type=cls)

    def save(self, path: Path) -> None:
        """Write it to a file."""
        path.write_bytes(msgspec.json.encode(asdict(self)) + b"\n")


@contextmanager
def our_logs() -> Iterator[MockKafka]:
    """Run our broker with a clock that stands."""
    with MockKafka(1, config={**our_config(SETUP), **OUR_CONFIG}) as ours:
        compared(ours).warm_up()
        ours.set_clock("standing")
        yield ours


def play_on_kafka(kafka: ComparedCluster, rounds: Rounds, run: LogRun, prefix: str) -> LogPlay:
    """Play a run in real time."""
    begun_ms = time.time_ns() // 1_000_000

    def wait(duration_ms: int) -> int:
        time.sleep(duration_ms / 1000)
        return time.time_ns() // 1_000_000 - begun_ms

    return rounds.play(kafka, wait, begun_ms, prefix).run(run)


def play_on_ours(
    ours: MockKafka, rounds: Rounds, run: LogRun, prefix: str, moments: Iterable[int]
) -> LogPlay:
    """Play a run with our clock at the same times; retention looks as often as Kafka's."""
    begun_ms = ours.now_ms()
    following = iter(moments)

    def wait(_duration_ms: int) -> int:
        until_ms, now_ms = begun_ms + next(following), ours.now_ms()
        while now_ms < until_ms:
            now_ms = ours.advance(ms=min(CHECK_INTERVAL_MS, until_ms - now_ms))
        return now_ms - begun_ms

    return rounds.play(compared(ours), wait, begun_ms, prefix).run(run)


def compare_logs(
    kafka: ComparedCluster,
    ours: MockKafka,
    rounds: Rounds,
    seeds: Iterable[int],
    tell: Callable[[str], object],
) -> int:
    """Compare the runs of some seeds; return how many sequences differ."""

    def play(run: LogRun, prefix: str) -> tuple[Seen, Seen]:
        topics = f"{rounds.about}-{prefix}"
        theirs = play_on_kafka(kafka, rounds, run, topics)
        return theirs.seen, play_on_ours(ours, rounds, run, topics, theirs.moments).seen

    runs = {seed: rounds.random_run(seed, SEQUENCES_PER_SEED, ROUNDS) for seed in seeds}
    return count_differing(runs, play, tell)


def keep(kafka: ComparedCluster, rounds: Rounds, seed: int) -> None:
    """Play a run on Kafka, and keep it with what Kafka said."""
    run = rounds.random_run(seed, KEPT_SEQUENCES, KEPT_ROUNDS)
    theirs = play_on_kafka(kafka, rounds, run, f"kept-{rounds.about}")
    KeptRun(run, theirs.moments, theirs.seen).save(rounds.kept)
