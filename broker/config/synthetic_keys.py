# ruff: noqa: E501
"""The keys of a topic whose logs do not store what producers send. Kafka has none of them.

They are set when the topic is created, and stay: another seed would change records that consumers
have read.
"""

import math
import re
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from broker.config.keys import CLUSTER_WIDE, INT, LONG, STRING, ConfigKey
from broker.config.values import at_least, between, explained_by, one_of
from protocol.records import COMPRESSION_NAMES

STORED, DISCARDED, SYNTHETIC = "stored", "discarded", "synthetic"
"""Values of `log.records`: what was produced, nothing, or records that are made when read."""
ENDLESS = 1 << 62
"""The log end offset of a synthetic log that nobody reads to its end."""
VALUE_BYTES_MAX = 1 << 20
"""The longest value of a synthetic record; a distribution without a bound is cut there."""
BATCH_BYTES_MAX = 8 << 20
"""What the values of one synthetic batch may have on average."""
KEPT_BYTES_MAX = 64 << 20
"""What the values of all distinct batches of a topic have at most: they are in memory."""
TIMESTAMP_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z, so that two runs have the same records."""
_KEYS_MAX = 1 << 62
_EXPONENT_MAX = 10
_SIGMA_MAX = 10
_FORM = re.compile(r"([a-z]+)(?:\(([0-9.,\s]*)\))?", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,19}(\.[0-9]{1,19})?", re.ASCII)
_VALUE_FORMS = "Value must be such as 100, uniform(10,1000) or lognormal(100,0.5)"
_KEY_FORMS = "Value must be such as null, counter, uniform(1000) or zipf(1000,1.1)"


class Distribution(NamedTuple):
    """A distribution by its name, and its parameters: integers but for the last of some."""

    name: str
    parameters: tuple[float, ...] = ()


def value_distribution(text: str) -> Distribution | None:
    """Return the distribution of the sizes of values, in bytes, or None for another text.

    It is fixed(N), uniform(LOW,HIGH) with both ends, or lognormal(MEDIAN,SIGMA).
    """
    if _NUMBER.fullmatch(text):
        text = f"fixed({text})"
    found = _parsed(text)
    match found:
        case Distribution("fixed", (int(size),)) if size <= VALUE_BYTES_MAX:
            return found
        case Distribution("uniform", (int(low), int(high))) if low <= high <= VALUE_BYTES_MAX:
            return found
        case Distribution("lognormal", (int(median), sigma)) if (
            1 <= median <= VALUE_BYTES_MAX and sigma <= _SIGMA_MAX
        ):
            return found
    return None


def key_distribution(text: str) -> Distribution | None:
    """Return the distribution of keys, or None for another text.

    It is null, counter for the offset, uniform(N) or zipf(N,EXPONENT) for numbers below N.
    """
    found = _parsed(text)
    match found:
        case Distribution("null" | "counter", ()):
            return found
        case Distribution("uniform", (int(count),)) if 1 <= count <= _KEYS_MAX:
            return found
        case Distribution("zipf", (int(count), exponent)) if (
            1 <= count <= _KEYS_MAX and 0 < exponent <= _EXPONENT_MAX
        ):
            return found
    return None


def mean_bytes(distribution: Distribution) -> float:
    """Return the mean size of values in bytes, about that of `lognormal` if it is cut."""
    match distribution:
        case Distribution("lognormal", (median, sigma)):
            return min(VALUE_BYTES_MAX, median * math.exp(sigma * sigma / 2))
        case Distribution(_, parameters):
            return sum(parameters) / len(parameters)


def _parsed(text: str) -> Distribution | None:
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    name, inside = match.groups()
    numbers = [] if inside is None else [part.strip() for part in inside.split(",")]
    if not all(map(_NUMBER.fullmatch, numbers)):
        return None
    return Distribution(name, tuple(float(n) if "." in n else int(n) for n in numbers))


def _value_problem(text: str) -> str | None:
    return None if value_distribution(text) else f"{_VALUE_FORMS}, of at most {VALUE_BYTES_MAX}"


def _key_problem(text: str) -> str | None:
    return None if key_distribution(text) else _KEY_FORMS


# Described only where they are set, so that other topics are described as in Kafka.
def _key(name: str, config_type: Any, default: Any, check: Any, doc: str) -> ConfigKey:
    return _hidden(name, config_type, default, check, CLUSTER_WIDE, doc)


_hidden = partial(ConfigKey, is_mock_only=True, is_internal=True)

# fmt: off
SYNTHETIC_KEYS: tuple[ConfigKey, ...] = (
    _key("log.records",                  STRING, STORED,       one_of(STORED, DISCARDED, SYNTHETIC), "What the logs of the topic have: stored records of producers, none because they are discarded, or synthetic ones that are made when they are read."),
    _key("synthetic.seed",               LONG,   0,            None,                         "Seed of the records of a synthetic topic, with its name and the partition."),
    _key("synthetic.log.start.offset",   LONG,   0,            between(0, ENDLESS),          "First offset of each partition of a synthetic topic."),
    _key("synthetic.log.end.offset",     LONG,   ENDLESS,      between(0, ENDLESS),          "Log end offset and high watermark of each partition of a synthetic topic."),
    _key("synthetic.batch.records",      INT,    100,          between(1, 100_000),          "Records of each batch of a synthetic topic; batches begin at multiples of it."),
    _key("synthetic.distinct.batches",   INT,    64,           between(1, 4096),             "Batches after which the values of a synthetic topic repeat; the broker keeps so many of them. They are fewer if these would have more than 64 MiB."),
    _key("synthetic.value.size",        STRING, "100",        explained_by(_value_problem), "Sizes of the values of a synthetic topic: N, uniform(LOW,HIGH) or lognormal(MEDIAN,SIGMA)."),
    _key("synthetic.key",                STRING, "null",       explained_by(_key_problem),   "Keys of a synthetic topic: null, counter for the offset, or uniform(N) or zipf(N,EXPONENT) for one of N."),
    _key("synthetic.compression.type",   STRING, "none",       one_of(*COMPRESSION_NAMES),   "Compression of the batches of a synthetic topic."),
    _key("synthetic.base.timestamp.ms",  LONG,   TIMESTAMP_MS, at_least(0),                  "Timestamp of the first record of a synthetic topic."),
    _key("synthetic.records.per.second", INT,    1000,         between(1, 1_000_000_000),    "How fast the timestamps of a synthetic topic grow: so many records have those of a second."),
)
# fmt: on
_DEFAULTS = {key.name: key.default for key in SYNTHETIC_KEYS}
SYNTHETIC_NAMES = tuple(_DEFAULTS)
"""The names of these keys, in the order of their checks."""


def synthetic_problem(values: Mapping[str, Any]) -> str | None:
    """Return why parsed values of a topic contradict each other, or None."""
    log_records = values.get("log.records", STORED)
    if log_records != SYNTHETIC:
        lone = next((name for name in SYNTHETIC_NAMES[1:] if name in values), None)
        return None if lone is None else f"{lone} needs log.records={SYNTHETIC}"
    given = _DEFAULTS | {name: values[name] for name in SYNTHETIC_NAMES if name in values}
    start, end = given["synthetic.log.start.offset"], given["synthetic.log.end.offset"]
    if start > end:
        return f"synthetic.log.start.offset ({start}) > synthetic.log.end.offset ({end})"
    if "compact" in values.get("cleanup.policy", ()):
        return f"cleanup.policy=compact is not for a topic with log.records={SYNTHETIC}"
    distribution = value_distribution(given["synthetic.value.size"])
    assert distribution is not None  # checked as a value
    batch_records = given["synthetic.batch.records"]
    batch_bytes = batch_records * mean_bytes(distribution)
    if batch_bytes > BATCH_BYTES_MAX:
        return (
            f"synthetic.batch.records ({batch_records}) with such values makes batches of"
            f" {batch_bytes:.0f} bytes, and {BATCH_BYTES_MAX} is the most"
        )
    return None


def fixed_key_problem(before: Mapping[str, str], after: Mapping[str, str]) -> str | None:
    """Return why the texts of a topic's own keys cannot become others, or None."""
    for name in SYNTHETIC_NAMES:
        if before.get(name) != after.get(name):
            return f"{name} is set when a topic is created, and cannot be changed"
    return None
