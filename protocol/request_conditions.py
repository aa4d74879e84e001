"""Conditions on the fields of a request, each by the path of its field.

A path has the names of Kafka's schema in snake case, as in the journal, such as
`topics[].partitions[].partition_index`. `[]` stands for any element of an array. Conditions whose
paths begin alike are about one element: `topics[].name` and `topics[].partitions[]` fit a request
that names such a partition of such a topic. A field that the version of the request lacks fits no
condition, and neither does a value that the journal hides. The name of a topic is looked up if the
request has its id instead.

A condition is a value, `{"matches": ...}` with an expression of RE2 for the whole text,
`{"min": ..., "max": ...}` for a number, or a list of these, of which one has to fit. Values have
the form of `protocol/field_values.py`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.field_values import INTEGERS, simple_value
from protocol.json_view import (
    BATCH_FIELDS,
    BATCHES,
    SECRET_FIELDS,
    SUMMARY_FIELDS,
    MayShow,
    batch_summaries,
)
from protocol.message_schema import is_ever_nullable, schema_of
from protocol.pacing import may_pause, paced
from protocol.regular_expressions import full_match, regex_problem
from protocol.request_targets import TOPIC_ID, TopicNames, may_be_an_id, topic_of
from protocol.suggestions import did_you_mean

CONDITIONS_MAX = 32
"""Conditions of one rule."""
VALUES_MAX = 1_000
"""Values of a list, of which one has to fit."""

_ELEMENT = "[]"
_MATCHES, _MIN, _MAX = "matches", "min", "max"

Test = Callable[[Any], bool]
"""Returns whether the value of a field fits."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What conditions depend on beside a request.

    Attributes:
        may_show: returns whether a condition may depend on the value of a configuration.
        topic_name: returns the name of a topic id.
    """

    may_show: MayShow
    topic_name: TopicNames


@dataclass(frozen=True, slots=True)
class _SummaryField:
    """A field of the summary that the journal has in place of records, as a field of a schema."""

    name: str
    type_str: str = ""
    array_of: Any = None
    fields: Mapping[str, "_SummaryField"] = field(default_factory=dict)

    def is_array(self) -> bool:
        return self.array_of is not None

    def is_struct(self) -> bool:
        return False

    def is_struct_array(self) -> bool:
        return self.is_array()

    def for_version_q(self, _version: int) -> bool:
        return True


def _summary(kinds: Mapping[str, str]) -> dict[str, _SummaryField]:
    return {name: _SummaryField(name, kind) for name, kind in kinds.items()}


_BATCH = _SummaryField(BATCHES, fields=_summary(BATCH_FIELDS))
_SUMMARY = {**_summary(SUMMARY_FIELDS), BATCHES: _SummaryField(BATCHES, array_of=_BATCH)}


@dataclass(slots=True)
class Node:
    """The conditions on a field, or on one element of it if `is_element`."""

    declared: Any = None
    is_element: bool = False
    topic_id: Any = None
    """The field beside it with the id of the topic, if the field has the name of one."""
    is_config_value: bool = False
    tests: list[Test] = field(default_factory=list)
    children: dict[str, "Node"] = field(default_factory=dict)
    """By the part of the path, such as `partitions[]`."""

    @property
    def has_summary(self) -> bool:
        """Whether the children are about the summary of records."""
        return (
            bool(self.children)
            and self.declared is not None
            and self.declared.type_str == "records"
        )

    def child(self, array: str) -> "Node | None":
        """Return the conditions on an element of an array, or None."""
        return self.children.get(array + _ELEMENT)

    def is_in(self, api_version: int) -> bool:
        """Return whether a request of this version has the field, or an id in its place."""
        return self.declared.for_version_q(api_version) or (
            self.topic_id is not None and self.topic_id.for_version_q(api_version)
        )

    def values_in(self, held: Any, api_version: int, topic_name: TopicNames) -> list[Any]:
        """Return the values of the field in a struct: its own, and the name of a topic's id."""
        if isinstance(held, Mapping):
            return [held[self.declared.name]]
        own = self.declared.for_version_q(api_version)
        values = [getattr(held, self.declared.name)] if own else []
        topic = None if self.topic_id is None else topic_of(held)
        if isinstance(topic, UUID) and (name := topic_name(topic)) is not None:
            values.append(name)
        return values


class Conditions:
    """Checked conditions on the requests of one API."""

    def __init__(self, api_key: ApiKey, conditions: Mapping[str, Any]) -> None:
        """Check the conditions, by path.

        Raises:
            ValueError: the API has no such field, or its type has no such value. The message names
                the path, and suggests the nearest name.
        """
        if len(conditions) > CONDITIONS_MAX:
            raise ValueError(f"there may be {CONDITIONS_MAX} conditions, not {len(conditions)}")
        self.root = Node()
        self._api_key = api_key
        for path, condition in conditions.items():
            self._add(str(path), condition)

    def _add(self, path: str, condition: Any) -> None:
        node, fields = self.root, schema_of(messages.request_class(self._api_key)).fields
        parts = path.split(".")
        for number, part in enumerate(parts, 1):
            name = part.removesuffix(_ELEMENT)
            found = fields.get(name)
            if found is None:
                raise ValueError(f"{path}: {self._absence(path, name, fields)}")
            if name in SECRET_FIELDS:
                raise ValueError(f"{path}: no rule may depend on it, it is a secret")
            is_element = part.endswith(_ELEMENT)
            if is_element and not found.is_array():
                raise ValueError(f"{path}: {name} is no array, leave out {_ELEMENT}")
            topic_id = fields[TOPIC_ID] if may_be_an_id(name, fields) else None
            node = node.children.setdefault(part, Node(found, is_element, topic_id))
            node.is_config_value = name == "value" and "name" in fields
            fields = _children(found) if is_element or not found.is_array() else {}
            may_be_whole = condition is None and number == len(parts)
            if found.is_array() and not is_element and not may_be_whole:
                raise ValueError(f"{path}: {name} is an array, write {name}{_ELEMENT}")
        if fields and (node.is_element or condition is not None) and not _is_records(node):
            known = ", ".join(fields)
            raise ValueError(f"{path}: has fields, name one of them: {known}")
        if condition is None and not _may_be_null(node):
            raise ValueError(f"{path}: is never null")
        node.tests.append(_test(node, condition, path))

    def _absence(self, path: str, name: str, fields: Mapping[str, Any]) -> str:
        """Say that a path has an unknown name, beside which there are `fields`, and suggest one."""
        known = paths_of(self._api_key)
        alike = [one for one in known if _name_of(one) == _name_of(path)]
        if alike:
            hint = did_you_mean(path, alike) or f"; did you mean {alike[0]}?"
        else:
            hint = did_you_mean(*((name, fields) if name == _name_of(path) else (path, known)))
        if not fields:
            return f"there is no {name}, the field before it has no fields{hint}"
        return f"there is no {name}{hint or '; there are ' + ', '.join(fields)}"

    def is_in(self, api_version: int) -> bool:
        """Return whether a request of this version has all of the fields."""
        return all(node.is_in(api_version) for node in _nodes(self.root))

    @may_pause
    def fits(self, message: Any, knowledge: Knowledge) -> bool:
        """Return whether a decoded request fits all conditions."""
        return fits_struct(message, self.root, message.version, knowledge)


def _nodes(node: Node) -> Iterator[Node]:
    for child in node.children.values():
        yield child
        yield from _nodes(child)


def pattern_count(conditions: Mapping[str, Any]) -> int:
    """Return how many of the conditions are patterns, each of which may take 25 ms to match."""
    values = [
        value
        for condition in conditions.values()
        for value in (condition if isinstance(condition, list) else [condition])
    ]
    return sum(isinstance(value, Mapping) and _MATCHES in value for value in values)


def paths_to(api_key: ApiKey, name: str) -> list[str]:
    """Return the paths of all fields with this name in the requests of an API."""
    return [path for path in paths_of(api_key) if _name_of(path) == name]


def paths_of(api_key: ApiKey) -> list[str]:
    """Return the paths of all fields in the requests of an API on which there may be conditions.

    Of a struct or an array of structs these are those of its fields.
    """
    return list(_paths(schema_of(messages.request_class(api_key)).fields))


def _paths(fields: Mapping[str, Any]) -> Iterator[str]:
    for found in fields.values():
        part = found.name + (_ELEMENT if found.is_array() else "")
        inner = _children(found)
        yield from (f"{part}.{rest}" for rest in _paths(inner))
        if not inner and found.name not in SECRET_FIELDS:
            yield part


def _name_of(path: str) -> str:
    """Return the name of the last field of a path."""
    return path.rpartition(".")[2].removesuffix(_ELEMENT)


def _children(found: Any) -> Mapping[str, Any]:
    """Return the fields inside a field, or inside the elements of an array; empty for none."""
    if found.is_struct_array():
        fields: Mapping[str, Any] = found.array_of.fields
        return fields
    if found.is_struct():
        return dict(found.fields)
    return _SUMMARY if found.type_str == "records" else {}


def _is_records(node: Node) -> bool:
    return node.declared is not None and bool(node.declared.type_str == "records")


def _may_be_null(node: Node) -> bool:
    is_of_summary = isinstance(node.declared, _SummaryField)
    return not node.is_element and not is_of_summary and is_ever_nullable(node.declared)


def _test(node: Node, condition: Any, path: str) -> Test:
    """Return the test of a condition on a field or an element."""
    if isinstance(condition, list):
        if len(condition) > VALUES_MAX:
            raise ValueError(f"{path}: there may be {VALUES_MAX} values, not {len(condition)}")
        tests = [_single_test(node, value, path) for value in condition]
        return lambda held: any(test(held) for test in tests)
    return _single_test(node, condition, path)


def _single_test(node: Node, condition: Any, path: str) -> Test:
    if condition is None:
        return lambda held: held is None
    kind = node.declared.type_str.removeprefix("[]")
    if isinstance(condition, Mapping) and {_MIN, _MAX} & condition.keys():
        return _range_test(condition, kind, path)
    if isinstance(condition, Mapping) and _MATCHES in condition:
        return _pattern_test(condition, kind, path)
    value = simple_value(node.declared, condition, path)
    return lambda held: bool(held == value)


def _range_test(condition: Mapping[str, Any], kind: str, path: str) -> Test:
    bounds = {name: value for name, value in condition.items() if value is not None}
    if unknown := bounds.keys() - {_MIN, _MAX}:
        raise ValueError(f"{path}: a range has min and max, not {min(unknown)}")
    if kind not in INTEGERS and kind != "float64":
        raise ValueError(f"{path}: is of type {kind}, and only numbers have a range")
    for value in bounds.values():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{path}: {value!r} is no number")  # noqa: TRY004
    low, high = bounds.get(_MIN, float("-inf")), bounds.get(_MAX, float("inf"))
    if low > high:
        raise ValueError(f"{path}: max {high} is below min, {low}")
    return lambda held: held is not None and low <= held <= high


def _pattern_test(condition: Mapping[str, Any], kind: str, path: str) -> Test:
    regex = condition[_MATCHES]
    if len(condition) > 1:
        other = min(condition.keys() - {_MATCHES})
        raise ValueError(f"{path}: a pattern has {_MATCHES} alone, not {other}")
    if kind != "string" or not isinstance(regex, str):
        raise ValueError(f"{path}: {_MATCHES} is a text, for fields of type string")
    problem = regex_problem(regex)
    if problem is not None:
        raise ValueError(f"{path}: {regex!r} is no regular expression of RE2: {problem}")
    return lambda held: isinstance(held, str) and full_match(regex, held)


@may_pause
def fits_struct(
    held: Any, node: Node, api_version: int, knowledge: Knowledge, without: Sequence[str] = ()
) -> bool:
    """Return whether a struct fits the children of a node, but for those of the arrays `without`.

    `held` is a decoded message or struct, or an object of a summary.
    """
    for child in node.children.values():
        if child.declared.name in without:
            continue
        if not child.is_in(api_version):
            return False
        if child.is_config_value and not knowledge.may_show(str(getattr(held, "name", ""))):
            return False
        values = child.values_in(held, api_version, knowledge.topic_name)
        elements = (values[0] or ()) if child.is_element else values
        if not any(fits_value(value, child, api_version, knowledge) for value in paced(elements)):
            return False
    return True


@may_pause
def fits_value(
    held: Any, node: Node, api_version: int, knowledge: Knowledge, without: Sequence[str] = ()
) -> bool:
    """Return whether the value of a field, or one of its elements, fits a node."""
    if not all(test(held) for test in node.tests):
        return False
    if not node.children:
        return True
    if node.has_summary:
        held = batch_summaries(bytes(held or b""))
    return held is not None and fits_struct(held, node, api_version, knowledge, without)
