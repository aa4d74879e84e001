"""Write protocol/message_types.pyi, the types of all messages, from their schemas.

python -m scripts.message_stubs           write it
python -m scripts.message_stubs --check   exit 1 when it is stale
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from protocol import messages
from protocol.message_schema import is_ever_nullable, schema_of
from scripts.generated_page import write_or_check

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "protocol" / "message_types.pyi"

SIMPLE_TYPES = {
    "bool": "bool",
    "int8": "int",
    "int16": "int",
    "uint16": "int",
    "int32": "int",
    "int64": "int",
    "float64": "float",
    "string": "str",
    "bytes": "bytes",
    "records": "bytes",
    # kafka-python decodes the id 0 and "no operations" to None.
    "uuid": "UUID | None",
    "bitfield": "Set[int] | None",
}

HEAD = '''\
# Generated from the schemas of the messages: python -m scripts.message_stubs
"""The types of the messages, for type checkers only; `protocol/messages.py` has the classes.

A field may be None if its schema declares it nullable in any version, and where kafka-python
decodes a value to None. A field that a version lacks has the default of the schema.
"""

from collections.abc import Set
from typing import Any, ClassVar, Generic, Self, TypeVar, dataclass_transform
from uuid import UUID

@dataclass_transform(kw_only_default=True)
class _Fields:
    tags: set[str] | None
    unknown_tags: dict[str, Any] | None

class Struct(_Fields):
    version: int | None = ...

class Message(Struct):
    API_KEY: ClassVar[int]
    def with_header(self, correlation_id: int = 0, client_id: str = "kafka-python") -> None: ...
    def encode(
        self, version: int | None = None, header: bool = False, framed: bool = False
    ) -> bytes: ...
    @classmethod
    def decode(
        cls,
        data: bytes | memoryview,
        version: int | None = None,
        header: bool = False,
        framed: bool = False,
    ) -> Self: ...

ResponseT = TypeVar("ResponseT", bound=Message, covariant=True)

class Request(Message, Generic[ResponseT]): ...
'''


def field_type(field: Any) -> str:
    """Return the annotation of a field."""
    if field.is_struct():
        declared = field.type_str
    elif field.is_struct_array():
        declared = f"list[{field.type_str}]"
    elif field.is_array():
        declared = f"list[{SIMPLE_TYPES[field.array_of.type_str]}]"
    else:
        declared = SIMPLE_TYPES[field.type_str]
    # An absent struct in a tagged field is None.
    is_nullable = is_ever_nullable(field) or (field.is_struct() and field.tag is not None)
    return f"{declared} | None" if is_nullable and not declared.endswith("None") else declared


def class_lines(name: str, base: str, struct: Any) -> Iterator[str]:
    """Declare the class of a message or struct, with the structs inside it."""
    yield f"class {name}({base}):"
    inner = {
        field.type_str: field
        for field in struct.fields.values()
        if field.is_struct() or field.is_struct_array()
    }
    for inner_name, field in inner.items():
        yield from (f"    {line}" for line in class_lines(inner_name, "Struct", field))
    for field in struct.fields.values():
        yield f"    {field.name}: {field_type(field)} = ..."


def render() -> str:
    """Return the stubs of every request and response."""
    lines = [HEAD]
    for name in messages.MESSAGE_NAMES:
        base = "Message"
        if name.endswith("Request"):
            base = f"Request[{name.removesuffix('Request')}Response]"
        lines += [*class_lines(name, base, schema_of(getattr(messages, name))), ""]
    return "\n".join(lines)


def main() -> int:
    """Write the stubs, or with --check compare them."""
    return write_or_check(TARGET, render(), "scripts.message_stubs")


if __name__ == "__main__":
    sys.exit(main())
