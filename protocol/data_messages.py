"""Messages that are neither requests nor responses: a version (int16), then the fields.

Clients put them into the bytes of a request, such as the subscription of a group's member;
coordinators put them into the records of their topics.

Sources: org.apache.kafka.common.protocol.MessageUtil (`toVersionPrefixedBytes`).
"""

from functools import cache
from struct import Struct
from types import new_class
from typing import TYPE_CHECKING, Any

from protocol import schemas
from protocol.codec import DecodeError, decode_body
from protocol.message_schema import schema_of

if TYPE_CHECKING:  # `__getattr__` imports them
    from kafka.protocol.consumer import ConsumerProtocolAssignment, ConsumerProtocolSubscription

__all__ = [
    "ConsumerProtocolAssignment",
    "ConsumerProtocolSubscription",
    "data_class",
    "decode_data",
    "encode_data",
    "encode_fields",
    "read_prefix",
]

_PREFIX = Struct(">h")

if not TYPE_CHECKING:  # else it would allow any name

    def __getattr__(name: str) -> Any:
        """Return a class of kafka-python, whose module has the schemas of many other messages."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from kafka.protocol import consumer  # noqa: PLC0415 - see ADR 24

        made = globals()[name] = getattr(consumer, name)
        return made


def data_class(name: str) -> Any:
    """Return the class of a message whose schema is in `protocol/schemas/`."""
    from kafka.protocol.api_data import ApiData  # noqa: PLC0415 - see ADR 24

    from protocol.tagged_struct import NullableTaggedStruct  # noqa: PLC0415

    made: Any = new_class(
        name,
        (ApiData,),
        {"load_json": schemas},
        lambda attributes: attributes.update(__module__=__name__),
    )
    NullableTaggedStruct.use_in(schema_of(made))
    return made


def encode_data(message: Any, version: int) -> bytes:
    """Encode a version and the fields that a message has in it."""
    return _PREFIX.pack(version) + encode_fields(message, version)


def encode_fields(message: Any, version: int) -> bytes:
    """Encode the fields that a message has in a version."""
    is_flexible = bool(message.flexible_version_q(version))
    encode = schema_of(message).compiled_encode_into(
        version, compact=is_flexible, tagged=is_flexible
    )
    with _buffer_pool().acquire() as out:
        encode(message, out)
        return bytes(out.result())


@cache
def _buffer_pool() -> Any:
    from kafka.protocol.schemas.fields.codecs import encode_buffer  # noqa: PLC0415 - see ADR 24

    return encode_buffer.EncodeBufferPool


def decode_data(message_class: Any, data: bytes | memoryview) -> Any:
    """Decode a version and fields; bytes behind them are ignored, as Kafka does.

    Raises:
        DecodeError: the bytes are no such message, or of a version without a schema.
    """
    version = read_prefix(data)
    low, high = message_class.valid_versions
    if not low <= version <= high:
        raise DecodeError(f"{message_class.name} has versions {low} to {high}, not {version}")
    return decode_body(message_class, version, memoryview(data)[_PREFIX.size :])


def read_prefix(data: bytes | memoryview) -> int:
    """Return the int16 that the bytes begin with: a version, or the type of a record's key.

    Raises:
        DecodeError: there are fewer than two bytes.
    """
    if len(data) < _PREFIX.size:
        raise DecodeError(f"{len(data)} bytes are too short for a version")
    prefix: int = _PREFIX.unpack_from(data)[0]
    return prefix
