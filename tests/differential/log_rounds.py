"""Random changes of a log, and what both clusters say of its start, its size and its offsets.

All sequences of a run are played at the same time, each with its own topic. A round does one
operation of each sequence, waits until retention has looked, and then looks at every topic. Kafka
is played first, in real time. Our clock stands, and is moved to the same times.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from protocol.api_keys import ApiKey
from protocol.batch_builder import BatchBuilder
from tests.differential.clusters import ComparedCluster
from tests.differential.player import Link

CHECK_INTERVAL_MS = 50
CONFIG = {
    "log.retention.check.interval.ms": str(CHECK_INTERVAL_MS),
    "log.initial.task.delay.ms": "10",
    "log.cleaner.backoff.ms": str(CHECK_INTERVAL_MS),
    "log.cleaner.dedupe.buffer.size": str(4 << 20),
}
"""Keys of both clusters: whatever becomes due is done in a wait."""
OUR_CONFIG = {"log.memory.max.bytes": str(1 << 31)}
SHORT_WAIT_MS, LONG_WAIT_MS = 250, 4_000
SHORT_TIME_MS = 3_000
"""A time of a setting that is over after a long wait."""
HOUR_MS = 3_600_000
_APPENDED_MS = (-60_000, HOUR_MS // 6)
"""Differences from the begin of a run that only a broker's own time has."""
LOOKED_UP_H = (-6, -4, -3.5, -3, -2, -1, 0.1)

Operation = Sequence[Any]
"""Its name and arguments: `produce` with the size of each record and timestamps, `alter` with keys
and values, `delete_records` with an offset. A timestamp is a number, or a text with hours from the
begin of the run.
"""


@dataclass(frozen=True, slots=True)
class LogSequence:
    """What is done with one topic: one operation in each round, None for nothing."""

    config: Mapping[str, str]
    operations: Sequence[Operation | None]


@dataclass(frozen=True, slots=True)
class LogRun:
    """Sequences that are played together, and how long each round waits at its end."""

    sequences: Sequence[LogSequence]
    waits_ms: Sequence[int]

    def only(self, numbers: Sequence[int]) -> "LogRun":
        """Return a run of some of the sequences."""
        return LogRun([self.sequences[number] for number in numbers], self.waits_ms)

    def described(self, number: int, index: int) -> str:
        """Return what is done with one topic up to a round."""
        sequence = self.sequences[number]
        done = list(zip(sequence.operations, self.waits_ms, strict=True))[: index + 1]
        steps = "\n".join(f"  {operation}, then {wait_ms} ms" for operation, wait_ms in done)
        return f"{dict(sequence.config)}\n{steps}"


@dataclass(slots=True)
class LogPlay:
    """Plays a run with one cluster; `seen` has what it says of each topic after each round.

    `wait` waits for some ms, and returns how many ms have passed since the begin of the run.
    `moments` are what it returned.
    """

    cluster: ComparedCluster
    wait: Callable[[int], int]
    begun_ms: int
    prefix: str
    moments: list[int] = field(default_factory=list)
    seen: list[list[dict[str, Any]]] = field(default_factory=list)
    _link: Link = field(init=False)

    def run(self, run: LogRun) -> "LogPlay":
        """Play all rounds, and delete the topics."""
        self._link = Link(self.cluster.address(1, "PLAINTEXT"), "logs")
        names = [f"{self.prefix}-{number}" for number in range(len(run.sequences))]
        for name, sequence in zip(names, run.sequences, strict=True):
            self._create(name, sequence.config)
        while not all(map(self._described, names)):
            time.sleep(self.cluster.settle_s)
        self._wait(100)
        for index, wait_ms in enumerate(run.waits_ms):
            answers = []
            for name, sequence in zip(names, run.sequences, strict=True):
                operation = sequence.operations[index]
                answers.append(operation and self._do(name, *operation))
            self._wait(wait_ms)
            self.seen.append(
                [
                    {"answer": done, **self._look(name)}
                    for name, done in zip(names, answers, strict=True)
                ]
            )
        self._ask(ApiKey.DELETE_TOPICS, 5, topic_names=names, timeout_ms=10_000)
        self._link.close()
        return self

    def _ask(self, api_key: ApiKey, version: int, **arguments: Any) -> Any:
        return self._link.ask(api_key, version, **arguments)

    def _create(self, name: str, config: Mapping[str, str]) -> None:
        topic = {
            "name": name,
            "num_partitions": 1,
            "replication_factor": 1,
            "configs": [{"name": key, "value": value} for key, value in config.items()],
        }
        created = self._ask(ApiKey.CREATE_TOPICS, 5, topics=[topic], timeout_ms=10_000)
        assert created["topics"][0]["error_code"] == 0, created

    def _wait(self, duration_ms: int) -> None:
        self.moments.append(self.wait(duration_ms))

    def _do(self, name: str, operation: str, *arguments: Any) -> Any:
        self._wait(2)
        done: Any = getattr(self, f"_{operation}")(name, *arguments)
        return done

    def _produce(self, name: str, size_bytes: int, timestamps: Sequence[int | str]) -> Any:
        builder = BatchBuilder("none", 1 << 20)
        for timestamp in timestamps:
            builder.append(self._time_ms(timestamp), b"k", bytes(size_bytes), ())
        records = {"hex": builder.build().hex()}
        partition = {"index": 0, "records": records}
        topics = [{"name": name, "partition_data": [partition]}]
        produced = self._ask(
            ApiKey.PRODUCE, 9, transactional_id=None, acks=-1, timeout_ms=9000, topic_data=topics
        )
        found = produced["responses"][0]["partition_responses"][0]
        return [found["error_code"], found["base_offset"], found["log_start_offset"]]

    def _alter(self, name: str, config: Mapping[str, str]) -> Any:
        configs = [
            {"name": key, "config_operation": 0, "value": value} for key, value in config.items()
        ]
        resource = {"resource_type": 2, "resource_name": name, "configs": configs}
        altered = self._ask(
            ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource], validate_only=False
        )
        self._wait(100)
        return altered["responses"][0]["error_code"]

    def _delete_records(self, name: str, offset: int) -> Any:
        partition = {"partition_index": 0, "offset": offset}
        topics = [{"name": name, "partitions": [partition]}]
        deleted = self._ask(ApiKey.DELETE_RECORDS, 2, topics=topics, timeout_ms=9000)
        found = deleted["topics"][0]["partitions"][0]
        return [found["error_code"], found["low_watermark"]]

    def _look(self, name: str) -> dict[str, Any]:
        """Return what the cluster says of a topic."""
        timestamps: list[int | str] = [-2, -1, -3, 0, 5, *(f"{hours:+}h" for hours in LOOKED_UP_H)]
        seen = {str(timestamp): self._offset(name, timestamp) for timestamp in timestamps}
        seen["size"] = [part["partition_size"] for part in self._described(name)]
        return seen

    def _described(self, name: str) -> list[dict[str, Any]]:
        """Return what DescribeLogDirs says of the partition; nothing if it is not there yet."""
        topics = [{"topic": name, "partitions": [0]}]
        described = self._ask(ApiKey.DESCRIBE_LOG_DIRS, 2, topics=topics)
        return [
            partition
            for found in described["results"]
            for topic in found["topics"]
            for partition in topic["partitions"]
        ]

    def _offset(self, name: str, timestamp: int | str) -> Any:
        partition = {
            "partition_index": 0,
            "current_leader_epoch": -1,
            "timestamp": self._time_ms(timestamp),
        }
        topics = [{"name": name, "partitions": [partition]}]
        listed = self._ask(ApiKey.LIST_OFFSETS, 7, replica_id=-1, topics=topics)
        found = listed["topics"][0]["partitions"][0]
        time_ms = self._told_time(found["timestamp"])
        return [found["error_code"], found["offset"], time_ms, found["leader_epoch"]]

    def _time_ms(self, timestamp: int | str) -> int:
        if isinstance(timestamp, str):
            return self.begun_ms + round(float(timestamp.rstrip("h")) * HOUR_MS)
        return timestamp

    def _told_time(self, timestamp: int) -> int | str:
        """Return a time as a sequence has it; times of the broker are all `appended`."""
        since_ms = timestamp - self.begun_ms
        if _APPENDED_MS[0] < since_ms < _APPENDED_MS[1]:
            return "appended"
        return f"{since_ms / HOUR_MS:+g}h" if timestamp > HOUR_MS else timestamp


# What is tried ------------------------------------------------------------------------------

_SIZES = (10, 10, 1000, 60_000, 300_000, 500_000, 900_000)
_TIMES: tuple[int | str, ...] = (
    *(-1, -1, -5, -4_000_000_000, 0, 5),
    *("-5h", "-4h", "-3.5h", "-3h", "-2h", "-1h", "+0.5h"),
)
_CONFIGS = {
    "message.timestamp.type": ("CreateTime", "CreateTime", "LogAppendTime"),
    "retention.bytes": ("-1", "0", "300000", "1000000", "2500000"),
    "retention.ms": ("-1", str(HOUR_MS * 3 // 2), str(9 * HOUR_MS // 2), str(SHORT_TIME_MS)),
    "segment.bytes": (str(1 << 20), str(1 << 20), str(3 << 20)),
    "segment.ms": (str(SHORT_TIME_MS), str(HOUR_MS * 3 // 4), str(24 * HOUR_MS)),
    "segment.index.bytes": ("24", "36", "1000"),
    "index.interval.bytes": ("0", "100", "100000"),
}


def random_run(seed: int, topics: int, rounds: int) -> LogRun:
    """Return a run of this many sequences; the same for the same arguments."""
    chance = random.Random(seed)
    sequences = [_random_sequence(chance, rounds) for _ in range(topics)]
    waits_ms = [SHORT_WAIT_MS] * rounds
    for index in chance.sample(range(rounds), rounds // 5):
        waits_ms[index] = LONG_WAIT_MS
    return LogRun(sequences, waits_ms)


def _random_sequence(chance: random.Random, rounds: int) -> LogSequence:
    config = _random_config(chance, chance.randint(2, 6))
    times = chance.sample(_TIMES, chance.randint(1, 4))
    sizes = chance.sample(_SIZES, 2)
    return LogSequence(config, [_random_operation(chance, times, sizes) for _ in range(rounds)])


def _random_config(chance: random.Random, count: int) -> dict[str, str]:
    keys = chance.sample(sorted(_CONFIGS), count)
    return {key: chance.choice(_CONFIGS[key]) for key in keys}


def _random_operation(
    chance: random.Random, times: Sequence[int | str], sizes: Sequence[int]
) -> Operation | None:
    kind = chance.random()
    if kind > 0.95:
        return None
    if kind < 0.1:
        return ["alter", _random_config(chance, 1)]
    if kind < 0.2:
        return ["delete_records", chance.choice((-1, 0, 1, 2, 3, 5, 8, 1000))]
    count = chance.choice((1, 1, 2, 3))
    return ["produce", chance.choice(sizes) // count, [chance.choice(times) for _ in range(count)]]
