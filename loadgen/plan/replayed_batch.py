"""Pack what a replayed event sends into the salt of its event: 62 bits."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_FRESH_BITS, _RECORDS_BITS, _BYTES_BITS, _PARTITION_BITS, _TOPIC_BITS = 1, 14, 20, 16, 11
TOPICS_MAX = 2**_TOPIC_BITS
PARTITION_MAX = 2**_PARTITION_BITS - 1
Numbers = npt.NDArray[np.int64]


class ReplayedBatch(NamedTuple):
    """A batch of a replay."""

    is_first: bool
    """Whether a new producer sends it as its first batch."""
    records: int
    record_bytes: int
    partition: int
    topic: int
    """The index of the topic in the plan."""


def unpack(salt: int) -> ReplayedBatch:
    """Return the batch in a salt."""
    salt, is_first = salt >> _FRESH_BITS, salt & 1
    salt, records = salt >> _RECORDS_BITS, salt & (1 << _RECORDS_BITS) - 1
    salt, record_bytes = salt >> _BYTES_BITS, salt & (1 << _BYTES_BITS) - 1
    topic, partition = salt >> _PARTITION_BITS, salt & PARTITION_MAX
    return ReplayedBatch(bool(is_first), records, record_bytes, partition, topic)


def packed(
    is_first: npt.NDArray[np.bool_],
    records: Numbers,
    record_bytes: Numbers,
    partitions: Numbers,
    topics: Numbers,
) -> Numbers:
    """Return the salts of batches; records are at most 10,000, their bytes at most 1,000,000."""
    salts = topics << _PARTITION_BITS | partitions
    salts = salts << _BYTES_BITS | record_bytes
    salts = salts << _RECORDS_BITS | records
    return salts << _FRESH_BITS | is_first.astype(np.int64)
