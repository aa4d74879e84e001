"""Compare two responses of an API field by field.

Entries of arrays are matched by their key; another order is a difference.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from protocol.json_view import error_name
from proxy.diff.allowed_difference import AllowedDifference
from proxy.diff.allowed_differences import ALLOWED_DIFFERENCES

KEYS = (
    "name",
    "topic",
    "topic_name",
    "topic_id",
    "group_id",
    "group",
    "user",
    "resource_name",
    "partition_index",
    "partition",
    "partition_id",
    "index",
    "node_id",
    "broker_id",
    "member_id",
    "api_key",
    "entity_type",
    "producer_id",
    "key",
    "mechanism",
)
"""Fields that identify an entry of an array, the first that it has."""

_RULE_FIELDS = (
    "resource_type",
    "resource_name",
    "pattern_type",
    "principal",
    "host",
    "operation",
    "permission_type",
)
"""Fields that identify an access control list's entry, as far as it has them."""
_ABSENT = "absent"
ERROR_CODE = "error_code"
"""How the name of a field with an error code ends."""
CONNECTION = "connection"
"""The kind of a difference if only one of both responded."""


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field that differs: `path` is `topics[].partitions[].offset`."""

    api: str
    path: str
    place: str
    """The path with the entries' keys or indexes."""
    kafka: Any
    ours: Any
    kind: str = "value"
    """`value`, `missing`, `extra`, `order`, or `connection` if only one of both responded."""

    @property
    def signature(self) -> str:
        """Text that is the same for differences with presumably the same cause."""
        if self.kind == CONNECTION:
            kafka, ours = without_fields(self.kafka), without_fields(self.ours)
            return f"{self.api} {kafka or 'response'}, not {ours or 'response'}"
        if self.kind != "value":
            return f"{self.api} {self.path} {self.kind}"
        if self.path.endswith(ERROR_CODE):
            return f"{self.api} {self.path} {error_name(self.kafka)}, not {error_name(self.ours)}"
        if self.path.endswith("error_message"):
            return f"{self.api} {self.path} {_shape(self.kafka)}, not {_shape(self.ours)}"
        return f"{self.api} {self.path}"

    def __str__(self) -> str:
        """Return one line for people."""
        return (
            f"{self.api} {self.place}: Kafka {self.text(self.kafka)}, ours {self.text(self.ours)}"
        )

    def text(self, value: Any) -> str:
        """Return one of the two values for people, an error code as its name."""
        if self.path.endswith(ERROR_CODE) and isinstance(value, int):
            return error_name(value)
        text = json.dumps(value, default=str)
        return text if len(text) < 400 else text[:400] + "..."


Found = Callable[[FieldDifference], None]
"""Is called with each difference."""


def _shape(message: Any) -> str:
    """Return a message without its names and numbers."""
    return re.sub(r"~[\w.-]*|-?\d+|\w+_id#N", "N", str(message))


def without_fields(answer: Any) -> str:
    """Return what there is instead of a response's fields; empty if there is a response."""
    if answer is None:
        return "none"
    for name in (CONNECTION, "undecodable", "hex"):
        if name in answer:
            return str(answer[name]) if name == CONNECTION else name
    return ""


def find_allowed(
    difference: FieldDifference, arguments: Mapping[str, Any], broker_count: int, release: str
) -> AllowedDifference | None:
    """Return the entry of the list that allows this difference, or None.

    `arguments` are the fields of the request, `release` is Kafka's, such as `4.4`.
    """
    for allowed in ALLOWED_DIFFERENCES:
        if (
            fnmatchcase(difference.api, allowed.api)
            and fnmatchcase(_without_indexes(difference.path), _without_indexes(allowed.path))
            and (not allowed.kind or difference.kind == allowed.kind)
            and allowed.kafka in (None, difference.kafka)
            and (not allowed.kafka_text or fnmatchcase(str(difference.kafka), allowed.kafka_text))
            and fnmatchcase(_without_brackets(difference.place), _without_brackets(allowed.place))
            and allowed.brokers_min <= broker_count
            and (not allowed.releases or release in allowed.releases)
            and (allowed.request is None or allowed.request(arguments))
        ):
            return allowed
    return None


def _without_brackets(place: str) -> str:
    return place.replace("[", "(").replace("]", ")")


def _without_indexes(path: str) -> str:
    return path.replace("[]", "")  # Brackets are a character class in fnmatch.


def compare_responses(api: str, kafka: Any, ours: Any, found: Found) -> int:
    """Compare two responses of an API; return how many fields were compared."""
    if without_fields(kafka) != without_fields(ours):
        found(FieldDifference(api, "response", "response", kafka, ours, CONNECTION))
        return 1
    return _compare(api, found, "", "", kafka, ours)


def _compare(api: str, found: Found, path: str, place: str, kafka: Any, ours: Any) -> int:
    if isinstance(kafka, dict) and isinstance(ours, dict):
        return sum(
            _compare(
                api,
                found,
                f"{path}.{name}" if path else name,
                f"{place}.{name}" if place else name,
                kafka.get(name, _ABSENT),
                ours.get(name, _ABSENT),
            )
            for name in kafka | ours
        )
    if isinstance(kafka, list) and isinstance(ours, list):
        return _compare_lists(api, found, path, place, kafka, ours)
    if kafka != ours or isinstance(kafka, bool) != isinstance(ours, bool):
        found(FieldDifference(api, path or "response", place or "response", kafka, ours))
    return 1


def _compare_lists(
    api: str, found: Found, path: str, place: str, kafka: list[Any], ours: list[Any]
) -> int:
    kafka_keys, our_keys = keyed_entries(kafka), keyed_entries(ours)
    inner, fields = f"{path}[]", 0
    for key, entry in kafka_keys.items():
        inner_place = f"{place}[{key}]"
        if key not in our_keys:
            fields += 1
            found(FieldDifference(api, inner, inner_place, entry, _ABSENT, kind="missing"))
        else:
            fields += _compare(api, found, inner, inner_place, entry, our_keys[key])
    for key, entry in our_keys.items():
        if key not in kafka_keys:
            fields += 1
            found(FieldDifference(api, inner, f"{place}[{key}]", _ABSENT, entry, kind="extra"))
    kafka_order = [key for key in kafka_keys if key in our_keys]
    our_order = [key for key in our_keys if key in kafka_keys]
    if kafka_order != our_order:
        found(FieldDifference(api, path, place, kafka_order, our_order, kind="order"))
    return fields


def keyed_entries(entries: list[Any]) -> dict[str, Any]:
    """Return the entries by their key; equal keys also get the topic's id, or a number."""
    found: dict[str, Any] = {}
    counts = Counter(map(_key, entries))
    for entry in entries:
        key = _key(entry)
        if counts[key] > 1 and isinstance(entry, dict) and entry.get("topic_id"):
            key += f" {entry['topic_id']}"
        number = 1
        unique = key
        while unique in found:
            number += 1
            unique = f"{key} {number}"
        found[unique] = entry
    return found


def _key(entry: Any) -> str:
    if isinstance(entry, dict):
        if "entity" in entry:
            parts = (f"{part['entity_type']}={part['entity_name']}" for part in entry["entity"])
            return ",".join(sorted(parts))
        if "permission_type" in entry:  # a rule is all that it says
            return " ".join(str(entry[name]) for name in _RULE_FIELDS if name in entry)
        if "resource_type" in entry:
            return f"{entry['resource_type']} {entry['resource_name']}"
        keys = [name for name in KEYS if entry.get(name) not in (None, "")]
        if keys:
            return str(entry[keys[0]])
        return "#"
    return str(entry)
