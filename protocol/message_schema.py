"""kafka-python's schemas of messages: it has no public names for what these functions return."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def schema_of(message: Any) -> Any:
    """Return the schema of a message or struct or of its class: `fields`, decoder and encoder.

    Raises:
        AttributeError: it is none of kafka-python's.
    """
    return message._struct


def is_ever_nullable(field: Any) -> bool:
    """Return whether a field may be null in some version."""
    return field._nullable_versions is not None


@contextmanager
def decoding_into(schema: Any, message_class: Any) -> Iterator[None]:
    """Have decoders that are generated inside the block return messages of this class."""
    saved, schema._data_class = schema._data_class, message_class
    try:
        yield
    finally:
        schema._data_class = saved
