"""What the proxy reads of a request that it passes on: its header, and acks of Produce."""

from struct import Struct

from protocol.codec import DecodeError, read_unsigned_varint, skip_tagged_fields
from protocol.framing import SIZE_BYTES

HEAD = Struct(">ihhih")
"""Size, API key, version, correlation id, and the size of the client id."""

_INT16 = Struct(">h")
_FLEXIBLE_PRODUCE_MIN = 9


class IncompleteError(Exception):
    """More bytes of the frame are needed."""


def has_response(data: bytes | bytearray, start: int, end: int, api_version: int) -> bool:
    """Return whether a Produce request has one: not with acks=0.

    `data[start:end]` has its frame from the size field on, as far as it is there.

    Raises:
        IncompleteError: its acks are not there.
    """
    (client_id_bytes,) = _INT16.unpack_from(data, start + HEAD.size - _INT16.size)
    position = start + HEAD.size + max(0, client_id_bytes)
    try:
        if api_version >= _FLEXIBLE_PRODUCE_MIN:
            position = skip_tagged_fields(data, position, end)
            size, position = read_unsigned_varint(data, position)
            position += max(0, size - 1)
        else:
            size = int.from_bytes(data[position : position + _INT16.size], signed=True)
            position += _INT16.size + max(0, size)
    except (IndexError, DecodeError) as error:
        raise IncompleteError from error
    if position + _INT16.size > end:
        raise IncompleteError
    return data[position : position + _INT16.size] != b"\0\0"


def expects_response(request: bytes, api_version: int) -> bool:
    """Return whether a Produce request, a frame without its size, has a response.

    A malformed one has: the broker closes the connection.
    """
    data = len(request).to_bytes(SIZE_BYTES) + request
    try:
        return has_response(data, 0, len(data), api_version)
    except IncompleteError:
        return True
