"""Append the batches of equal Produce requests that stand behind each other in one read.

A producer that has several requests in flight sends the same request to the same partition again
and again. What does not change between them is checked once for all (ADR 25). `fitting_batches`
decides about all other requests of a shape, and both accept the same batches.
"""

from struct import Struct

from broker.cluster.cluster import Cluster
from broker.cluster.usual_transaction import begin_transaction
from broker.produce.batch_layout import IsKnownProducer
from broker.produce.frame_layout import FrameLayout, ReadLayout, frame_layout, read_struct
from broker.produce.request_shape import INDEX_BYTES, RequestShape, appendable_partition
from broker.produce.transactional_batches import (
    ADDS_PARTITION_VERSION_MIN,
    verify_produced,
)
from producer_state.rules import APPEND
from protocol import records
from protocol.checksum import crc32c
from protocol.errors import ErrorCode
from protocol.framing import SIZE_BYTES
from protocol.produce_template import CONSTANT_AT, around_index

LAYOUTS_MAX = 64
"""Sizes of frames that one shape remembers, to bound memory."""

_SIZE = Struct(">i")
_unpack_size, _stored_header = _SIZE.unpack_from, records.pack_stored_header
_HEADER_BYTES, _OVERHEAD_BYTES = records.HEADER_BYTES, records.LOG_OVERHEAD_BYTES
_MAGIC, _CRC_START = records.MAGIC, records.CRC_START


class RequestRun:
    """The requests of one shape that has one partition, or of it for another one of the topic."""

    __slots__ = (
        "__weakref__",
        "_acks",
        "_adds_partition",
        "_after",
        "_before",
        "_between",
        "_between_parts",
        "_broker_id",
        "_index",
        "_layouts",
        "_log",
        "_own_index",
        "_pack_response",
        "_pack_response_of",
        "_partition",
        "_read_layouts",
        "_start_offset",
        "_timestamp_after_max_ms",
        "_topic",
        "can_free",
        "produce_version",
        "shape",
    )

    def __init__(self, shape: RequestShape) -> None:
        self.shape = shape
        self.produce_version = shape.produce_version
        _piece, topic, self._partition, _bytes_max, after_max_ms = shape.targets[0]
        self._log = self._partition.log
        self._topic, self._acks = topic, shape.acks
        self._broker_id = self._partition.leader_id
        self._adds_partition = shape.api_version >= ADDS_PARTITION_VERSION_MIN
        self._own_index = self._index = self._partition.partition_index
        """That of the shape, and that of the latest request."""
        self._timestamp_after_max_ms = after_max_ms
        self.can_free = topic.retention_bytes >= 0
        """Whether each batch may free older ones, until the configuration changes."""
        self._layouts: dict[int, FrameLayout] = {}
        self._read_layouts: dict[int, ReadLayout] = {}
        self._start_offset = -1
        self._pack_response = shape.response.pack_parts
        self._pack_response_of = shape.response.pack_parts_of
        self._before = self._between = self._after = b""
        self._between_parts = b"", b""

    # Hot path: inlined on purpose.
    def respond_to_one(
        self,
        cluster: Cluster,
        data: bytes,
        now_ms: int,
        is_known_producer: IsKnownProducer | None = None,
    ) -> bytes | None:
        """Append the batch of the only request of a read, and return the response.

        None changes nothing: the read is something else, or the request is unusual. The response
        is empty with acks=0. The caller has made sure of the same as that of `append`, and that
        `can_free` is false. The request may be for another partition. With
        `is_known_producer` a batch of a producer for which it is false is unusual.
        """
        layout = self._read_layouts.get(len(data)) or self._layout_of_read(data)
        if layout is None or cluster.log_bytes + len(data) > cluster.log_bytes_max:
            return None
        unpack, start, before, behind, batch_length, covered_range = layout
        # fmt: off
        (
            found_start, correlation_id, found_before, index, found_behind, magic, crc, attributes,
            last_delta, max_timestamp, producer_id, epoch, sequence, count,
        ) = unpack(data, 0)
        # fmt: on
        shape = self.shape
        covered = data[covered_range]
        if (
            found_start != start
            or found_before != before
            or found_behind != behind
            or magic != _MAGIC
            or attributes > shape.attributes_max
            or count != last_delta + 1
            or max_timestamp > now_ms + self._timestamp_after_max_ms
            or crc32c(covered) != crc
            or not data.endswith(shape.suffix)
            or (index != self._index and not self._go_to(index))
        ):
            return None
        partition, log = self._partition, self._log
        base_offset = log.log_end_offset
        if producer_id >= 0:
            if sequence < 0 or (
                is_known_producer is not None and not is_known_producer(producer_id, now_ms)
            ):
                return None
            # fmt: off
            if (
                shape.is_transactional
                or not partition.producers.apply_next(
                    producer_id, epoch, sequence, last_delta, base_offset, max_timestamp,
                )
            ) and not self._is_recorded(
                cluster, attributes, producer_id, epoch, sequence, last_delta, base_offset,
                max_timestamp, now_ms,
            ):
                # fmt: on
                return None
        elif shape.is_transactional:
            return None  # it belongs to no transaction
        leader_epoch = partition.leader_epoch
        batch = _stored_header(base_offset, batch_length, leader_epoch, _MAGIC, crc) + covered
        log.append(batch, count, leader_epoch)
        cluster.log_bytes += len(batch)
        if log.waiters:
            log.wake(now_ms)  # the fetches respond after the reads of this turn of the event loop
        if not shape.acks:
            return b""
        if log.log_start_offset != self._start_offset:
            self._set_parts(log.log_start_offset)
        between, code = self._between_parts
        return self._pack_response_of(
            self._before, correlation_id, between, index, code, base_offset, self._after
        )

    def append(
        self,
        cluster: Cluster,
        buffer: bytes,
        now_ms: int,
        responses: list[bytes],
        is_known_producer: IsKnownProducer | None = None,
    ) -> int:
        """Append batches from the beginning of `buffer` on; return where other bytes begin.

        It stops at the first request that is not complete, has another shape or is unusual. The
        caller has made sure that nothing but the log and the producer's state has to change.
        `is_known_producer` is as in `respond_to_one`.
        """
        if self._index != self._own_index and not self._go_to(self._own_index):
            return 0
        if self.can_free or cluster.log_bytes + len(buffer) > cluster.log_bytes_max:
            return 0  # more than that may change with each batch
        log = self._log
        end_offset = log.log_end_offset
        try:
            return self._store(cluster, buffer, now_ms, responses, is_known_producer)
        finally:
            # Who waits responds after this read in any case: one look is enough.
            if log.waiters and log.log_end_offset != end_offset:
                log.wake(now_ms)

    # Hot path: inlined on purpose.
    def _store(  # noqa: C901, PLR0912
        self,
        cluster: Cluster,
        buffer: bytes,
        now_ms: int,
        responses: list[bytes],
        is_known_producer: IsKnownProducer | None,
    ) -> int:
        shape, log, partition = self.shape, self._log, self._partition
        latest_ms, is_transactional = now_ms + self._timestamp_after_max_ms, shape.is_transactional
        log_start_offset, end_offset = log.log_start_offset, log.log_end_offset
        if log_start_offset != self._start_offset:
            self._set_parts(log_start_offset)
        before, between, after = self._before, self._between, self._after
        pack_response, apply_next = self._pack_response, partition.producers.apply_next
        suffix, attributes_max = shape.suffix, shape.attributes_max
        has_response, leader_epoch = shape.acks != 0, partition.leader_epoch
        batches, buffer_end, known_size, position = list[bytes](), len(buffer), 0, 0
        try:
            while buffer_end - position > _HEADER_BYTES:
                (size,) = _unpack_size(buffer, position)
                if size != known_size:
                    layout = self._layouts.get(size + SIZE_BYTES) or self._lay_out(size)
                    if layout is None:
                        break
                    unpack, start, piece, batch_length, covered_at, batch_end_at = layout
                    known_size = size
                frame_end = position + 4 + size
                if frame_end > buffer_end:
                    break
                # fmt: off
                (
                    found_start, correlation_id, found_piece, magic, crc, attributes,
                    last_delta, max_timestamp, producer_id, epoch, sequence, count,
                ) = unpack(buffer, position)
                # fmt: on
                batch_end = position + batch_end_at
                covered = buffer[position + covered_at : batch_end]
                if (
                    found_piece != piece
                    or found_start != start
                    or magic != _MAGIC
                    or attributes > attributes_max
                    or count != last_delta + 1
                    or max_timestamp > latest_ms
                    or crc32c(covered) != crc
                    or buffer[batch_end:frame_end] != suffix
                ):
                    break
                if producer_id >= 0:
                    if sequence < 0 or (
                        is_known_producer is not None and not is_known_producer(producer_id, now_ms)
                    ):
                        break
                    # fmt: off
                    if (
                        is_transactional
                        or not apply_next(
                            producer_id, epoch, sequence, last_delta, end_offset, max_timestamp,
                        )
                    ) and not self._is_recorded(
                        cluster, attributes, producer_id, epoch, sequence, last_delta, end_offset,
                        max_timestamp, now_ms,
                    ):
                        # fmt: on
                        break
                elif is_transactional:
                    break  # it belongs to no transaction
                stored_header = _stored_header(end_offset, batch_length, leader_epoch, _MAGIC, crc)
                batches.append(stored_header + covered)
                if has_response:
                    response = pack_response(before, correlation_id, between, end_offset, after)
                    responses.append(response)
                end_offset += count
                position = frame_end
        finally:
            if batches:
                stored = log.extend(batches, end_offset, leader_epoch)
                cluster.log_bytes += stored
        return position

    def _is_recorded(
        self,
        cluster: Cluster,
        attributes: int,
        producer_id: int,
        epoch: int,
        sequence: int,
        last_delta: int,
        base_offset: int,
        max_timestamp: int,
        now_ms: int,
    ) -> bool:
        """Record a batch with a producer, or return False if it will not simply be appended.

        A batch of a transaction is verified before, as on the ordinary path, also if it is refused.
        """
        shape, partition = self.shape, self._partition
        is_transactional = shape.is_transactional
        if is_transactional:
            transactional_id = shape.transactional_id
            assert transactional_id is not None
            if attributes < shape.attributes_min:
                return False
            if self._adds_partition and begin_transaction(
                cluster,
                transactional_id,
                partition,
                producer_id,
                epoch,
                sequence,
                last_delta,
                base_offset,
                max_timestamp,
                now_ms,
            ):
                return True
            error_code = verify_produced(
                cluster,
                self._broker_id,
                shape.api_version,
                transactional_id,
                partition,
                producer_id,
                epoch,
                sequence,
                now_ms,
            )
            if error_code is not ErrorCode.NONE:
                return False
        producers = partition.producers
        decision = producers.check(producer_id, epoch, sequence, last_delta, is_transactional)
        if decision is not APPEND:
            return False
        producers.apply(
            producer_id, epoch, sequence, last_delta, base_offset, max_timestamp, is_transactional
        )
        return True

    def _set_parts(self, log_start_offset: int) -> None:
        """Make the parts of responses that are the same while the log start offset stays."""
        self._start_offset = log_start_offset
        self._before, self._between, self._after = self.shape.response.parts(log_start_offset)
        self._between_parts = around_index(self._between)

    def _go_to(self, index: int) -> bool:
        """Append to another partition of the topic from now on; False if it takes no batches."""
        # A change of leaders or of replicas in sync makes a new shape.
        partition = appendable_partition(self._topic, index, self._broker_id, self._acks)
        if partition is None:
            return False
        self._partition, self._log, self._index = partition, partition.log, index
        return True

    def _layout_of_read(self, data: bytes) -> ReadLayout | None:
        """Return the layout of a read that is one frame of this shape; None for another read."""
        size = len(data) - SIZE_BYTES
        key, key_at = self.shape.key, SIZE_BYTES + CONSTANT_AT
        if not data.startswith(key, key_at) or _unpack_size(data)[0] != size:
            return None
        layout = self._lay_out(size)
        if layout is None:
            return None
        _unpack, start, piece, batch_length, covered_at, batch_end = layout
        behind = piece[len(key) + INDEX_BYTES :]
        if len(self._read_layouts) >= LAYOUTS_MAX:
            self._read_layouts.clear()
        self._read_layouts[len(data)] = found = (
            read_struct(len(key), len(behind)).unpack_from,
            start,
            key,
            behind,
            batch_length,
            slice(covered_at, batch_end),
        )
        return found

    def _lay_out(self, size: int) -> FrameLayout | None:
        """Return the layout of frames of a size; None if they cannot have a batch that fits."""
        layout = frame_layout(self.shape, size)
        if layout is not None:
            if len(self._layouts) >= LAYOUTS_MAX:
                self._layouts.clear()
            self._layouts[size + SIZE_BYTES] = layout
        return layout
