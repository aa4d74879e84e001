"""Read YAML into msgspec types; each error names the file, the line, the field and its fix."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, TypeVar

import msgspec
import yaml
from msgspec import inspect

from loadgen.command_error import CommandError
from protocol.suggestions import did_you_mean

T = TypeVar("T")
FieldPath = tuple[str | int, ...]
"""Keys and indexes from the root, such as ("tenants", 0, "name")."""

_ERROR = re.compile(r"(?P<reason>.*?)(?: - at (?:`key` in )?`\$(?P<path>.*)`)?", re.DOTALL)
_STEP = re.compile(r"\[(\d+|\.\.\.)\]|\.([^.\[]+)")
_FIELD_ERROR = re.compile(r"Object (contains unknown|missing required) field `(.*)`")
_ANY_KEY = "..."


class PlanError(CommandError):
    """A plan is invalid; the message is one line."""


class YamlDocument:
    """A YAML document with the line of each field."""

    def __init__(self, text: str, source: str, root_name: str = "the plan") -> None:
        """Parse `text`; `source` names it in errors, and `root_name` what it describes.

        Raises:
            PlanError: it is not YAML, not a mapping, or has a key twice.
        """
        self._source = source
        self._root_name = root_name
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
            self._root = root
            self._refuse_duplicate_keys(root, ())
            self.data: Any = None if root is None else yaml.SafeLoader("").construct_document(root)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            line = 0 if mark is None else mark.line + 1
            raise PlanError(f"{source}:{line}: {error.problem}") from error
        except yaml.YAMLError as error:
            raise PlanError(f"{source}: {error}") from error
        if not isinstance(self.data, dict):
            self.refuse((), "expected a mapping")

    def has(self, path: FieldPath) -> bool:
        """Return whether the document contains this field."""
        return len(self._nodes(path)) == len(path) + 1

    def convert(self, data_type: type[T]) -> T:
        """Return the document as a value of this msgspec type.

        Raises:
            PlanError: it does not fit.
        """
        try:
            return msgspec.convert(self.data, data_type)
        except msgspec.ValidationError as error:
            self._refuse_invalid(str(error), data_type)

    def refuse(self, path: FieldPath, reason: str) -> NoReturn:
        """Raise for a field, with the line of the field or of its nearest parent that exists.

        Raises:
            PlanError: always.
        """
        nodes = self._nodes(path)
        line = 1 if nodes[-1] is None else nodes[-1].start_mark.line + 1
        raise PlanError(f"{self._source}:{line}: {_name(path) or self._root_name}: {reason}")

    def _refuse_invalid(self, message: str, data_type: type) -> NoReturn:
        """Raise for an error of msgspec, which names a path and a reason."""
        match = _ERROR.fullmatch(message)
        assert match is not None  # every part of the pattern is optional
        path = self._path(match["path"] or "")
        reason = match["reason"].replace("`", "")
        field_error = _FIELD_ERROR.fullmatch(match["reason"])
        if field_error is not None:
            kind, field = field_error.groups()
            if kind == "missing required":
                self.refuse(path, f"{field} is missing")
            known = _field_names(data_type, path)
            self.refuse((*path, field), f"unknown field{suggestion(field, known)}")
        value = self._value(path)
        if reason.startswith("Invalid enum value"):
            known = [str(word) for word in _known_values(data_type, path)]
            self.refuse(path, f"{value!r} is unknown{suggestion(str(value), known)}")
        expected = reason.partition(", got ")[0]
        self.refuse(path, f"{expected[0].lower()}{expected[1:]}, not {value!r}")

    def _path(self, text: str) -> FieldPath:
        """Return the path in a message of msgspec, which has `[...]` for the key of a mapping."""
        path: FieldPath = ()
        for index, key in _STEP.findall(text):
            if index == _ANY_KEY:
                found = self._value(path)
                path = (*path, next(k for k, v in found.items() if not isinstance(v, str)))
            else:
                path = (*path, key or int(index))
        return path

    def _value(self, path: FieldPath) -> Any:
        value = self.data
        for step in path:
            value = value[step]
        return value

    def _nodes(self, path: FieldPath) -> list[Any]:
        """Return the nodes along a path, as far as they exist, with the root first."""
        nodes = [self._root]
        for step in path:
            node = nodes[-1]
            if isinstance(node, yaml.MappingNode):
                found = [value for key, value in node.value if str(key.value) == str(step)]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                found = node.value[step : step + 1]
            else:
                found = []
            if not found:
                break
            nodes.append(found[0])
        return nodes

    def _refuse_duplicate_keys(self, node: Any, path: FieldPath) -> None:
        for step, key_node, value_node in _children(node):
            if key_node is not None and any(
                other is not key_node and other.value == key_node.value for other, _ in node.value
            ):
                last = [key for key, _ in node.value if key.value == key_node.value][-1]
                line = last.start_mark.line + 1
                name = _name((*path, step))
                raise PlanError(f"{self._source}:{line}: {name}: given twice")
            self._refuse_duplicate_keys(value_node, (*path, step))


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return the end of a message that names the nearest known word, or else all of them."""
    words = list(dict.fromkeys(known))
    return did_you_mean(word, words) or f"; known: {', '.join(words)}"


def _name(path: FieldPath) -> str:
    name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return name.removeprefix(".")


def _children(node: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """Yield the step, the key node (None in a sequence) and the value node of each child."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield str(key.value), key, value
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield index, None, value


def _type_at(data_type: type, path: FieldPath) -> list[inspect.Type]:
    """Return the types that the value at a path may have."""
    types = [inspect.type_info(data_type)]
    for step in path:
        types = [
            inner
            for outer in _alternatives(types)
            for inner in (
                [field.type for field in outer.fields if field.encode_name == step]
                if isinstance(outer, inspect.StructType)
                else [outer.item_type]
                if isinstance(outer, inspect.VarTupleType)
                else []
            )
        ]
    return list(_alternatives(types))


def _alternatives(types: Iterable[inspect.Type]) -> Iterator[inspect.Type]:
    for found in types:
        yield from found.types if isinstance(found, inspect.UnionType) else (found,)


def _field_names(data_type: type, path: FieldPath) -> list[str]:
    types = _type_at(data_type, path)
    structs = [found for found in types if isinstance(found, inspect.StructType)]
    return sorted(field.encode_name for struct in structs for field in struct.fields)


def _known_values(data_type: type, path: FieldPath) -> list[Any]:
    literals = [
        found for found in _type_at(data_type, path) if isinstance(found, inspect.LiteralType)
    ]
    return sorted((value for literal in literals for value in literal.values), key=str)
