"""A struct in a tagged field that can be null, which kafka-python writes like an untagged one.

Outside of tagged fields a null struct is the byte -1. In one it is 0, and 1 precedes a struct. A
field that is absent is not null: it is the struct with all defaults, which is never written.

Sources: MessageDataGenerator of Kafka's build, by the classes that it generates.
"""

from typing import Any

from kafka.protocol.schemas import StructField

from protocol.message_schema import is_ever_nullable

_NULL, _PRESENT = b"\x00", b"\x01"


class NullableTaggedStruct(StructField):
    """The field of such a struct. Version and encoding arguments are kafka-python's."""

    @classmethod
    def use_in(cls, struct: Any) -> None:
        """Use this class for all fields of a schema that are such structs."""
        for field in struct.fields.values():
            if field.is_struct() and field.tag is not None and is_ever_nullable(field):
                field.__class__ = cls

    @property
    def default(self) -> Any:
        """A struct with all defaults."""
        return self.data_class()

    def nullable_for_version_q(self, version: int) -> bool:
        """Return False: the marks that kafka-python would write are those outside of tags."""
        return False

    def encode_into(
        self,
        item: Any,
        out: Any,
        version: Any = None,
        compact: Any = False,
        tagged: Any = False,
    ) -> None:
        """Append a mark, and the struct unless it is None."""
        out.ensure(1)
        out.buf[out.pos : out.pos + 1] = _NULL if item is None else _PRESENT
        out.pos += 1
        if item is not None:
            struct: Any = super()
            struct.encode_into(item, out, version, compact, tagged)

    def decode(
        self,
        data: Any,
        version: Any = None,
        compact: Any = False,
        tagged: Any = False,
        data_class: Any = None,
    ) -> Any:
        """Read a mark, and the struct unless it is null."""
        if data.read(1) == _NULL:
            return None
        struct: Any = super()
        return struct.decode(data, version, compact, tagged, data_class)
