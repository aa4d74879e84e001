"""Replace the addresses of brokers in a response; all other bytes stay as they are."""

from collections.abc import Callable, Generator
from struct import Struct

from broker.addresses import Address
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, encode_unsigned_varint
from protocol.messages import is_flexible, schema_versions
from proxy.response_walk import ENDS_EARLY, FoundAddress, Window, steps_of, walk

AdvertisedAddress = Callable[[int, Address], Address]
"""Returns the address to which clients connect for a node id and its own address."""

ADDRESS_APIS = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.FETCH,
        ApiKey.METADATA,
        ApiKey.FIND_COORDINATOR,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.SHARE_FETCH,
        ApiKey.SHARE_ACKNOWLEDGE,
    }
)
"""APIs whose responses may have addresses of brokers that clients connect to."""

STREAMED_APIS = frozenset({ApiKey.PRODUCE, ApiKey.FETCH})
"""Those whose addresses are in a tagged field at the end (KIP-951)."""

UNUSED_TAG = b"\x63"
"""A number that no tagged field of these responses has."""

_INT32, _INT16 = Struct(">i"), Struct(">h")

Edit = tuple[int, int, bytes]
"""Where bytes of a frame are replaced, and by which."""


def has_addresses(api_key: int, api_version: int) -> bool:
    """Return whether a response may have addresses.

    Raises:
        DecodeError: it has, and the version is unknown.
    """
    if api_key not in ADDRESS_APIS:
        return False
    key = ApiKey(api_key)
    low, high = schema_versions(key)
    if api_version > high:
        raise DecodeError(f"the addresses in {key.name} v{api_version} are unknown, up to v{high}")
    return api_version >= low and bool(steps_of(key, api_version))


def rewritten(
    frame: bytes, api_key: ApiKey, api_version: int, address_of: AdvertisedAddress
) -> bytes:
    """Return a response frame, which begins with its size, with other addresses.

    Raises:
        DecodeError: it is no such response.
    """
    window = Window(frame, 0, len(frame), len(frame))
    for _ in walk(api_key, api_version, window):
        raise DecodeError(ENDS_EARLY)
    if not window.addresses:
        return frame
    compact = is_flexible(api_key, api_version)
    edits = [_edit(found, address_of, compact=compact) for found in window.addresses]
    edits += [_resized(tag.size_start, tag.value_start, tag.end, edits) for tag in window.tags]
    edits.sort()
    parts, position = [], _INT32.size
    for start, end, replacement in edits:
        parts += [frame[position:start], replacement]
        position = end
    parts.append(frame[position:])
    return b"".join([_INT32.pack(sum(map(len, parts))), *parts])


def _edit(found: FoundAddress, address_of: AdvertisedAddress, *, compact: bool) -> Edit:
    host, port = found.host, found.port
    if found.node_id >= 0 and port > 0:
        advertised = address_of(found.node_id, Address(host, port))
        host, port = advertised.host, advertised.port
    text = host.encode()
    size = encode_unsigned_varint(len(text) + 1) if compact else _INT16.pack(len(text))
    return found.start, found.end, size + text + _INT32.pack(port)


def _resized(size_start: int, value_start: int, end: int, edits: list[Edit]) -> Edit:
    """Return the edit of the size of a tagged field whose value the edits change."""
    added = sum(
        len(replacement) - (edit_end - start)
        for start, edit_end, replacement in edits
        if value_start <= start < end
    )
    return size_start, value_start, encode_unsigned_varint(end - value_start + added)


class StreamedResponse:
    """A response of `STREAMED_APIS` that is passed on while it arrives.

    Its size has been sent before its end is there, so no address can be replaced. The tagged field
    that has them gets an unused number in its place: clients ignore it, and ask for metadata.
    """

    def __init__(self, api_key: ApiKey, api_version: int, frame_bytes: int) -> None:
        """`frame_bytes` is the size of the frame with its size field."""
        self._window = Window(b"", 0, 0, frame_bytes)
        self._walk: Generator[int, None, None] | None = walk(api_key, api_version, self._window)
        self._needed = 0

    def pass_on(self, data: bytes) -> bytes:
        """Take the next bytes of the frame, and return those that can be passed on."""
        window = self._window
        released = window.end - len(window.data)
        window.data = data = bytes(window.data) + data if window.data else data
        window.base, window.end = released, released + len(data)
        if self._walk is None or self._needed >= window.end < window.frame_end:
            window.data = b""
            return data
        tag_count = len(window.tags)
        try:
            self._needed = next(self._walk)
        except (StopIteration, DecodeError, UnicodeDecodeError):
            self._walk, self._needed = None, window.frame_end
        for tag in window.tags[tag_count:]:
            place = tag.start - window.base
            data = data[:place] + UNUSED_TAG + data[place + 1 :]
        if window.end == window.frame_end:
            self._walk = None
            return data
        kept = max(0, self._needed - window.base)
        window.data = data[kept:]
        return data[:kept]
