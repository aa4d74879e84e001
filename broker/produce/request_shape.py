"""Recognise Produce requests like an earlier one, and batches that will be appended.

A `RequestShape` has what the ordinary path (`broker/handlers/k00_produce.py`) would find out about
a request again: topics, partitions and their settings. `fitting_batches` accepts only batches that
the ordinary path appends. It gives no reason for others: only the ordinary path knows the rules.
"""

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from typing import NamedTuple, TypeAlias

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition, Topic
from broker.produce.append import ACKS_ALL, store_batch
from broker.produce.batch_check import ZSTD_PRODUCE_VERSION_MIN
from broker.produce.transactional_batches import verify_produced
from producer_state.rules import APPEND
from protocol import codec, produce, records
from protocol.checksum import crc32c
from protocol.compression import ZSTD
from protocol.errors import ErrorCode
from protocol.pacing import LOOK_EVERY
from protocol.produce_template import API_BYTES, CONSTANT_AT, SuccessResponse, request_pieces
from protocol.records import TRANSACTIONAL_FLAG

_TIMESTAMP_MAX = 2**63 - 1
INDEX_BYTES = 4
"""The end of the piece before a topic's first batch: the index of its partition."""
_INDEX = Struct(">i").unpack
_SIZE = Struct(">i").unpack_from
# As in `records.read_header`, without leader epoch and base timestamp.
_HEADER = Struct(">qi4xbIhi8xqqhii").unpack_from
_HEADER_BYTES = records.HEADER_BYTES
_PART_BYTES_MIN = _HEADER_BYTES + 5
"""The bytes behind a piece that are read without a look at the end."""
_OVERHEAD_BYTES, _MAGIC, _CRC_START = (
    records.LOG_OVERHEAD_BYTES,
    records.MAGIC,
    records.CRC_START,
)


class Target(NamedTuple):
    """One partition of a shape, and the bytes of the request before the size of its batch."""

    piece: bytes
    topic: Topic
    partition: Partition
    batch_bytes_max: int
    timestamp_after_max_ms: int


FittingBatch: TypeAlias = tuple[Target, int, bytes | bytearray, tuple[int, ...]]
"""A batch that will be appended: where to, its position, the bytes that its CRC covers, its header.

A plain tuple, for the hot path.
"""

IsKnownProducer: TypeAlias = Callable[[int, int], bool]
"""Whether the quota of producer ids (KIP-936) has nothing to decide about an id at a time."""


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
    partition = topic.partition(index)
    if partition is None or partition.leader_id != broker_id:
        return None
    if (
        acks == ACKS_ALL
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


# Hot path: inlined on purpose.
def fitting_batches(  # noqa: C901, PLR0912
    shape: RequestShape,
    frame: bytes | bytearray,
    start: int,
    end: int,
    now_ms: int,
    is_known_producer: IsKnownProducer | None,
) -> list[FittingBatch] | None:
    """Return the batches of a request that has this shape; None if it has not, or one is unusual.

    It changes nothing. `belong_to_transaction` has to look at those of a transaction.
    """
    if end - start > shape.frame_bytes_max:
        return None
    batches: list[FittingBatch] = []
    position = start + CONSTANT_AT
    is_flexible, is_transactional = shape.is_flexible, shape.is_transactional
    attributes_min, attributes_max = shape.attributes_min, shape.attributes_max
    for target in shape.targets:
        piece, _topic, partition, bytes_max, timestamp_after_max_ms = target
        size_at = position + len(piece)
        if frame[position:size_at] != piece or end - size_at < _PART_BYTES_MIN:
            return None
        if not is_flexible:
            size: int = _SIZE(frame, size_at)[0]
            position = size_at + 4
        elif frame[size_at + 1] < 0x80 <= frame[size_at]:
            size = (frame[size_at] & 0x7F | frame[size_at + 1] << 7) - 1
            position = size_at + 2
        else:
            size, position = codec.read_unsigned_varint(frame, size_at)
            size -= 1
        batch_end = position + size
        if not _HEADER_BYTES <= size <= bytes_max or batch_end > end:
            return None
        header = _HEADER(frame, position)
        (
            base_offset,
            batch_length,
            magic,
            crc,
            attributes,
            last_offset_delta,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            records_count,
        ) = header
        covered = frame[position + _CRC_START : batch_end]
        if (
            base_offset
            or batch_length != size - _OVERHEAD_BYTES
            or magic != _MAGIC
            or not attributes_min <= attributes <= attributes_max
            or not 0 < records_count == last_offset_delta + 1
            or max_timestamp > now_ms + timestamp_after_max_ms
            or crc32c(covered) != crc
        ):
            return None
        if producer_id >= 0:
            if base_sequence < 0:
                return None
            if not is_transactional:
                decision = partition.producers.check(
                    producer_id, producer_epoch, base_sequence, last_offset_delta
                )
                if decision is not APPEND:
                    return None
            if is_known_producer is not None and not is_known_producer(producer_id, now_ms):
                return None
        batches.append((target, position, covered, header))
        position = batch_end
    return batches if frame[position:end] == shape.suffix else None


def belong_to_transaction(
    cluster: Cluster, shape: RequestShape, batches: list[FittingBatch], now_ms: int
) -> bool:
    """Verify fitting batches of a transactional id; return whether all of them will be appended.

    The verification changes what it changes on the ordinary path, which may repeat it.
    """
    transactional_id, api_version = shape.transactional_id, shape.api_version
    assert transactional_id is not None
    first = batches[0][3]
    for (_piece, _topic, partition, *_limits), _position, _covered, header in batches:
        _, _, _, _, _, last_offset_delta, _, producer_id, epoch, sequence, _ = header
        if producer_id != first[7] or epoch != first[8]:
            return False
        if producer_id < 0:  # it belongs to no transaction, whatever it says
            continue
        producers = partition.producers
        error_code = verify_produced(
            cluster,
            partition.leader_id,
            api_version,
            transactional_id,
            partition,
            producer_id,
            epoch,
            sequence,
            now_ms,
        )
        if error_code is not ErrorCode.NONE:
            return False
        if producers.check(producer_id, epoch, sequence, last_offset_delta, True) is not APPEND:
            return False
    return True


def store_fitting(cluster: Cluster, batch: FittingBatch, now_ms: int) -> tuple[int, int]:
    """Append a batch; return its base offset and the log start offset."""
    (_piece, topic, partition, _bytes_max, _after_max_ms), _position, covered, header = batch
    _, length, _, crc, attributes, last_offset_delta, max_timestamp, *producer, _ = header
    producer_id, epoch, sequence = producer
    log = partition.log
    base_offset = log.log_end_offset
    store_batch(
        cluster,
        topic,
        partition,
        records.stamped(base_offset, length, partition.leader_epoch, crc, covered),
        max_timestamp,
        producer_id,
        epoch,
        sequence,
        last_offset_delta,
        now_ms,
        is_transactional=attributes >= TRANSACTIONAL_FLAG,
    )
    return base_offset, log.log_start_offset
