"""Read and write fields of requests and responses by hand, without the schema's codec.

Flexible versions (KIP-482) have compact texts and counts. A reader of a request calls these
functions in the order of its fields. They may read behind the end of the request, so the reader
checks its last position. See `ShortReader` in `broker/routes.py`.
"""

from struct import Struct
from struct import error as StructError
from uuid import UUID

from protocol.codec import encode_unsigned_varint

COUNT_MAX = 126
"""The most elements of an array, and bytes of a compact text, that are read by hand."""

_SIZE = Struct(">h")
_COUNT = Struct(">i")
_LENGTH_MAX = COUNT_MAX + 1
"""Of a compact text or array: its size plus one, in one byte."""
_UUID_BYTES = 16


class NotShortError(Exception):
    """A request has a field that is not read by hand."""


MALFORMED = (IndexError, StructError, ValueError, NotShortError)
"""What readers catch: the schema's codec takes such a request."""


def read_compact_text(frame: bytes | bytearray, position: int) -> tuple[str | None, int]:
    """Return the text of a flexible version, None for null, and the position after it.

    Raises:
        NotShortError: it is longer than `COUNT_MAX` bytes.
    """
    size = frame[position]
    if 0 < size <= _LENGTH_MAX:
        end = position + size
        return frame[position + 1 : end].decode(), end
    if size:
        raise NotShortError
    return None, position + 1


def read_text(frame: bytes | bytearray, position: int) -> tuple[str | None, int]:
    """Return the text of a version that is not flexible, and the position after it."""
    (size,) = _SIZE.unpack_from(frame, position)
    position += _SIZE.size
    if size < 0:
        return None, position
    end = position + size
    return frame[position:end].decode(), end


def read_compact_count(frame: bytes | bytearray, position: int) -> tuple[int, int]:
    """Return the number of elements of an array in a flexible version, and the position after it.

    Raises:
        NotShortError: the array is null, or has more than `COUNT_MAX` elements.
    """
    size = frame[position]
    if not 0 < size <= COUNT_MAX + 1:
        raise NotShortError
    return size - 1, position + 1


def read_count(frame: bytes | bytearray, position: int) -> tuple[int, int]:
    """Return the number of elements of an array, and the position after it.

    Raises:
        NotShortError: the array is null, or has more than `COUNT_MAX` elements.
    """
    (count,) = _COUNT.unpack_from(frame, position)
    if not 0 <= count <= COUNT_MAX:
        raise NotShortError
    return count, position + _COUNT.size


def read_topic_key(
    frame: bytes | bytearray, position: int, *, is_flexible: bool, uses_topic_id: bool
) -> tuple[str, UUID | None, int]:
    """Return the name of a topic or, from some version on, its id, and the position after it.

    Raises:
        NotShortError: the name is null, or too long.
    """
    if uses_topic_id:
        end = position + _UUID_BYTES
        return "", UUID(bytes=bytes(frame[position:end])), end
    name, position = (read_compact_text if is_flexible else read_text)(frame, position)
    if name is None:
        raise NotShortError
    return name, None, position


def end_of_tags(frame: bytes | bytearray, position: int) -> int:
    """Return the position after a section without tagged fields.

    Raises:
        NotShortError: there are some.
    """
    if frame[position]:
        raise NotShortError
    return position + 1


def write_count(count: int, *, is_flexible: bool) -> bytes:
    """Return the number of elements of an array."""
    return encode_unsigned_varint(count + 1) if is_flexible else _COUNT.pack(count)


def write_compact_text(text: str) -> bytes | None:
    """Return the text for a flexible version; None if it is longer than `COUNT_MAX` bytes."""
    encoded = text.encode()
    return None if len(encoded) > COUNT_MAX else bytes((len(encoded) + 1,)) + encoded


def write_text(text: str) -> bytes:
    """Return the text for a version that is not flexible."""
    encoded = text.encode()
    return _SIZE.pack(len(encoded)) + encoded
