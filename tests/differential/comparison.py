"""Compare the answers of two clusters field by field."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from protocol.json_view import error_name
from protocol.messages import API_NAMES
from tests.differential.allowed_differences import ALLOWED_DIFFERENCES, AllowedDifference
from tests.differential.conversation import Conversation, Receive, Send, SendBytes

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


_NAMES: dict[int, str] = {int(key): name for key, name in API_NAMES.items()}
_ABSENT = "absent"
_NO_FIELDS = "connection"
_ORDERED_BY_HASH_OF_NAME = frozenset(
    {
        "ConsumerGroupDescribe",
        "CreateTopics",
        "DeleteGroups",
        "DescribeGroups",
        "DescribeTopicPartitions",
        "ShareGroupDescribe",
        "StreamsGroupDescribe",
    }
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs: `step` counts from 0, `path` is `topics[].partitions[].offset`."""

    step: int
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
        if self.kind == _NO_FIELDS:
            kafka, ours = _without_fields(self.kafka), _without_fields(self.ours)
            return f"{self.api} {kafka or 'response'}, not {ours or 'response'}"
        if self.kind != "value":
            return f"{self.api} {self.path} {self.kind}"
        if self.path.endswith("error_code"):
            return f"{self.api} {self.path} {error_name(self.kafka)}, not {error_name(self.ours)}"
        if self.path.endswith("error_message"):
            return f"{self.api} {self.path} {_shape(self.kafka)}, not {_shape(self.ours)}"
        return f"{self.api} {self.path}"

    def __str__(self) -> str:
        """Return one line for people."""
        return (
            f"step {self.step + 1} {self.api} {self.place}: "
            f"Kafka {_text(self, self.kafka)}, ours {_text(self, self.ours)}"
        )


def _text(difference: Difference, value: Any) -> str:
    if difference.path.endswith("error_code") and isinstance(value, int):
        return error_name(value)
    text = json.dumps(value, default=str)
    return text if len(text) < 400 else text[:400] + "..."


def _shape(message: Any) -> str:
    """Return a message without its names and numbers."""
    return re.sub(r"~[\w.-]*|-?\d+|\w+_id#N", "N", str(message))


@dataclass(slots=True)
class Comparison:
    """What two answers, or two conversations, have in common."""

    conversation: Conversation
    differences: list[Difference] = field(default_factory=list)
    fields: int = 0
    allowed: dict[AllowedDifference, int] = field(default_factory=dict)

    def note(self, difference: Difference) -> None:
        """Add a difference, unless it is allowed."""
        allowed = find_allowed(difference, self.conversation)
        if allowed is None:
            self.differences.append(difference)
        else:
            self.allowed[allowed] = self.allowed.get(allowed, 0) + 1

    @property
    def signatures(self) -> frozenset[str]:
        """The signatures of all differences."""
        return frozenset(difference.signature for difference in self.differences)


def find_allowed(difference: Difference, conversation: Conversation) -> AllowedDifference | None:
    """Return the entry of the list that allows this difference, or None."""
    step = conversation.steps[difference.step]
    arguments = step.arguments if isinstance(step, Send) else {}
    for allowed in ALLOWED_DIFFERENCES:
        if (
            fnmatchcase(difference.api, allowed.api)
            and fnmatchcase(_without_indexes(difference.path), _without_indexes(allowed.path))
            and (not allowed.kind or difference.kind == allowed.kind)
            and allowed.kafka in (None, difference.kafka)
            and fnmatchcase(_without_brackets(difference.place), _without_brackets(allowed.place))
            and allowed.brokers_min <= conversation.brokers
            and (not allowed.releases or conversation.release in allowed.releases)
            and (allowed.request is None or allowed.request(arguments))
        ):
            return allowed
    return None


def _without_brackets(place: str) -> str:
    return place.replace("[", "(").replace("]", ")")


def _without_indexes(path: str) -> str:
    return path.replace("[]", "")  # Brackets are a character class in fnmatch.


def compare(
    conversation: Conversation,
    kafka: Sequence[Any],
    ours: Sequence[Any],
    *,
    is_replay: bool = False,
) -> Comparison:
    """Compare the answers to each step of a conversation.

    A replay has other names than the answers that were kept, so hashes of names are others too.
    """
    comparison = Comparison(conversation)
    for step, (api, kafka_answer, our_answer) in enumerate(
        zip(answering_apis(conversation), kafka, ours, strict=True)
    ):
        if _without_fields(kafka_answer) != _without_fields(our_answer):
            comparison.fields += 1
            comparison.note(
                Difference(step, api, "response", "response", kafka_answer, our_answer, _NO_FIELDS)
            )
        else:
            _compare(comparison, (step, api), "", "", kafka_answer, our_answer)
    if is_replay:
        comparison.differences = [
            difference
            for difference in comparison.differences
            if difference.kind != "order" or difference.api not in _ORDERED_BY_HASH_OF_NAME
        ]
    return comparison


def _without_fields(answer: Any) -> str:
    """Return what there is instead of a response's fields."""
    if answer is None:
        return "none"
    for name in ("connection", "undecodable", "hex"):
        if name in answer:
            return str(answer[name]) if name == "connection" else name
    return ""


def answering_apis(conversation: Conversation) -> list[str]:
    """Return the API that each step's response belongs to."""
    pending: dict[str, list[str]] = {}
    apis = []
    for step in conversation.steps:
        if isinstance(step, Send):
            apis.append(step.api)
            if not step.is_awaited:
                pending.setdefault(step.connection, []).append(step.api)
        elif isinstance(step, Receive) and pending.get(step.connection):
            apis.append(pending[step.connection].pop(0))
        elif isinstance(step, SendBytes):
            apis.append(_NAMES.get(int(step.hex[:4], 16), "unknown"))
        else:
            apis.append("connection")
    return apis


def _compare(
    comparison: Comparison, at: tuple[int, str], path: str, place: str, kafka: Any, ours: Any
) -> None:
    if isinstance(kafka, dict) and isinstance(ours, dict):
        for name in kafka | ours:
            inner = f"{path}.{name}" if path else name
            inner_place = f"{place}.{name}" if place else name
            _compare(
                comparison,
                at,
                inner,
                inner_place,
                kafka.get(name, _ABSENT),
                ours.get(name, _ABSENT),
            )
    elif isinstance(kafka, list) and isinstance(ours, list):
        _compare_lists(comparison, at, path, place, kafka, ours)
    else:
        comparison.fields += 1
        if kafka != ours or isinstance(kafka, bool) != isinstance(ours, bool):
            comparison.note(Difference(*at, path or "response", place or "response", kafka, ours))


def _compare_lists(
    comparison: Comparison,
    at: tuple[int, str],
    path: str,
    place: str,
    kafka: list[Any],
    ours: list[Any],
) -> None:
    kafka_keys, our_keys = _keys(kafka), _keys(ours)
    inner = f"{path}[]"
    for key, entry in kafka_keys.items():
        if key not in our_keys:
            comparison.fields += 1
            comparison.note(
                Difference(*at, inner, f"{place}[{key}]", entry, _ABSENT, kind="missing")
            )
        else:
            _compare(comparison, at, inner, f"{place}[{key}]", entry, our_keys[key])
    for key, entry in our_keys.items():
        if key not in kafka_keys:
            comparison.fields += 1
            comparison.note(Difference(*at, inner, f"{place}[{key}]", _ABSENT, entry, kind="extra"))
    kafka_order = [key for key in kafka_keys if key in our_keys]
    our_order = [key for key in our_keys if key in kafka_keys]
    if kafka_order != our_order:
        comparison.note(Difference(*at, path, place, kafka_order, our_order, kind="order"))


def _keys(entries: list[Any]) -> dict[str, Any]:
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
        if "resource_type" in entry:
            return f"{entry['resource_type']} {entry['resource_name']}"
        keys = [name for name in KEYS if entry.get(name) not in (None, "")]
        if keys:
            return str(entry[keys[0]])
        return "#"
    return str(entry)
