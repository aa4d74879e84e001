"""Batches with the same values at many offsets: only base offset, time and keys are written again.

Layout: Kafka's `DefaultRecordBatch` and `DefaultRecord`.
"""

from collections.abc import Sequence

from protocol.batch_builder import VARINTS, pack_from_attributes
from protocol.checksum import crc32c
from protocol.compression import NO_COMPRESSION, compress
from protocol.records import HEADER_BYTES, LOG_OVERHEAD_BYTES, MAGIC, pack_stored_header

_NO_PRODUCER = (-1, -1, -1)
_NO_KEY = b"\1"
"""The length -1."""


class BatchTemplate:
    """The values of a batch, and where its keys are; no headers, no producer."""

    __slots__ = ("_codec", "_duration_ms", "_payload", "_pieces", "count", "size_bytes")

    def __init__(
        self,
        values: Sequence[bytes],
        deltas_ms: Sequence[int],
        *,
        key_bytes: int | None = None,
        codec: int = NO_COMPRESSION,
    ) -> None:
        """`deltas_ms` are the distances from the timestamp of the batch, ascending from 0 on.

        All keys have `key_bytes` bytes, or are null. `codec` is one of `protocol.compression`.
        """
        varints = VARINTS
        pieces = [b""]
        for offset_delta, (value, delta_ms) in enumerate(zip(values, deltas_ms, strict=True)):
            before = b"\0" + varints[delta_ms] + varints[offset_delta]
            before += _NO_KEY if key_bytes is None else varints[key_bytes]
            after = varints[len(value)] + value + b"\0"
            size = len(before) + len(after) + (key_bytes or 0)
            pieces[-1] += varints[size] + before
            if key_bytes is None:
                pieces += (after,)
            else:
                pieces += (b"", after)
        self._codec = codec
        self.count = len(values)
        """How many records a batch has."""
        self._duration_ms = deltas_ms[-1]
        self._pieces: list[bytes] = []
        self._payload = b""
        self.size_bytes: int | None = None
        """The size of a batch; None if it is another one with other keys."""
        if key_bytes is not None:
            self._pieces = pieces
            if codec == NO_COMPRESSION:
                uncompressed_bytes = sum(map(len, pieces)) + self.count * key_bytes
                self.size_bytes = HEADER_BYTES + uncompressed_bytes
        else:
            self._payload = b"".join(pieces)
            if codec != NO_COMPRESSION:
                self._payload = compress(self._payload, codec)
            self.size_bytes = HEADER_BYTES + len(self._payload)

    def batch(self, base_offset: int, timestamp_ms: int, keys: Sequence[bytes] = ()) -> bytes:
        """Return the batch at an offset, in leader epoch 0; `timestamp_ms` is that of its start."""
        payload = self._payload
        if keys:
            pieces = self._pieces.copy()
            pieces[1::2] = keys
            payload = b"".join(pieces)
            if self._codec != NO_COMPRESSION:
                payload = compress(payload, self._codec)
        count, end_ms = self.count, timestamp_ms + self._duration_ms
        checked = pack_from_attributes(
            self._codec, count - 1, timestamp_ms, end_ms, *_NO_PRODUCER, count
        )
        length = HEADER_BYTES - LOG_OVERHEAD_BYTES + len(payload)
        crc = crc32c(payload, crc32c(checked))
        return b"".join((pack_stored_header(base_offset, length, 0, MAGIC, crc), checked, payload))
