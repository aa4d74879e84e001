"""Append the batches of equal Produce requests that stand behind each other in one read.

A producer that has several requests in flight sends the same request to the same partition again
and again. What does not change between them is checked once for all (ADR 25). `fitting_batches`
decides about all other requests of a shape, and both accept the same batches.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition
from broker.produce.request_shape import RequestShape
from producer_state.rules import APPEND
from protocol import records
from protocol.checksum import crc32c
from protocol.codec import encode_unsigned_varint
from protocol.produce_template import API_BYTES, CONSTANT_AT

LAYOUTS_MAX = 64
"""Sizes of frames that one shape remembers, to bound memory."""

_SIZE = Struct(">i")
_BATCH_START = Struct(">qi")
"""Base offset and length."""
_BASE_OFFSET = Struct(">q").pack
_VARINT_BYTES_MAX = 5
_unpack_size, _stored_header = _SIZE.unpack_from, records.pack_stored_header
_HEADER_BYTES, _OVERHEAD_BYTES = records.HEADER_BYTES, records.LOG_OVERHEAD_BYTES
_MAGIC, _CRC_START = records.MAGIC, records.CRC_START


class FrameLayout(NamedTuple):
    """Where the parts of all frames of one size are, counted from the size field."""

    unpack: Callable[[bytes, int], tuple[Any, ...]]
    """Returns API, correlation id, constant piece, and what a batch has after its leader epoch."""
    piece: bytes
    """From the client id to the length of the batch."""
    batch_length: int
    covered_at: int
    """Where the bytes begin that the CRC covers."""
    batch_end: int


class RequestRun:
    """The requests of one shape that has one partition."""

    __slots__ = ("_layouts", "_parts", "_start_offset", "shape")

    def __init__(self, shape: RequestShape) -> None:
        self.shape = shape
        self._layouts: dict[int, FrameLayout] = {}
        self._start_offset = -1
        self._parts = b"", b"", b""

    def append(self, cluster: Cluster, buffer: bytes, now_ms: int, responses: list[bytes]) -> int:
        """Append batches from the beginning of `buffer` on; return where other bytes begin.

        It stops at the first request that is not complete, has another shape or is unusual. The
        caller has made sure that nothing but the log and the producer's state has to change.
        """
        _piece, topic, partition, _bytes_max, timestamp_after_max_ms = self.shape.targets[0]
        if topic.retention_bytes >= 0 or cluster.log_bytes + len(buffer) > cluster.log_bytes_max:
            return 0  # more than that may change with each batch
        latest_ms = now_ms + timestamp_after_max_ms
        end_offset = partition.log.log_end_offset
        try:
            return self._store(cluster, buffer, partition, latest_ms, responses)
        finally:
            # Who waits responds after this read in any case: one look is enough.
            if partition.log.waiters and partition.log.log_end_offset != end_offset:
                partition.log.wake(now_ms)

    # Hot path: inlined on purpose.
    def _store(
        self,
        cluster: Cluster,
        buffer: bytes,
        partition: Partition,
        latest_ms: int,
        responses: list[bytes],
    ) -> int:
        shape, log, producers = self.shape, partition.log, partition.producers
        log_start_offset, end_offset = log.log_start_offset, log.log_end_offset
        if log_start_offset != self._start_offset:
            self._start_offset = log_start_offset
            self._parts = shape.response.parts(log_start_offset)
        before, between, after = self._parts
        api, suffix, attributes_max = shape.api, shape.suffix, shape.attributes_max
        has_response, leader_epoch = shape.acks != 0, partition.leader_epoch
        batches: list[bytes] = []
        base_offsets: list[int] = []
        max_timestamps: list[int] = []
        buffer_end = len(buffer)
        known_size = position = 0
        try:
            while buffer_end - position > _HEADER_BYTES:
                (size,) = _unpack_size(buffer, position)
                if size != known_size:
                    layout = self._layouts.get(size) or self._lay_out(size)
                    if layout is None:
                        break
                    unpack, piece, batch_length, covered_at, batch_end_at = layout
                    known_size = size
                frame_end = position + 4 + size
                if frame_end > buffer_end:
                    break
                # fmt: off
                (
                    found_api, correlation_id, found_piece, magic, crc, attributes,
                    last_delta, max_timestamp, producer_id, epoch, sequence, count,
                ) = unpack(buffer, position)
                # fmt: on
                batch_end = position + batch_end_at
                covered = buffer[position + covered_at : batch_end]
                if (
                    found_piece != piece
                    or found_api != api
                    or magic != _MAGIC
                    or not 0 <= attributes <= attributes_max
                    or not 0 < count == last_delta + 1
                    or max_timestamp > latest_ms
                    or crc32c(covered) != crc
                    or buffer[batch_end:frame_end] != suffix
                ):
                    break
                if producer_id >= 0:
                    if sequence < 0:
                        break
                    if producers.check(producer_id, epoch, sequence, last_delta) is not APPEND:
                        break
                    producers.apply(
                        producer_id, epoch, sequence, last_delta, end_offset, max_timestamp
                    )
                stored_header = _stored_header(end_offset, batch_length, leader_epoch, _MAGIC, crc)
                batches.append(stored_header + covered)
                base_offsets.append(end_offset)
                max_timestamps.append(max_timestamp)
                if has_response:
                    base_offset = _BASE_OFFSET(end_offset)
                    responses.append(before + correlation_id + between + base_offset + after)
                end_offset += count
                position = frame_end
        finally:
            if batches:
                cluster.log_bytes += log.extend(
                    batches, base_offsets, max_timestamps, end_offset, leader_epoch
                )
        return position

    def _lay_out(self, size: int) -> FrameLayout | None:
        """Return the layout of frames of a size; None if they cannot have a batch that fits."""
        layout = _layout(self.shape, size)
        if layout is not None:
            if len(self._layouts) >= LAYOUTS_MAX:
                self._layouts.clear()
            self._layouts[size] = layout
        return layout


def _layout(shape: RequestShape, size: int) -> FrameLayout | None:
    if not 0 < size <= shape.frame_bytes_max:
        return None
    (target,) = shape.targets
    rest_bytes = size - CONSTANT_AT - len(target.piece) - len(shape.suffix)
    batch_size = _batch_size(rest_bytes, is_flexible=shape.is_flexible)
    if batch_size is None or not _HEADER_BYTES <= batch_size <= target.batch_bytes_max:
        return None
    size_field = _SIZE.pack(batch_size)
    if shape.is_flexible:
        size_field = encode_unsigned_varint(batch_size + 1)
    batch_length = batch_size - _OVERHEAD_BYTES
    piece = target.piece + size_field + _BATCH_START.pack(0, batch_length)
    batch_start = _SIZE.size + size - len(shape.suffix) - batch_size
    return FrameLayout(
        Struct(f">4x{API_BYTES}s4s{len(piece)}s4xbIhi8xqqhii").unpack_from,
        piece,
        batch_length,
        batch_start + _CRC_START,
        batch_start + batch_size,
    )


def _batch_size(rest_bytes: int, *, is_flexible: bool) -> int | None:
    """Return the size of a batch that takes `rest_bytes` together with its size field."""
    if not is_flexible:
        return rest_bytes - _SIZE.size
    for varint_bytes in range(1, _VARINT_BYTES_MAX + 1):
        size = rest_bytes - varint_bytes
        if size >= 0 and len(encode_unsigned_varint(size + 1)) == varint_bytes:
            return size
    return None
