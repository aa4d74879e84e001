"""The bytes that equal Produce requests have in common, and those of their responses.

Two requests for the same partitions differ only in the correlation id and in their batches. So a
request is a list of constant pieces with a batch behind each of them, and its response, if all
batches are appended, is a constant with a few integers in it.
"""

from collections.abc import Callable, Sequence
from struct import Struct

from protocol.api_keys import ApiKey
from protocol.codec import frame_response, has_tagged_header, read_unsigned_varint
from protocol.produce import (
    FLEXIBLE_VERSION_MIN,
    PartitionResult,
    ProduceRequest,
    TopicResult,
    encode_response,
)

API_BYTES = 4
"""API key and version."""
CONSTANT_AT = 8
"""Where the first piece begins: behind API key, version and correlation id."""
_RECORDS_SIZE_BYTES = 4
_INDEX_AND_CODE_BYTES, _CODE_BYTES = 6, 2
_CORRELATION_ID = Struct(">4xi").unpack_from


def correlation_id_of(frame: bytes | bytearray, start: int) -> int:
    """Return the correlation id of the request that begins at `start`."""
    correlation_id: int = _CORRELATION_ID(frame, start)[0]
    return correlation_id


def request_pieces(
    api_version: int, frame: bytes | bytearray, start: int, end: int, request: ProduceRequest
) -> list[bytes] | None:
    """Return the bytes between the batches of the request in `frame[start:end]`.

    The first piece begins with the client id and ends before the size of the first batch, the last
    one is behind the last batch. None if a partition has no batch, or the size of one is not
    encoded in the usual way.
    """
    pieces = []
    position = start + CONSTANT_AT
    for topic in request.topics:
        for _index, batch_start, batch_end in topic.partitions:
            if batch_start < 0:
                return None
            size_at = batch_start - _RECORDS_SIZE_BYTES
            if api_version >= FLEXIBLE_VERSION_MIN:
                size = batch_end - batch_start + 1
                size_at = batch_start - max(1, -(-size.bit_length() // 7))
                if read_unsigned_varint(frame, size_at) != (size, batch_start):
                    return None
            pieces.append(bytes(frame[position:size_at]))
            position = batch_end
    pieces.append(bytes(frame[position:end]))
    return pieces


class SuccessResponse:
    """The response frame of requests whose batches are all appended, to topics with CreateTime."""

    __slots__ = (
        "_arguments",
        "_base_offset_at",
        "_base_offsets",
        "_correlation_id_at",
        "_pack",
        "_start_offsets",
        "_throttle_time_at",
        "pack_parts",
        "pack_parts_of",
    )

    def __init__(self, api_version: int, request: ProduceRequest) -> None:
        def encode(
            correlation_id: int = 0, base_offset: int = 0, start_offset: int = 0, throttle: int = 0
        ) -> bytes:
            results = [
                TopicResult(
                    topic.name,
                    topic.topic_id,
                    [
                        PartitionResult(index, 0, base_offset, -1, start_offset)
                        for index, _start, _end in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
            body = encode_response(api_version, results, throttle, has_error=False)
            is_tagged = has_tagged_header(ApiKey.PRODUCE, api_version)
            return frame_response(correlation_id, body, has_tagged_header=is_tagged)

        zeros = encode()

        def places(size_bytes: int, other: bytes) -> list[int]:
            """Return where a field is: all its bytes differ between 0 and -1."""
            differing = [at for at, byte in enumerate(other) if byte != zeros[at]]
            return differing[::size_bytes]

        base_offsets = places(8, encode(base_offset=-1))
        start_offsets = places(8, encode(start_offset=-1))
        [correlation_id], [throttle_time] = places(4, encode(-1)), places(4, encode(throttle=-1))
        codes = dict.fromkeys((*base_offsets, *start_offsets), "q")
        codes |= {correlation_id: "i", throttle_time: "i"}
        layout, self._arguments, end = ">", list[bytes | int](), 0
        argument_at = {}
        for position, code in sorted(codes.items()):
            layout += f"{position - end}s{code}"
            argument_at[position] = len(self._arguments) + 1
            self._arguments += (zeros[end:position], 0)
            end = position + (8 if code == "q" else 4)
        self._pack = Struct(f"{layout}{len(zeros) - end}s").pack
        self._arguments.append(zeros[end:])
        self._base_offset_at = base_offsets[0]
        """Where the first base offset is in the frame."""
        self._correlation_id_at = argument_at[correlation_id]
        self._throttle_time_at = argument_at[throttle_time]
        # Bytes and integers take turns, so these integers are every second argument.
        first = argument_at[base_offsets[0]]
        step = 4 if start_offsets else 2
        end = first + step * len(base_offsets)
        self._base_offsets = slice(first, end, step)
        self._start_offsets = slice(first + 2, end + 2, step) if start_offsets else None
        """Versions 3 and 4 have none."""

        between_bytes = base_offsets[0] - 8
        after_bytes = len(zeros) - base_offsets[0] - 8
        self.pack_parts: Callable[..., bytes]
        self.pack_parts = Struct(f">4s4s{between_bytes}sq{after_bytes}s").pack
        """Return the frame from `parts` with correlation id (bytes) and base offset in between."""
        index_at = between_bytes - _INDEX_AND_CODE_BYTES
        self.pack_parts_of: Callable[..., bytes]
        self.pack_parts_of = Struct(f">4s4s{index_at}si{_CODE_BYTES}sq{after_bytes}s").pack
        """The same for any partition, with `around_index` of the middle part and the index."""

    def for_partition(self, index_bytes: bytes) -> "SuccessResponse":
        """Return the response to the same request for another partition of its only topic."""
        other = object.__new__(SuccessResponse)
        other._pack = self._pack
        other._base_offset_at = self._base_offset_at
        other._correlation_id_at = self._correlation_id_at
        other._throttle_time_at = self._throttle_time_at
        other._base_offsets = self._base_offsets
        other._start_offsets = self._start_offsets
        other.pack_parts = self.pack_parts
        other.pack_parts_of = self.pack_parts_of
        other._arguments = arguments = self._arguments.copy()
        # Index and error code are before the base offset.
        before_at = self._base_offsets.start - 1
        before = arguments[before_at]
        assert isinstance(before, bytes)
        arguments[before_at] = index_bytes.join(around_index(before))
        return other

    def encode(
        self,
        correlation_id: int,
        base_offsets: Sequence[int],
        log_start_offsets: Sequence[int],
        throttle_time_ms: int,
    ) -> bytes:
        """Return the frame, from one offset of each kind for each partition."""
        arguments = self._arguments
        arguments[self._correlation_id_at] = correlation_id
        arguments[self._throttle_time_at] = throttle_time_ms
        arguments[self._base_offsets] = base_offsets
        if self._start_offsets is not None:
            arguments[self._start_offsets] = log_start_offsets
        return self._pack(*arguments)

    def parts(self, log_start_offset: int) -> tuple[bytes, bytes, bytes]:
        """Return the bytes around the correlation id and the base offset of the only partition."""
        frame = self.encode(0, (0,), (log_start_offset,), 0)
        correlation_id_end, base_offset_end = 8, self._base_offset_at + 8
        return frame[:4], frame[correlation_id_end : self._base_offset_at], frame[base_offset_end:]


def around_index(before: bytes) -> tuple[bytes, bytes]:
    """Return what is around the partition's index in a response's bytes before the base offset."""
    return before[:-_INDEX_AND_CODE_BYTES], before[-_CODE_BYTES:]
