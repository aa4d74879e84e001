"""kafka-python's generated decoders and encoders, with loops that may pause.

kafka-python generates a function for each struct and version. The same generator makes these. They
pause in their loops (`protocol/pacing.py`), they read tagged fields without a copy of the rest of
the message, and they write into a separate buffer, which is as large as the message and not
kept.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from kafka.protocol.schemas.fields.codecs.encode_buffer import EncodeBuffer
from kafka.protocol.schemas.fields.codegen import CodegenContext

from protocol.message_schema import decoding_into, schema_of
from protocol.pacing import MessageTooLargeError, may_pause, paced_elements, paced_range

_LOOP = re.compile(r"for (\w+) in (\w[\w.]*):$")
_TAGS = "_BytesIO(bytes(data[pos:]))"
_FIRST_BYTES = 4096
_GROWTH = 5 / 4


class _Buffer(EncodeBuffer):
    """A buffer that grows by a quarter, up to a limit."""

    def __init__(self, bytes_max: int) -> None:
        super().__init__(_FIRST_BYTES)  # type: ignore[no-untyped-call]
        self._bytes_max = bytes_max

    def ensure(self, needed: int) -> None:
        """Make room for `needed` more bytes.

        Raises:
            MessageTooLargeError: the message would be larger than the limit.
        """
        size = self.pos + needed
        if size > len(self.buf):
            if size > self._bytes_max + _FIRST_BYTES:
                raise MessageTooLargeError(f"more than {self._bytes_max} bytes")
            size = max(size, min(int(len(self.buf) * _GROWTH), self._bytes_max))
            self.buf.extend(bytes(size - len(self.buf)))


class _TagReader:
    """Reads tagged fields where they are."""

    def __init__(self, data: memoryview, position: int) -> None:
        self._data = data
        self._start = self._position = position

    def read(self, size: int) -> bytes:
        start, self._position = self._position, self._position + size
        return bytes(self._data[start : self._position])

    def tell(self) -> int:
        return self._position - self._start


class _Context(CodegenContext):
    """Collects the lines of a generated function; its loops pause."""

    globs: dict[str, Any]

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.globs["paced_range"] = paced_range
        self.globs["paced_elements"] = paced_elements
        self.globs["_TagReader"] = _TagReader

    def emit(self, indent: str, line: str) -> None:
        line = line.replace(_TAGS, "_TagReader(data, pos)")
        line = line.replace("in range(", "in paced_range(")
        line = _LOOP.sub(r"for \1 in paced_elements(\2):", line)
        super().emit(indent, line)  # type: ignore[no-untyped-call]

    def function(self, name: str) -> Any:
        source = self.source()  # type: ignore[no-untyped-call]
        code = compile(source, "<paced codec>", "exec")
        exec(code, self.globs)  # noqa: S102 - kafka-python generates it from the schemas
        return self.globs[name]


def paced_decoder(message_class: Any, api_version: int) -> Callable[[memoryview, int], Any]:
    """Return a function from data and position to a message and the position after it."""
    flexible = bool(message_class.flexible_version_q(api_version))
    struct = schema_of(message_class)
    context = _Context()
    context.lines.append("def _decode(data, pos):")
    with decoding_into(struct, message_class):
        struct.emit_decode_from(
            context, "obj", "    ", version=api_version, compact=flexible, tagged=flexible
        )
    context.emit("    ", "return obj, pos")
    decode: Callable[[memoryview, int], Any] = context.function("_decode")
    return decode


@cache
def _encoder(message_class: Any, api_version: int) -> Callable[[Any, EncodeBuffer], None]:
    flexible = bool(message_class.flexible_version_q(api_version))
    context = _Context()
    context.lines.append("def _encode(item, out):")
    for line in ("buf = out.buf", "pos = out.pos", "_cap = len(buf)"):
        context.emit("    ", line)
    schema_of(message_class).emit_encode_into(
        context, "item", "    ", version=api_version, compact=flexible, tagged=flexible
    )
    context.emit("    ", "out.pos = pos")
    encode: Callable[[Any, EncodeBuffer], None] = context.function("_encode")
    return encode


@may_pause
def encode_paced(message: Any, api_version: int, bytes_max: int) -> bytearray:
    """Return the body of a message.

    Raises:
        MessageTooLargeError: it has more than `bytes_max` bytes.
    """
    message_class: Any = type(message)
    out = _Buffer(bytes_max)
    _encoder(message_class, api_version)(message, out)
    del out.buf[out.pos :]
    if len(out.buf) > bytes_max:
        raise MessageTooLargeError(f"more than {bytes_max} bytes")
    body: bytearray = out.buf
    return body
