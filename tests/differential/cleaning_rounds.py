"""Random records of compacted topics, and what both clusters leave of them.

The rounds are those of `log_rounds.py`. The log cleaner looks at the logs within a wait.
"""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from protocol.api_keys import ApiKey
from protocol.batch_builder import BatchBuilder, stamp_producer
from protocol.errors import ErrorCode
from protocol.records import COMPRESSION_MASK, DELETE_HORIZON_FLAG
from tests.differential.log_rounds import (
    HOUR_MS,
    LONG_WAIT_MS,
    SHORT_TIME_MS,
    LogPlay,
    LogRun,
    LogSequence,
    Operation,
)

CLEANING_WAIT_MS = 600
_FETCHED_BYTES_MAX = 64 << 20
_TRIES = 100


@dataclass(slots=True)
class _Producer:
    producer_id: int
    epoch: int
    sequence: int = 0
    is_in_transaction: bool = False


@dataclass
class CleaningPlay(LogPlay):
    """Plays a run of compacted topics. Its operations are those of `LogPlay`, and two more.

    - `append`: a compression, the name of a producer or None, and records. A record is a key, the
      size of its value or None for a tombstone, and a timestamp. A name that begins with `t` is a
      transactional id.
    - `end`: the name of a producer, and whether its transaction is committed.
    """

    _producers: dict[tuple[str, str], _Producer] = field(init=False, default_factory=dict)
    _serial: int = field(init=False, default=0)
    """Number of the last record: the values differ."""
    _has_compressed: set[str] = field(init=False, default_factory=set)
    """Topics in which a batch was compressed."""

    def _append(
        self, name: str, compression: str, producer: str | None, records: Sequence[Any]
    ) -> Any:
        builder = BatchBuilder(compression, 1 << 21)
        for key, size_bytes, timestamp in records:
            self._serial += 1
            value = None if size_bytes is None else (b"%d-" % self._serial).ljust(size_bytes, b"-")
            builder.append(self._time_ms(timestamp), key and key.encode(), value, ())
        batch = builder.build()
        transactional_id = None
        if producer is not None:
            sender = self._producer(name, producer)
            is_transactional = producer.startswith("t")
            if is_transactional:
                transactional_id = f"{name}-{producer}"
                self._begin(name, transactional_id, sender)
            batch = stamp_producer(
                batch,
                sender.producer_id,
                sender.epoch,
                sender.sequence,
                is_transactional=is_transactional,
            )
            sender.sequence += len(records)
        partition = {"index": 0, "records": {"hex": batch.hex()}}
        produced = self._ask(
            ApiKey.PRODUCE,
            9,
            transactional_id=transactional_id,
            acks=-1,
            timeout_ms=9000,
            topic_data=[{"name": name, "partition_data": [partition]}],
        )
        found = produced["responses"][0]["partition_responses"][0]
        return [found["error_code"], found["base_offset"], found["log_start_offset"]]

    def _end(self, name: str, producer: str, is_committed: bool) -> Any:
        sender = self._producers.get((name, producer))
        if sender is None or not sender.is_in_transaction:
            return None
        sender.is_in_transaction = False
        ended = self._ask(
            ApiKey.END_TXN,
            3,
            transactional_id=f"{name}-{producer}",
            producer_id=sender.producer_id,
            producer_epoch=sender.epoch,
            committed=is_committed,
        )
        return ended["error_code"]

    def _producer(self, name: str, producer: str) -> _Producer:
        if (name, producer) not in self._producers:
            transactional_id = f"{name}-{producer}" if producer.startswith("t") else None
            made = self._asked_until_free(
                ApiKey.INIT_PRODUCER_ID,
                3,
                transactional_id=transactional_id,
                transaction_timeout_ms=600_000,
            )
            assert made["error_code"] == 0, made
            self._producers[name, producer] = _Producer(made["producer_id"], made["producer_epoch"])
        return self._producers[name, producer]

    def _begin(self, name: str, transactional_id: str, sender: _Producer) -> None:
        if not sender.is_in_transaction:
            self._asked_until_free(
                ApiKey.ADD_PARTITIONS_TO_TXN,
                3,
                v3_and_below_transactional_id=transactional_id,
                v3_and_below_producer_id=sender.producer_id,
                v3_and_below_producer_epoch=sender.epoch,
                v3_and_below_topics=[{"name": name, "partitions": [0]}],
            )
            sender.is_in_transaction = True

    def _asked_until_free(self, api_key: ApiKey, version: int, **arguments: Any) -> Any:
        """Ask again while the transaction before ends, or the coordinator is loaded."""
        busy = {ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
        for _ in range(_TRIES):
            answer = self._ask(api_key, version, **arguments)
            partitions = [
                partition["partition_error_code"]
                for topic in answer.get("results_by_topic_v3_and_below", ())
                for partition in topic["results_by_partition"]
            ]
            if not busy & {answer.get("error_code"), *partitions}:
                break
            time.sleep(self.cluster.settle_s or 0.01)
        return answer

    def _look(self, name: str) -> dict[str, Any]:
        self._wait(0)  # Retention may be due while Kafka is asked for topic after topic.
        seen = super()._look(name)
        batches = self._fetched(name)
        if any(batch["attributes"] & COMPRESSION_MASK for batch in batches):
            self._has_compressed.add(name)
        if name in self._has_compressed:
            del seen["size"]  # their encoders differ
        names = {
            sender.producer_id: producer
            for (topic, producer), sender in self._producers.items()
            if topic == name
        }
        seen["batches"] = [self._told(batch, names) for batch in batches]
        return seen

    def _fetched(self, name: str) -> list[dict[str, Any]]:
        """Return all batches of a topic; one Fetch of Kafka reads one segment."""
        batches: list[dict[str, Any]] = []
        offset = self._offset(name, -2)[1]
        while True:
            partition = {
                "partition": 0,
                "current_leader_epoch": -1,
                "fetch_offset": offset,
                "partition_max_bytes": _FETCHED_BYTES_MAX,
            }
            fetched = self._ask(
                ApiKey.FETCH,
                11,
                replica_id=-1,
                max_wait_ms=0,
                min_bytes=1,
                max_bytes=_FETCHED_BYTES_MAX,
                session_epoch=-1,
                topics=[{"topic": name, "partitions": [partition]}],
            )
            found = fetched["responses"][0]["partitions"][0]
            if not found["records"]:
                return batches
            batches += found["records"]
            offset = batches[-1]["base_offset"] + batches[-1]["last_offset_delta"] + 1

    def _told(self, batch: Mapping[str, Any], names: Mapping[int, str]) -> list[Any]:
        has_horizon = batch["attributes"] & DELETE_HORIZON_FLAG
        base_time = "horizon" if has_horizon else self._told_time(batch["base_timestamp"])
        records = [
            [
                record["offset"],
                self._told_time(record["timestamp"]),
                record["key"],
                self._told_value(record["value"]),
            ]
            for record in batch["records"]
        ]
        return [
            batch["base_offset"],
            batch["last_offset_delta"],
            batch["attributes"],
            base_time,
            self._told_time(batch["max_timestamp"]),
            names.get(batch["producer_id"]),
            batch["producer_epoch"],
            batch["base_sequence"],
            batch["records_count"],
            records,
        ]

    def _told_value(self, value: Any) -> Any:
        """Return number and size of a value that a run has appended, else the value itself."""
        return [value.partition("-")[0], len(value)] if isinstance(value, str) else value


# What is tried ------------------------------------------------------------------------------

_KEYS = ("a", "b", "c", "d")
_SIZES = (10, 10, 1000, 300_000)
_TIMES: tuple[int | str, ...] = (-1, 0, "-5h", "-4h", "-3.5h", "-3h", "-2h", "-1h", "+0.5h")
_LAGS_MS: tuple[tuple[int, int], ...] = (
    *((0, SHORT_TIME_MS), (0, HOUR_MS * 9 // 2), (SHORT_TIME_MS, 24 * HOUR_MS)),
    *((HOUR_MS * 3 // 2, 24 * HOUR_MS), (HOUR_MS * 3 // 2, HOUR_MS * 9 // 2)),
)
_COMPRESSIONS = ("none", "none", "gzip", "snappy", "lz4", "zstd")
_CONFIGS = {
    "compression.type": ("producer", "producer", "uncompressed", "gzip", "zstd", "lz4", "snappy"),
    "message.timestamp.type": ("CreateTime", "CreateTime", "LogAppendTime"),
    "segment.bytes": (str(1 << 20), str(3 << 20)),
    "segment.ms": (str(SHORT_TIME_MS), str(HOUR_MS * 3 // 4), str(HOUR_MS * 3 // 2)),
    "min.cleanable.dirty.ratio": ("0.01", "0.1", "0.3", "0.5", "0.7", "0.9"),
    "delete.retention.ms": ("0", "0", str(SHORT_TIME_MS), str(24 * HOUR_MS)),
    "retention.ms": ("-1", str(HOUR_MS * 9 // 2), str(SHORT_TIME_MS)),
    "retention.bytes": ("-1", "1000", "1000000"),
}


def random_cleaning_run(seed: int, topics: int, rounds: int) -> LogRun:
    """Return a run of this many sequences; the same for the same arguments."""
    chance = random.Random(seed)
    sequences = [_random_sequence(chance, rounds) for _ in range(topics)]
    waits_ms = [CLEANING_WAIT_MS] * rounds
    for index in chance.sample(range(rounds), rounds // 5):
        waits_ms[index] = LONG_WAIT_MS
    return LogRun(sequences, waits_ms)


def _random_sequence(chance: random.Random, rounds: int) -> LogSequence:
    policy = chance.choice(("compact", "compact", "compact,delete"))
    config = {"cleanup.policy": policy, "segment.ms": str(HOUR_MS * 3 // 4)}
    config |= _random_config(chance, chance.randint(2, 6))
    if chance.random() < 0.4:
        least_ms, most_ms = chance.choice(_LAGS_MS)
        config |= {"min.compaction.lag.ms": str(least_ms), "max.compaction.lag.ms": str(most_ms)}
    times = chance.sample(_TIMES, chance.randint(2, 4))
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
    if kind < 0.05:
        return ["alter", _random_config(chance, 1)]
    if kind < 0.1:
        return ["delete_records", chance.choice((-1, 1, 3, 5, 8, 13))]
    if kind < 0.3:
        return ["end", chance.choice(("t0", "t1")), chance.random() < 0.5]
    producer = chance.choice((None, None, "p0", "p1", "t0", "t0", "t1"))
    records = []
    usual = chance.choice(times)
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        size_bytes = None if chance.random() < 0.25 else chance.choice(sizes)
        records.append([chance.choice(_KEYS), size_bytes, chance.choice((usual, *times))])
    return ["append", chance.choice(_COMPRESSIONS), producer, records]
