"""YAML whose every complaint names the file, the line, the field and the nearest known word."""

from collections.abc import Iterable
from typing import Any, NoReturn

import yaml

from protocol.suggestions import did_you_mean


class PlanError(Exception):
    """A plan makes no sense; one line that says where, what, and what was meant perhaps."""


def read_mapping(text: str, source: str) -> "Section":
    """The mapping that a document is.

    Raises:
        PlanError: it is no YAML, or no mapping.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = 0 if mark is None else mark.line + 1
        raise PlanError(f"{source}:{line}: {error.problem}") from error
    except yaml.YAMLError as error:
        raise PlanError(f"{source}: {error}") from error
    return Section(node, source, "")


class Section:
    """One mapping of a document; every field is taken once, and `end` refuses what is left."""

    def __init__(self, node: Any, source: str, path: str) -> None:
        """`path` is where it stands, such as `tenants[0]`; "" for the document itself."""
        self._source = source
        self._path = path
        self._line = 1 if node is None else node.start_mark.line + 1
        if not isinstance(node, yaml.MappingNode):
            raise self._error(self._line, path or "the plan", "expected a mapping")
        self._nodes: dict[str, yaml.Node] = {}
        self._known: set[str] = set()
        for key_node, value_node in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if key in self._nodes:
                raise self._error(line, self._name(key), "given twice")
            self._nodes[key] = value_node

    def text(self, key: str, default: str | None = None) -> str:
        """A field of words; required without a default."""
        return str(self._scalar(key, default, (str,), "text"))

    def optional_text(self, key: str) -> str | None:
        """A field of words that may be missing."""
        return None if self._is_missing(key) else self.text(key)

    def word(self, key: str, known: Iterable[str], default: str | None = None) -> str:
        """One of the known words."""
        word, choices = str(self._scalar(key, default, (str, int), "a word")), list(known)
        if word not in choices:
            self.refuse(key, f"{word!r} is unknown{_nearest(word, choices)}")
        return word

    def number(
        self, key: str, default: float | None = None, *, above: float = 0.0, most: float = 1e9
    ) -> float:
        """A number greater than `above` and at most `most`."""
        value = float(self._scalar(key, default, (int, float), "a number"))
        if not above < value <= most:
            self.refuse(key, f"{value:g} is not above {above:g} and at most {most:g}")
        return value

    def integer(
        self, key: str, default: int | None = None, *, least: int = 1, most: int = 2**31 - 1
    ) -> int:
        """A whole number from `least` to `most`."""
        value = int(self._scalar(key, default, (int,), "a whole number"))
        if not least <= value <= most:
            self.refuse(key, f"{value} is not within {least} and {most}")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        return bool(self._scalar(key, default, (bool,), "true or false"))

    def words(self, key: str, known: Iterable[str], default: tuple[str, ...]) -> tuple[str, ...]:
        """A list of known words."""
        if self._is_missing(key):
            return default
        found, choices = self._value(key), list(known)
        if not isinstance(found, list) or not found:
            self.refuse(key, f"expected a list of {', '.join(choices)}")
        for word in found:
            if word not in choices:
                self.refuse(key, f"{word!r} is unknown{_nearest(str(word), choices)}")
        return tuple(found)

    def properties(self, key: str) -> dict[str, str]:
        """A mapping of names to scalars, as a properties file would have them."""
        if self._is_missing(key):
            return {}
        section = Section(self._nodes[key], self._source, self._name(key))
        found = {}
        for name in section._nodes:
            value = section._value(name)
            if isinstance(value, dict | list) or value is None:
                section.refuse(name, "expected one value")
            found[name] = str(value).lower() if isinstance(value, bool) else str(value)
        return found

    def section(self, key: str) -> "Section":
        """The mapping under a key; an empty one when it is missing."""
        if self._is_missing(key):
            return Section(yaml.compose("{}"), self._source, self._name(key))
        return Section(self._nodes[key], self._source, self._name(key))

    def sections(self, key: str) -> "list[Section]":
        """The list of mappings under a key."""
        if self._is_missing(key):
            return []
        node = self._nodes[key]
        if not isinstance(node, yaml.SequenceNode):
            self.refuse(key, "expected a list")
        return [
            Section(each, self._source, f"{self._name(key)}[{index}]")
            for index, each in enumerate(node.value)
        ]

    def has(self, key: str) -> bool:
        """Whether a field is given."""
        return key in self._nodes

    def know(self, *keys: str) -> None:
        """These fields may be there, whether they are asked for or not."""
        self._known.update(keys)

    def refuse(self, key: str | None, reason: str) -> NoReturn:
        """Raise for a field of this mapping, or for the mapping itself.

        Raises:
            PlanError: always.
        """
        node = self._nodes.get(key or "")
        line = self._line if node is None else node.start_mark.line + 1
        raise self._error(line, self._name(key) if key else self._path, reason)

    def end(self) -> None:
        """Refuse fields that nobody asked for."""
        for key in self._nodes:
            if key not in self._known:
                self.refuse(key, f"unknown field{_nearest(key, sorted(self._known))}")

    def _is_missing(self, key: str) -> bool:
        self._known.add(key)
        return key not in self._nodes

    def _scalar(self, key: str, default: Any, kinds: tuple[type, ...], what: str) -> Any:
        if self._is_missing(key):
            if default is None:
                self.refuse(None, f"{key} is missing")
            return default
        value = self._value(key)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            self.refuse(key, f"expected {what}, not {value!r}")
        return value

    def _value(self, key: str) -> Any:
        return yaml.SafeLoader("").construct_document(self._nodes[key])

    def _name(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def _error(self, line: int, name: str, reason: str) -> PlanError:
        return PlanError(f"{self._source}:{line}: {name}: {reason}")


def _nearest(word: str, known: list[str]) -> str:
    return did_you_mean(word, known) or f"; known: {', '.join(known)}"
