"""The records of a synthetic topic: those of an offset depend on the offset and the topic only.

A batch begins at each multiple of the records of a batch. The values of the batches repeat: a few
`BatchTemplate`s are kept, and base offset, timestamps and keys are written for each read. Keys that
are drawn do not repeat with the values.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

from broker.cluster.key_numbers import number_drawer
from broker.config.synthetic_keys import (
    KEPT_BYTES_MAX,
    VALUE_BYTES_MAX,
    Distribution,
    key_distribution,
    mean_bytes,
    value_distribution,
)
from protocol.batch_template import BatchTemplate
from protocol.records import COMPRESSION_NAMES

TIMESTAMP_MAX = 2**63 - 1
COUNTER_DIGITS = 19
"""Digits of a key that counts: those of the largest offset."""
_LETTERS = bytes(65 + number % 26 for number in range(256))
"""Values are capital letters, as those of kafka-producer-perf-test: they can be compressed."""


class SyntheticRecords:
    """The batches of all partitions of a topic, by their numbers from the start of the offsets."""

    def __init__(self, topic_name: str, config: Mapping[str, Any]) -> None:
        """`config` has the values of `SYNTHETIC_KEYS`."""
        self.start_offset: Final[int] = config["synthetic.log.start.offset"]
        self.end_offset: Final[int] = config["synthetic.log.end.offset"]
        self.batch_records: Final[int] = config["synthetic.batch.records"]
        self._first_number: int = self.start_offset // self.batch_records
        values = value_distribution(config["synthetic.value.size"])
        keys = key_distribution(config["synthetic.key"])
        assert values is not None  # checked by the configuration
        assert keys is not None
        self._value_sizes = values
        batch_bytes = max(1, int(self.batch_records * mean_bytes(values)))
        distinct_max = max(1, KEPT_BYTES_MAX // batch_bytes)
        self._distinct: int = min(config["synthetic.distinct.batches"], distinct_max)
        seed: int = config["synthetic.seed"]
        self._seed = f"{seed} {topic_name}"
        self._key_bytes, self._new_keys = _keys_of(keys, self._seed)
        self._codec = COMPRESSION_NAMES.index(config["synthetic.compression.type"])
        self._base_timestamp_ms: int = config["synthetic.base.timestamp.ms"]
        self._records_per_s: int = config["synthetic.records.per.second"]
        self._deltas_ms: list[int] = [
            index * 1000 // self._records_per_s for index in range(self.batch_records)
        ]
        self._templates: dict[tuple[int, int], BatchTemplate] = {}
        self._shifts: dict[int, int] = {}

    def template(self, partition_index: int, number: int, count: int) -> BatchTemplate:
        """Return what the first `count` records of a batch are made of."""
        shift = self._shifts.get(partition_index)
        if shift is None:
            shift = _seeded(f"{self._seed} {partition_index}").randrange(self._distinct)
            self._shifts[partition_index] = shift
        key = (number + shift) % self._distinct, count
        template = self._templates.get(key)
        if template is None:
            template = self._templates[key] = self._make(*key)
        return template

    def batch(self, partition_index: int, number: int, template: BatchTemplate) -> bytes:
        """Return a batch as its partition has it; `template` says how many records it has."""
        offset = number * self.batch_records
        keys: Sequence[bytes] = ()
        if self._new_keys is not None:
            # All keys of a batch are drawn, so that a record has the same one in a shorter batch.
            keys = self._new_keys(partition_index, offset, self.batch_records)[: template.count]
        return template.batch(offset, self._batch_timestamp(number), keys)

    def first_number_from(self, timestamp_ms: int) -> int:
        """Return the number of the first batch that has a timestamp of at least `timestamp_ms`.

        It may be behind the last batch.
        """
        last_delta, end = self._deltas_ms[-1], self.end_offset // self.batch_records + 1
        numbers = range(self._first_number, end)
        latest = bisect_left(
            numbers, timestamp_ms, key=lambda number: self._batch_timestamp(number) + last_delta
        )
        return self._first_number + latest

    def _batch_timestamp(self, number: int) -> int:
        records_before = (number - self._first_number) * self.batch_records
        passed_ms = records_before * 1000 // self._records_per_s
        # 2^62 records at one per second last longer than a timestamp can say.
        latest_ms = TIMESTAMP_MAX - self._deltas_ms[-1]
        return min(self._base_timestamp_ms + passed_ms, latest_ms)

    def _make(self, index: int, count: int) -> BatchTemplate:
        random = _seeded(f"{self._seed} values {index}")
        sizes = _sizes(self._value_sizes, random, self.batch_records)
        letters = random.randbytes(sum(sizes)).translate(_LETTERS)
        values, start = [], 0
        for size in sizes[:count]:
            values.append(letters[start : start + size])
            start += size
        deltas_ms = self._deltas_ms[:count]
        return BatchTemplate(values, deltas_ms, key_bytes=self._key_bytes, codec=self._codec)


def _seeded(seed: str) -> Random:
    return Random(seed)  # noqa: S311 - the same numbers in every run


def _sizes(distribution: Distribution, random: Random, count: int) -> list[int]:
    match distribution:
        case Distribution("uniform", (int(low), int(high))):
            return [random.randint(low, high) for _ in range(count)]
        case Distribution("lognormal", (int(median), sigma)):
            drawn = (median * random.lognormvariate(0, sigma) for _ in range(count))
            return [min(VALUE_BYTES_MAX, round(size)) for size in drawn]
        case Distribution("fixed", (int(size),)):
            return [size] * count
        case _:
            raise AssertionError(f"no sizes: {distribution}")


_NewKeys = Callable[[int, int, int], list[bytes]]
"""Returns the keys of a batch by its partition, its base offset and the number of its records."""


def _keys_of(distribution: Distribution, seed: str) -> tuple[int | None, _NewKeys | None]:
    """Return how long keys are, and what makes those of a batch."""
    if distribution.name == "null":
        return None, None
    if distribution.name == "counter":
        return COUNTER_DIGITS, lambda _partition_index, base_offset, count: [
            b"%019d" % offset for offset in range(base_offset, base_offset + count)
        ]
    draw = number_drawer(distribution)
    digits = len(str(int(distribution.parameters[0]) - 1))

    def drawn(partition_index: int, base_offset: int, count: int) -> list[bytes]:
        random = _seeded(f"{seed} keys {partition_index} {base_offset}")
        return [b"%0*d" % (digits, number) for number in draw(random, count)]

    return digits, drawn
