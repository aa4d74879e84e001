"""Recognise Produce requests like an earlier one.

A `RequestShape` has what the ordinary path (`broker/handlers/k00_produce.py`) would find out about
a request again: topics, partitions and their settings.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from struct import Struct
from typing import Any, NamedTuple, TypeAlias

from broker.cluster.cluster import Cluster
from broker.cluster.partition_log import PartitionLog
from broker.cluster.topics import Partition, Topic
from broker.produce.append import ACKS_ALL
from broker.produce.batch_check import ZSTD_PRODUCE_VERSION_MIN
from broker.produce.batch_layout import BatchLayout
from protocol import codec, produce, records
from protocol.compression import ZSTD
from protocol.pacing import LOOK_EVERY
from protocol.produce_template import API_BYTES, SuccessResponse, request_pieces
from protocol.records import TRANSACTIONAL_FLAG

_TIMESTAMP_MAX = 2**63 - 1
INDEX_BYTES = 4
"""The end of the piece before a topic's first batch: the index of its partition."""
VARINT_BYTES_MAX = 3
"""Of a size field in flexible versions: batches from 2 MiB on take the ordinary path."""
_SIZE_BYTES, _START_BYTES = 4, 12
"""Size field of other versions; base offset and length."""
_INDEX = Struct(">i").unpack


class Target(NamedTuple):
    """One partition of a shape, and the bytes of the request before the size of its batch."""

    piece: bytes
    topic: Topic
    partition: Partition
    batch_bytes_max: int
    timestamp_after_max_ms: int


Layouts: TypeAlias = tuple[tuple[Callable[[bytes | bytearray, int], tuple[Any, ...]], int], ...]
"""By the number of bytes of a batch's size field: how a request goes on from a piece.

- A function that returns the piece, what `BatchStart` ends with, and what a batch has behind its
  leader epoch.
- Where the bytes begin that the CRC covers, counted from the piece.

A plain tuple, for the hot path.
"""
BatchStart: TypeAlias = tuple[int, int, int, bytes]
"""What all batches of one size begin with.

- How many bytes the size field has.
- The length of the batch.
- How many bytes its CRC covers.
- The bytes of size field, base offset and length.
"""
Row: TypeAlias = tuple[Layouts, bytes, Partition, PartitionLog]
"""What every request looks at: layouts, piece, partition and log of a target."""


@dataclass(slots=True, eq=False)
class RequestShape:
    """What equal requests have in common while `Cluster.produce_version` is `produce_version`."""

    produce_version: int
    key: bytes
    """The first piece; with one partition, without the index of that."""
    api: bytes
    """API key and version."""
    api_version: int
    client_id: str | None
    acks: int
    targets: tuple[Target, ...]
    suffix: bytes
    """The bytes behind the last batch."""
    response: SuccessResponse
    frame_bytes_max: int
    attributes_min: int
    attributes_max: int
    is_flexible: bool
    transactional_id: str | None
    """With one, all batches have to belong to its transaction."""
    is_transactional: bool
    is_used: bool = False
    """Whether another request had this shape."""
    rows: tuple[Row, ...] = field(init=False)
    batch_bytes_max: int = field(init=False)
    """What no topic refuses, as also the next one."""
    timestamp_after_max_ms: int = field(init=False)
    can_free: bool = field(init=False)
    """Whether a batch may free older ones."""
    logs: tuple[PartitionLog, ...] = field(init=False)
    leader_epochs: tuple[int, ...] = field(init=False)
    layouts: dict[int, BatchLayout] = field(default_factory=dict)
    """Those of requests of several partitions, by their size in bytes."""
    latest_bytes: int = 0
    """The size of the latest request that had none of them."""
    end_offsets: Sequence[int] = ()
    """Where the logs ended behind the batches that were appended last."""
    latest_start: BatchStart = field(init=False)
    """That of the latest batch: the next one often has the same size."""

    def __post_init__(self) -> None:
        targets, is_flexible = self.targets, self.is_flexible
        self.rows = tuple(
            (_layouts(len(piece), is_flexible=is_flexible), piece, partition, partition.log)
            for piece, _topic, partition, _bytes_max, _after_max_ms in targets
        )
        self.logs = tuple(target.partition.log for target in targets)
        self.leader_epochs = tuple(target.partition.leader_epoch for target in targets)
        self.batch_bytes_max = min(target.batch_bytes_max for target in targets)
        self.timestamp_after_max_ms = min(target.timestamp_after_max_ms for target in targets)
        self.can_free = any(target.topic.retention_bytes >= 0 for target in targets)
        self.latest_start = 1 if is_flexible else 4, 0, 0, b""


def shape_of(
    cluster: Cluster, broker_id: int, frame: bytes | bytearray, start: int, end: int
) -> RequestShape | None:
    """Return the shape of a Produce request that was handled; None for one with special rules.

    Those are requests for topics whose rules concern single records.
    """
    header = codec.decode_header(frame, start, end)
    version, position = header.api_version, header.end
    is_flexible = version >= produce.FLEXIBLE_VERSION_MIN
    if is_flexible:
        position = codec.skip_tagged_fields(frame, position, end)
    request = produce.decode_request(version, frame, position, end)
    if request.acks not in {-1, 0, 1}:
        return None
    pieces = request_pieces(version, frame, start, end, request)
    if pieces is None or not 2 <= len(pieces) <= LOOK_EVERY:
        return None
    targets: list[Target] = []
    for topic_data in request.topics:
        topic = _topic(cluster, topic_data, broker_id)
        for index, _start, _end in topic_data.partitions:
            if topic is None:
                return None
            partition = appendable_partition(topic, index, broker_id, request.acks)
            if partition is None:
                return None
            bytes_max = min(topic.max_message_bytes, topic.segment_bytes)
            after_max_ms = topic.timestamp_after_max_ms
            piece = pieces[len(targets)]
            targets.append(Target(piece, topic, partition, bytes_max, after_max_ms))
    has_all = all(topic_data.partitions for topic_data in request.topics)
    if not has_all or len({target.partition for target in targets}) < len(targets):
        return None
    first_piece = targets[0].piece
    attributes_min = 0 if request.transactional_id is None else TRANSACTIONAL_FLAG
    codec_max = ZSTD if version >= ZSTD_PRODUCE_VERSION_MIN else ZSTD - 1
    return RequestShape(
        cluster.produce_version,
        first_piece if len(targets) > 1 else first_piece[:-INDEX_BYTES],
        bytes(frame[start : start + API_BYTES]),
        version,
        header.client_id,
        request.acks,
        tuple(targets),
        pieces[-1],
        SuccessResponse(version, request),
        min(header.end - start + codec.LONG_BODY_BYTES, cluster.config["socket.request.max.bytes"]),
        attributes_min,
        attributes_min + codec_max,
        is_flexible,
        request.transactional_id,
        request.transactional_id is not None,
    )


def shape_of_partition(
    shape: RequestShape, broker_id: int, index_bytes: bytes
) -> RequestShape | None:
    """Return the shape of the same request for another partition of its only topic.

    None if the broker does not lead it, or it has too few replicas in sync.
    """
    (target,) = shape.targets
    topic = target.topic
    (index,) = _INDEX(index_bytes)
    partition = appendable_partition(topic, index, broker_id, shape.acks)
    if partition is None:
        return None
    _, _, _, bytes_max, after_max_ms = target
    return RequestShape(
        shape.produce_version,
        shape.key,
        shape.api,
        shape.api_version,
        shape.client_id,
        shape.acks,
        (Target(shape.key + index_bytes, topic, partition, bytes_max, after_max_ms),),
        shape.suffix,
        shape.response.for_partition(index_bytes),
        shape.frame_bytes_max,
        shape.attributes_min,
        shape.attributes_max,
        shape.is_flexible,
        shape.transactional_id,
        shape.is_transactional,
        is_used=True,
    )


def appendable_partition(topic: Topic, index: int, broker_id: int, acks: int) -> Partition | None:
    """Return a partition that the broker leads, if enough replicas are in sync for `acks`."""
    partitions = topic.partitions  # not through a method, because random partitions come here
    if not 0 <= index < len(partitions):
        return None
    partition = partitions[index]
    if partition.leader_id != broker_id:
        return None
    if (
        acks == ACKS_ALL
        and topic.min_insync_replicas > 1  # a leader is in sync; its ISR is one object more to read
        and len(partition.isr) < topic.min_insync_replicas
        and topic.has_too_few_in_sync(partition)
    ):
        return None
    return partition


def _topic(cluster: Cluster, topic_data: produce.TopicData, broker_id: int) -> Topic | None:
    """Return a topic that stores batches as they are, without a look at their records."""
    if topic_data.topic_id is None:
        topic = cluster.topics.get(topic_data.name)
    else:
        topic = cluster.topics.get_by_id(topic_data.topic_id)
    topic = None if topic is None else topic.on_broker(broker_id)
    if (
        topic is None
        or topic.is_internal
        or topic.is_compacted
        or topic.is_log_append_time
        or topic.timestamp_before_max_ms != _TIMESTAMP_MAX
    ):
        return None
    return topic


@lru_cache(maxsize=256)
def _layouts(piece_bytes: int, *, is_flexible: bool) -> Layouts:
    return tuple(
        (
            # Without a sign, more attributes than the known ones and a negative delta fit nothing.
            Struct(f">{piece_bytes}s{size_bytes + _START_BYTES}s4xbIHI8xqqhii").unpack_from,
            piece_bytes + size_bytes + records.CRC_START,
        )
        for size_bytes in range(VARINT_BYTES_MAX + 1 if is_flexible else _SIZE_BYTES + 1)
    )
