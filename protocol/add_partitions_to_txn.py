"""AddPartitionsToTxn of clients without the schema's codec: they send it for most transactions.

Versions from 4 on are those of brokers, which carry several transactions.

Source: AddPartitionsToTxnRequest.json and AddPartitionsToTxnResponse.json.
"""

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple, TypeAlias

from protocol.short_fields import (
    COUNT_MAX,
    MALFORMED,
    end_of_tags,
    read_compact_count,
    read_compact_text,
    read_count,
    read_text,
    write_compact_text,
    write_count,
    write_text,
)

FLEXIBLE_VERSION_MIN = 3
BATCH_VERSION_MIN = 4

_PRODUCER = Struct(">qh")
_INDEX = Struct(">i")
_RESULT = Struct(">ih")
_FLEXIBLE_RESULT = Struct(">ihx")
_NO_THROTTLE_TIME = bytes(4)

TopicResults: TypeAlias = tuple[str, Sequence[tuple[int, int]]]
"""The name of a topic, and its partitions with an error code each."""


class ShortTopic(NamedTuple):
    """The partitions of a topic."""

    name: str
    partitions: list[int]


class ShortAddPartitions(NamedTuple):
    """An AddPartitionsToTxn request with the partitions of one transaction."""

    v3_and_below_transactional_id: str
    v3_and_below_producer_id: int
    v3_and_below_producer_epoch: int
    v3_and_below_topics: list[ShortTopic]


def read_add_partitions(
    api_version: int, frame: bytes | bytearray, start: int, end: int
) -> ShortAddPartitions | None:
    """Return the request in `frame[start:end]`, or None if the schema's codec has to read it."""
    if api_version >= BATCH_VERSION_MIN:
        return None
    is_flexible = api_version >= FLEXIBLE_VERSION_MIN
    read, count = (
        (read_compact_text, read_compact_count) if is_flexible else (read_text, read_count)
    )
    topics: list[ShortTopic] = []
    left_count = COUNT_MAX
    try:
        transactional_id, position = read(frame, start)
        producer_id, producer_epoch = _PRODUCER.unpack_from(frame, position)
        topic_count, position = count(frame, position + _PRODUCER.size)
        for _ in range(topic_count):
            name, position = read(frame, position)
            partition_count, position = count(frame, position)
            left_count -= partition_count
            if name is None or left_count < 0:
                return None
            partitions_end = position + _INDEX.size * partition_count
            partitions = [
                _INDEX.unpack_from(frame, at)[0]
                for at in range(position, partitions_end, _INDEX.size)
            ]
            position = end_of_tags(frame, partitions_end) if is_flexible else partitions_end
            topics.append(ShortTopic(name, partitions))
        if is_flexible:
            position = end_of_tags(frame, position)
    except MALFORMED:
        return None
    if position != end or transactional_id is None:
        return None
    return ShortAddPartitions(transactional_id, producer_id, producer_epoch, topics)


def encode_response(api_version: int, topics: Sequence[TopicResults]) -> bytes | None:
    """Return the body of the response to a short request; None if the schema has to encode it."""
    is_flexible = api_version >= FLEXIBLE_VERSION_MIN
    if (
        api_version >= BATCH_VERSION_MIN
        or len(topics) > COUNT_MAX
        or sum(len(results) for _name, results in topics) > COUNT_MAX
    ):
        return None
    tags, layout = (b"\x00", _FLEXIBLE_RESULT) if is_flexible else (b"", _RESULT)
    parts = [_NO_THROTTLE_TIME, write_count(len(topics), is_flexible=is_flexible)]
    for name, results in topics:
        text = write_compact_text(name) if is_flexible else write_text(name)
        if text is None:
            return None
        parts += [text, write_count(len(results), is_flexible=is_flexible)]
        parts += [layout.pack(index, error_code) for index, error_code in results]
        parts.append(tags)
    return b"".join([*parts, tags])
