"""Read a long JSON body piece by piece, so that the requests of clients come in between.

msgspec decodes and converts a document of 32 MB in one call, which takes seconds if it has many
small objects. This reader decodes and converts a few elements of a long list in each call.
"""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from broker.http_admin.operation import Problem, convert_body, decode_json
from protocol.pacing import current_turn, may_pause

ELEMENTS_MAX = 1_000_000
"""Elements of all lists that are read piece by piece; each takes memory until it is loaded."""

CHUNK_ELEMENTS = 64
CHUNK_CHARACTERS = 64 * 1024
"""Elements that are converted together, and the text after which no more are."""

_find_end = json.JSONDecoder().raw_decode
_whitespace = re.compile(r"[ \t\n\r]*")


@may_pause
def read_long_body(body: bytes, body_type: type[msgspec.Struct], opened: frozenset[type]) -> Any:
    """Return a document as a struct, as `msgspec.convert` does.

    `opened` are the types whose lists of structs are read element by element; all other values are
    read in one go.

    Raises:
        Problem: 400, it is not valid, or has more than `ELEMENTS_MAX` elements.
    """
    reader = _Reader(body.decode(), opened)
    value, index = reader.read(reader.skip(0), body_type, "$")
    index = reader.skip(index)
    if index < len(reader.text):
        raise reader.invalid("the end", index)
    return value


class _Reader:
    """Reads one document; an index is a position in its text."""

    def __init__(self, text: str, opened: frozenset[type]) -> None:
        self.text = text
        self._opened = opened
        self._element_count = 0
        self._turn = current_turn()

    @may_pause
    def read(self, index: int, value_type: Any, path: str) -> tuple[Any, int]:
        """Return the value at an index, and the index after it."""
        if value_type in self._opened and self.text.startswith("{", index):
            return self._read_struct(index, value_type, path)
        end = self._end_of_value(index)
        # msgspec refuses what Python's json takes, such as NaN and halves of surrogate pairs.
        value = decode_json(self.text[index:end])
        return convert_body(value, value_type, path), end

    @may_pause
    def _read_struct(
        self, index: int, struct_type: type[msgspec.Struct], path: str
    ) -> tuple[Any, int]:
        types = _fields_of(struct_type)
        values: dict[str, Any] = {}
        lists: dict[str, list[Any]] = {}

        def read_field(index: int) -> int:
            end = self._end_of_value(index)
            name = decode_json(self.text[index:end])
            if not isinstance(name, str):
                raise self.invalid("a name of a field", index)
            index = self._skip_to(end, ":")
            field_path = f"{path}.{name}"
            if name not in types:
                raise Problem(
                    400, f"Object contains unknown field `{name}`", location="body", at=path
                )
            field_type, element_type = types[name]
            lists.pop(name, None)
            if element_type is not None and self.text.startswith("[", index):
                lists[name], index = self._read_list(index, element_type, field_path)
                # One element stands for all: some fields must have one.
                values[name] = lists[name][:1]
            else:
                values[name], index = self.read(index, field_type, field_path)
            return index

        index = self._read_members(index, "}", read_field)
        struct = convert_body(values, struct_type, path)
        for name, elements in lists.items():
            setattr(struct, name, elements)
        return struct, index

    @may_pause
    def _read_list(self, index: int, element_type: Any, path: str) -> tuple[list[Any], int]:
        elements: list[Any] = []

        def read_elements(index: int) -> int:
            if self._turn is not None:
                self._turn.pause()
            if element_type in self._opened:
                element, index = self.read(index, element_type, f"{path}[{len(elements)}]")
                chunk = [element]
            else:
                chunk, index = self._read_chunk(index, element_type, path, len(elements))
            elements.extend(chunk)
            self._element_count += len(chunk)
            if self._element_count > ELEMENTS_MAX:
                raise Problem(
                    400, f"the lists have more than {ELEMENTS_MAX} elements", location="body"
                )
            return index

        index = self._read_members(index, "]", read_elements)
        return elements, index

    def _read_chunk(
        self, index: int, element_type: Any, path: str, first: int
    ) -> tuple[list[Any], int]:
        """Return the next elements of a list, converted together; the first has number `first`."""
        start = index
        for _ in range(CHUNK_ELEMENTS):
            end = self._end_of_value(index)
            index = self.skip(end)
            if end - start > CHUNK_CHARACTERS or not self.text.startswith(",", index):
                break
            index = self.skip(index + 1)
        documents = decode_json(f"[{self.text[start:end]}]")
        try:
            return msgspec.convert(documents, list[element_type]), end
        except msgspec.ValidationError:
            # One by one, for the path of the invalid one.
            return [
                convert_body(document, element_type, f"{path}[{number}]")
                for number, document in enumerate(documents, first)
            ], end

    @may_pause
    def _read_members(self, index: int, bracket: str, read: Callable[[int], int]) -> int:
        """Read the members behind a bracket up to the closing one; return the index after it."""
        index = self.skip(index + 1)
        if self.text.startswith(bracket, index):
            return index + 1
        index = self.skip(read(index))
        while not self.text.startswith(bracket, index):
            index = self.skip(read(self._skip_to(index, ",")))
        return index + 1

    def skip(self, index: int) -> int:
        """Return the index of the next character that is no whitespace."""
        found = _whitespace.match(self.text, index)
        assert found is not None
        return found.end()

    def _skip_to(self, index: int, character: str) -> int:
        """Return the index of the value behind a character, which must come next."""
        index = self.skip(index)
        if not self.text.startswith(character, index):
            raise self.invalid(f"{character!r}", index)
        return self.skip(index + 1)

    def _end_of_value(self, index: int) -> int:
        try:
            return _find_end(self.text, index)[1]
        except json.JSONDecodeError as error:
            raise Problem(400, f"invalid JSON: {error}", location="body") from error

    def invalid(self, expected: str, index: int) -> Problem:
        """Return the problem of text that is not what must come next."""
        reason = f"invalid JSON: expected {expected} (character {index})"
        return Problem(400, reason, location="body")


@cache
def _fields_of(struct_type: type[msgspec.Struct]) -> dict[str, tuple[Any, Any]]:
    """Return the types of the fields, and of the elements of those that are lists, or None."""
    hints = get_type_hints(struct_type, include_extras=True)
    return {name: (hint, _element_type(hint)) for name, hint in hints.items()}


def _element_type(field_type: Any) -> Any:
    """Return the type of the elements of a list; None if it is no type of a list."""
    if get_origin(field_type) is Annotated:
        field_type = get_args(field_type)[0]
    return get_args(field_type)[0] if get_origin(field_type) is list else None
