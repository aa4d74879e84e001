"""EndTxnResponse as bytes: it is sent for every transaction, and the general encoder is slower.

The layout is that of Kafka's EndTxnResponse.json.
"""

from struct import Struct

PRODUCER_VERSION_MIN = 5
FLEXIBLE_VERSION_MIN = 3

_THROTTLE_TIME_MS = 0
_OLD = Struct(">ih")
_FLEXIBLE = Struct(">ihx")
_WITH_PRODUCER = Struct(">ihqhx")


def encode_response(
    api_version: int, error_code: int, producer_id: int, producer_epoch: int
) -> bytes:
    """Encode the body; the producer is that of the next transaction, from version 5 on."""
    if api_version >= PRODUCER_VERSION_MIN:
        return _WITH_PRODUCER.pack(_THROTTLE_TIME_MS, error_code, producer_id, producer_epoch)
    layout = _FLEXIBLE if api_version >= FLEXIBLE_VERSION_MIN else _OLD
    return layout.pack(_THROTTLE_TIME_MS, error_code)
