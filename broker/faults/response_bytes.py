"""Response frames with wrong bytes: frames in, frames out."""

import hashlib
from struct import Struct

_SIZE = Struct(">i")
SIZE_BYTES = 4
HEADER_BYTES = 8
"""Size and correlation id. The id stays right, so that the client knows the request."""


def fraction(seed: int, number: int, purpose: str) -> float:
    """Return a number from 0 to below 1 that depends only on the arguments."""
    digest = hashlib.blake2b(f"{seed}/{number}/{purpose}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / (1 << 53)


def truncated(frame: bytes, byte_count: int) -> bytes:
    """Return the frame without its last bytes, but at least up to the correlation id."""
    kept = frame[: max(HEADER_BYTES, len(frame) - byte_count)]
    return _resized(kept)


def corrupted(frame: bytes, byte_count: int, seed: int, number: int) -> bytes:
    """Return the frame with bytes behind the correlation id changed, at random places."""
    wrong = bytearray(frame)
    places = list(range(HEADER_BYTES, len(frame)))
    for turn in range(min(byte_count, len(places))):
        # A partial shuffle, because a place that is changed twice may get its old byte back.
        pick = turn + int(fraction(seed, number, f"place {turn}") * (len(places) - turn))
        places[turn], places[pick] = places[pick], places[turn]
        wrong[places[turn]] ^= 1 + int(fraction(seed, number, f"byte {turn}") * 255)
    return bytes(wrong)


def oversized(frame: bytes, byte_count: int) -> bytes:
    """Return the frame with zeros appended."""
    return _resized(frame + bytes(byte_count))


def announced(frame: bytes, size_bytes: int) -> bytes:
    """Return the frame with another size in front of it."""
    return _SIZE.pack(size_bytes) + frame[SIZE_BYTES:]


def beginning(frame: bytes, byte_count: int | None) -> bytes:
    """Return the first bytes of the frame, at most all but one; half of it for None."""
    return frame[: min(len(frame) // 2 if byte_count is None else byte_count, len(frame) - 1)]


def _resized(frame: bytes) -> bytes:
    return announced(frame, len(frame) - SIZE_BYTES)
