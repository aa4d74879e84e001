"""EndTxn without the schema's codec: every transaction ends with one.

Source: EndTxnRequest.json and EndTxnResponse.json.
"""

from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import NamedTuple

from protocol.short_fields import MALFORMED, end_of_tags, read_compact_text, read_text

PRODUCER_VERSION_MIN = 5
FLEXIBLE_VERSION_MIN = 3

_THROTTLE_TIME_MS = 0
_OLD = Struct(">ih")
_FLEXIBLE = Struct(">ihx")
encode_with_producer = Struct(">ihqhx").pack
"""Encode the body from version 5 on: throttle time in ms, error code, producer id and epoch."""
_PRODUCER_AND_RESULT = Struct(">qhB")


class ShortEndTxn(NamedTuple):
    """An EndTxn request."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool


_new_end_txn: Callable[[tuple[str, int, int, bool]], ShortEndTxn]
_new_end_txn = partial(tuple.__new__, ShortEndTxn)


def read_end_txn(
    api_version: int, frame: bytes | bytearray, start: int, end: int
) -> ShortEndTxn | None:
    """Return the request in `frame[start:end]`, or None if the schema's codec has to read it."""
    is_flexible = api_version >= FLEXIBLE_VERSION_MIN
    try:
        transactional_id, position = (read_compact_text if is_flexible else read_text)(frame, start)
        producer_id, producer_epoch, result = _PRODUCER_AND_RESULT.unpack_from(frame, position)
        position += _PRODUCER_AND_RESULT.size
        if is_flexible:
            position = end_of_tags(frame, position)
    except MALFORMED:
        return None
    if position != end or transactional_id is None or result > 1:
        return None
    return _new_end_txn((transactional_id, producer_id, producer_epoch, result == 1))


def encode_response(
    api_version: int, error_code: int, producer_id: int, producer_epoch: int
) -> bytes:
    """Encode the body; the producer is that of the next transaction, from version 5 on."""
    if api_version >= PRODUCER_VERSION_MIN:
        return encode_with_producer(_THROTTLE_TIME_MS, error_code, producer_id, producer_epoch)
    layout = _FLEXIBLE if api_version >= FLEXIBLE_VERSION_MIN else _OLD
    return layout.pack(_THROTTLE_TIME_MS, error_code)
