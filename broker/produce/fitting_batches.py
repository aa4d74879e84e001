"""Accept the batches of a request that has a known shape, if the ordinary path appends all of them.

It gives no reason for others: only the ordinary path knows the rules.
"""

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct
from struct import error as struct_error

from broker.cluster.cluster import Cluster
from broker.cluster.partition_log import append_to_logs
from broker.produce.append import store_batch
from broker.produce.batch_layout import BatchLayout, FittingBatches, IsKnownProducer
from broker.produce.request_shape import VARINT_BYTES_MAX, BatchStart, RequestShape
from broker.produce.transactional_batches import verify_produced
from producer_state.producer_batches import ProducedBatch
from producer_state.rules import APPEND
from protocol import codec, records
from protocol.checksum import crc32c
from protocol.errors import ErrorCode
from protocol.produce_template import CONSTANT_AT
from protocol.records import pack_stored_header, read_header

_SIZE = Struct(">i")
_BATCH_START = Struct(">qi")
"""Base offset and length."""
_HEADER_BYTES = records.HEADER_BYTES
LAYOUTS_MAX = 4
"""Sizes of requests whose layout one shape remembers, to bound memory."""
_SIZE_BYTES_MAX = 5
"""Of a size field, of any kind."""
_OVERHEAD_BYTES, _MAGIC, _CRC_START = (
    records.LOG_OVERHEAD_BYTES,
    records.MAGIC,
    records.CRC_START,
)


def fitting_batches(
    shape: RequestShape,
    frame: bytes | bytearray,
    start: int,
    end: int,
    now_ms: int,
    is_known_producer: IsKnownProducer | None,
) -> FittingBatches | None:
    """Return the batches of a request that has this shape; None if it has not, or one is unusual.

    It changes nothing. `belong_to_transaction` has to look at those of a transaction.
    """
    if end - start > shape.frame_bytes_max:
        return None
    layout = shape.layouts.get(end - start)
    if layout is not None:
        latest_ms = now_ms + shape.timestamp_after_max_ms
        batches = layout.fitting_batches(
            frame, start, latest_ms, now_ms, is_known_producer, shape.end_offsets
        )
        if batches is not None:
            return batches
    return _fitting_one_by_one(shape, frame, start, end, now_ms, is_known_producer)


# Hot path: inlined on purpose.
def _fitting_one_by_one(  # noqa: C901, PLR0912
    shape: RequestShape,
    frame: bytes | bytearray,
    start: int,
    end: int,
    now_ms: int,
    is_known_producer: IsKnownProducer | None,
) -> FittingBatches | None:
    """Return the batches of a request that has no layout, or another one than that of its size."""
    stored, produced = list[bytes](), list[ProducedBatch]()
    base_offsets, end_offsets = list[int](), list[int]()
    latest_ms, attributes_max = now_ms + shape.timestamp_after_max_ms, shape.attributes_max
    position, is_transactional = start + CONSTANT_AT, shape.is_transactional
    size_bytes, batch_length, covered_bytes, known_start = shape.latest_start
    try:
        for layouts, piece, partition, log in shape.rows:
            unpack, covered_at = layouts[size_bytes]
            # fmt: off
            (
                found_piece, batch_start, magic, crc, attributes,
                last_delta, max_timestamp, producer_id, epoch, sequence, count,
            ) = unpack(frame, position)
            # fmt: on
            if batch_start != known_start:
                other = _start_at(shape, frame, position + len(piece), end)
                if other is None:
                    return None
                shape.latest_start = other
                size_bytes, batch_length, covered_bytes, known_start = other
                unpack, covered_at = layouts[size_bytes]
                # fmt: off
                (
                    found_piece, batch_start, magic, crc, attributes,
                    last_delta, max_timestamp, producer_id, epoch, sequence, count,
                ) = unpack(frame, position)
                # fmt: on
                if batch_start != known_start:
                    return None
            covered_at += position
            position = covered_at + covered_bytes
            covered = frame[covered_at:position]
            base_offset = log.log_end_offset
            if (
                found_piece != piece
                or magic != _MAGIC
                or attributes > attributes_max
                or count != last_delta + 1
                or max_timestamp > latest_ms
                or crc32c(covered) != crc
            ):
                return None
            if producer_id >= 0:
                if sequence < 0 or (is_transactional and attributes < shape.attributes_min):
                    return None
                if not is_transactional:
                    decision = partition.producers.check(producer_id, epoch, sequence, last_delta)
                    if decision is not APPEND:
                        return None
                if is_known_producer is not None and not is_known_producer(producer_id, now_ms):
                    return None
                # fmt: off
                produced.append((
                    partition.producers, producer_id, epoch, sequence, last_delta, base_offset,
                    max_timestamp,
                ))
                # fmt: on
            elif is_transactional:
                return None  # it belongs to no transaction
            leader_epoch = partition.leader_epoch
            header = pack_stored_header(base_offset, batch_length, leader_epoch, _MAGIC, crc)
            stored.append(header + covered)
            base_offsets.append(base_offset)
            end_offsets.append(base_offset + count)
    except struct_error:  # the frame ends before
        return None
    if position > end or frame[position:end] != shape.suffix:
        return None
    if len(stored) > 1 and len(produced) in {0, len(stored)}:
        _learn_layout(shape, frame, start, end, stored)
    return FittingBatches(stored, sum(map(len, stored)), base_offsets, end_offsets, produced)


def _learn_layout(
    shape: RequestShape,
    frame: bytes | bytearray,
    start: int,
    end: int,
    stored: Sequence[bytes],
) -> None:
    """Make a layout of a request that fits, if the one before had its size."""
    if shape.is_transactional:
        return
    if end - start != shape.latest_bytes:
        shape.latest_bytes = end - start
        return
    places: list[tuple[int, int]] = []
    position = CONSTANT_AT
    for (_layouts, piece, *_), batch in zip(shape.rows, stored, strict=True):
        size = len(batch)
        field = codec.encode_unsigned_varint(size + 1) if shape.is_flexible else _SIZE.pack(size)
        batch_at = position + len(piece) + len(field)
        position = batch_at + size
        places.append((batch_at, position))
    layout = shape.layouts.get(end - start)
    if layout is None or layout.places != places:
        if len(shape.layouts) >= LAYOUTS_MAX:
            shape.layouts.clear()
        partitions = [target.partition for target in shape.targets]
        layout = shape.layouts[end - start] = BatchLayout(places, end - start, partitions)
    layout.learn(frame, start)


def belong_to_transaction(
    cluster: Cluster, shape: RequestShape, produced: Sequence[ProducedBatch], now_ms: int
) -> bool:
    """Verify fitting batches of a transactional id; return whether all of them will be appended.

    The verification changes what it changes on the ordinary path, which may repeat it.
    """
    transactional_id, api_version = shape.transactional_id, shape.api_version
    assert transactional_id is not None
    first = produced[0]
    for target, batch in zip(shape.targets, produced, strict=True):
        partition = target.partition
        producers, producer_id, epoch, sequence, last_delta, *_rest = batch
        if producer_id != first[1] or epoch != first[2]:
            return False
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
        decision = producers.check(producer_id, epoch, sequence, last_delta, True)
        if decision is not APPEND:
            return False
    return True


def store_fitting(
    cluster: Cluster, shape: RequestShape, batches: FittingBatches, request_bytes: int, now_ms: int
) -> list[int]:
    """Append the batches; return the log start offset of each partition.

    `request_bytes` is at least what they take.
    """
    stored, stored_bytes, _base_offsets, end_offsets, produced, noted = batches
    if (
        shape.can_free
        or cluster.limits_producer_ids
        or cluster.log_bytes + request_bytes > cluster.log_bytes_max
    ):
        return _store_each(cluster, shape, stored, now_ms)
    if noted is not None:
        noted_batches, states, columns = noted
        noted_batches.note(states, columns)
    is_transactional = shape.is_transactional
    for producers, producer_id, epoch, sequence, last_delta, base_offset, max_timestamp in produced:
        producers.apply(
            producer_id,
            epoch,
            sequence,
            last_delta,
            base_offset,
            max_timestamp,
            is_transactional,
        )
    shape.end_offsets = end_offsets
    append_to_logs(shape.logs, stored, end_offsets, shape.leader_epochs, now_ms)
    cluster.log_bytes += stored_bytes
    return [log.log_start_offset for log in shape.logs]


def _store_each(
    cluster: Cluster, shape: RequestShape, stored: Sequence[bytes], now_ms: int
) -> list[int]:
    """Append batches of which each may free older ones or forget producers."""
    log_start_offsets: list[int] = []
    for target, batch in zip(shape.targets, stored, strict=True):
        header = read_header(batch, 0)
        store_batch(
            cluster,
            target.topic,
            target.partition,
            batch,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.last_offset_delta,
            now_ms,
            shape.is_transactional,
        )
        log_start_offsets.append(target.partition.log.log_start_offset)
    return log_start_offsets


def _start_at(
    shape: RequestShape, frame: bytes | bytearray, position: int, end: int
) -> BatchStart | None:
    """Return how the batch begins whose size field is at `position`; None if that is unusual."""
    if end - position < _SIZE_BYTES_MAX:
        return None
    size, size_bytes = _SIZE.unpack_from(frame, position)[0], _SIZE.size
    if shape.is_flexible:
        try:
            size, batch_at = codec.read_unsigned_varint(frame, position)
        except codec.DecodeError:
            return None
        size -= 1
        size_bytes = batch_at - position
        if size_bytes > VARINT_BYTES_MAX:
            return None
    if not _HEADER_BYTES <= size <= shape.batch_bytes_max:
        return None
    return _batch_start(size, size_bytes, is_flexible=shape.is_flexible)


@lru_cache(maxsize=1024)
def _batch_start(size: int, size_bytes: int, *, is_flexible: bool) -> BatchStart:
    batch_length = size - _OVERHEAD_BYTES
    # A varint that is longer than it has to be differs from this one.
    field = codec.encode_unsigned_varint(size + 1) if is_flexible else _SIZE.pack(size)
    return size_bytes, batch_length, size - _CRC_START, field + _BATCH_START.pack(0, batch_length)
