"""Split a byte stream into Kafka frames: a four-byte big-endian size, then that many bytes.

A frame is a range `(buffer, start, end)` of the received bytes. So a read with many small requests
is never copied, and a large request is copied once, even if it took many reads.
"""

from struct import Struct

Frame = tuple[bytes | bytearray, int, int]
"""A buffer and the half-open range of the frame in it, without the size prefix."""

_SIZE = Struct(">i")
SIZE_BYTES = _SIZE.size
"""Bytes of the size in front of a frame."""

UNEXPECTED_TLS = (
    "the other side speaks TLS, and this port does not: set its security.protocol to PLAINTEXT or"
    " SASL_PLAINTEXT, or use the port of a TLS listener"
)
"""The reason for what TLS sends first, which reads as the size of a frame of 352 MB or more."""

_TLS_RECORDS = (b"\x16\x03", b"\x15\x03")
"""The first bytes of a TLS handshake and of a TLS alert: the type of the record, and 3."""


def is_one_frame(data: bytes, frame_bytes_max: int) -> bool:
    """Whether these bytes are one complete frame with its size."""
    return int.from_bytes(data[:SIZE_BYTES]) == len(data) - SIZE_BYTES <= frame_bytes_max


class FrameError(Exception):
    """The stream has an invalid frame size; no more frames can be read."""


class FrameReader:
    """Collect bytes and return complete frames, oldest first."""

    __slots__ = ("_buffer", "_position", "frame_bytes_max", "is_empty", "limit_name")

    def __init__(self, frame_bytes_max: int, limit_name: str = "socket.request.max.bytes") -> None:
        """`frame_bytes_max` is inclusive, and the value of the key `limit_name`."""
        self._buffer: bytes | bytearray = b""
        self._position = 0
        self.is_empty = True
        """Whether there are no bytes of frames that were not returned."""
        self.frame_bytes_max = frame_bytes_max
        self.limit_name = limit_name

    @property
    def buffered_bytes(self) -> int:
        """Bytes of incomplete frames and of frames not returned yet."""
        return len(self._buffer) - self._position

    def starts_with(self, prefix: bytes) -> bool:
        """Whether the next frame begins with these bytes, as far as it was received."""
        return self._buffer.startswith(prefix, self._position + SIZE_BYTES)

    def feed(self, data: bytes, start: int = 0) -> None:
        """Add bytes from the socket, in order. `start` is 0 unless this reader is empty."""
        buffer, position = self._buffer, self._position
        if position == len(buffer):
            self._buffer = data
            self._position = start
        elif position == 0 and type(buffer) is bytearray:
            # No frame of this buffer was returned yet, so it can grow in place.
            buffer += data
        else:
            grown = bytearray(memoryview(buffer)[position:])
            grown += data
            self._buffer = grown
            self._position = 0
        self.is_empty = self._position == len(self._buffer)

    def next_frame(self) -> Frame | None:
        """Return the next complete frame, or None.

        Raises:
            FrameError: the size is negative or above the limit.
        """
        buffer, position = self._buffer, self._position
        available = len(buffer) - position
        if available < 4:
            return None
        (size,) = _SIZE.unpack_from(buffer, position)
        if size < 0:
            raise FrameError(f"frame of negative size {size}")
        if size > self.frame_bytes_max:
            if buffer.startswith(_TLS_RECORDS, position):
                raise FrameError(UNEXPECTED_TLS)
            raise FrameError(
                f"frame of {size} bytes is larger than {self.limit_name} ({self.frame_bytes_max})"
            )
        end = position + 4 + size
        if available < 4 + size:
            return None
        if end == len(buffer):
            # An idle or muted connection keeps no buffer.
            self._buffer, self._position, self.is_empty = b"", 0, True
        else:
            self._position = end
        return buffer, position + 4, end
