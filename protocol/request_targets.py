"""The targets that a request names: topics, partitions, consumer groups, transactional ids.

They are found in the decoded request of any API by the field names of Kafka's schemas. A resource
of DescribeConfigs and AlterConfigs is a topic if its type is TOPIC. Other resources and quota
entities are no targets. The journal, fault rules and hooks use this module.
"""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.message_schema import schema_of
from protocol.messages import request_fields

TARGET_NAMES = ("topic", "partition", "group", "transactional_id")
"""The kinds of targets, as fault rules name them."""

TopicNames = Callable[[UUID], str | None]
"""Returns the name of a topic id, or None if there is no such topic (any more)."""

TOPIC_ID = "topic_id"

_TOPIC_ARRAYS = (
    "topics",
    "topic_data",
    "topic_names",
    "topic_partitions",
    "subscribed_topic_names",
    "resources",
    "v3_and_below_topics",
)
_ENTRIES_WITH_TOPICS = ("groups", "dirs", "markers", "transactions")
"""Arrays whose entries name topics: OffsetFetch, AlterReplicaLogDirs, and transactions' APIs."""
_PARTITION_ARRAYS = ("partitions", "partition_data", "partition_indexes")
_PARTITION_FIELDS = ("partition_index", "index", "partition")
_GROUP_ARRAYS = ("groups", "groups_names", "group_ids")
_TRANSACTIONAL_ID_FIELDS = ("transactional_id", "v3_and_below_transactional_id")
_TRANSACTIONAL_ID_ARRAYS = ("transactions", "transactional_ids")
_TOPIC_RESOURCE_TYPE = 2
_TOPIC_FIELDS = ("name", "topic", "topic_name", "resource_name")
_NO_ID = UUID(int=0)
_GROUP_KEY_TYPE = 0
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class RequestTargets:
    """Topics, groups and transactional ids that a request names.

    `partitions` are pairs of a topic (name or id) and a partition index, or None if the request
    names the topic without partitions.
    """

    partitions: frozenset[tuple[str | UUID, int | None]] = field(default_factory=frozenset)
    groups: frozenset[str] = field(default_factory=frozenset)
    transactional_ids: frozenset[str] = field(default_factory=frozenset)

    @property
    def topics(self) -> frozenset[str | UUID]:
        """The topics by name or id, whether or not the request names partitions of them."""
        return frozenset(topic for topic, _index in self.partitions)

    def topic_names(self, topic_name: TopicNames) -> set[str]:
        """Return the topics by name; an id without a name becomes its text."""
        return {name_of_topic(topic, topic_name) or str(topic) for topic in self.topics}

    def with_topic_names(self, topic_name: TopicNames) -> "RequestTargets":
        """Replace topic ids by names, and leave out the ids that have none."""
        named = ((name_of_topic(topic, topic_name), index) for topic, index in self.partitions)
        partitions = frozenset((name, index) for name, index in named if name is not None)
        return RequestTargets(partitions, self.groups, self.transactional_ids)

    def has_partition(self, topic: str | None, partition: int | None) -> bool:
        """Return whether the request names this topic and partition; None stands for any."""
        return any(
            (topic is None or name == topic) and (partition is None or index == partition)
            for name, index in self.partitions
        )


@cache
def _fields_among(entry_type: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of the names that are fields of a type: to ask for others is slow."""
    try:
        fields = schema_of(entry_type).fields
    except AttributeError:  # one of our own types
        return names
    return tuple(name for name in names if name in fields)


def _values(entry: object, *names: str) -> Iterator[Any]:
    """Yield the values of those fields that an entry has."""
    entry_type: Any = type(entry)
    for name in _fields_among(entry_type, names):
        value = getattr(entry, name, _ABSENT)
        if value is not _ABSENT:
            yield value


def _entries(request: object, names: tuple[str, ...]) -> Iterator[Any]:
    """Yield the entries of those arrays that a request has."""
    for array in _values(request, *names):
        yield from array or ()


def request_targets(request: object) -> RequestTargets:
    """Return the targets of a decoded request."""
    groups = set(_groups(request))
    transactional_ids = set(_transactional_ids(request))
    keys = [*_entries(request, ("coordinator_keys",)), *_values(request, "key")]
    is_group_key = _GROUP_KEY_TYPE in _values(request, "key_type")
    (groups if is_group_key else transactional_ids).update(keys)
    return RequestTargets(
        frozenset(_partitions(request)),
        frozenset(group for group in groups if group),
        frozenset(name for name in transactional_ids if name),
    )


def group_of(entry: Any) -> str:
    """Return the group that an entry of a request's array names; empty for none."""
    return entry if isinstance(entry, str) else next(_values(entry, "group_id"), None) or ""


def topic_of(entry: Any) -> str | UUID | None:
    """Return the topic that an entry of a request's array names, by name or by id, or None."""
    if isinstance(entry, str):
        return entry
    if next(_values(entry, "resource_type"), _TOPIC_RESOURCE_TYPE) != _TOPIC_RESOURCE_TYPE:
        return None
    name: str | None
    for name in _values(entry, *_TOPIC_FIELDS):
        if name:
            return name
    topic_id: UUID | None = next(_values(entry, TOPIC_ID), None)
    return None if topic_id == _NO_ID else topic_id


def name_of_topic(topic: str | UUID | None, topic_name: TopicNames) -> str | None:
    """Return the name of a topic that a request names, by name or by id; None if it has none."""
    return topic_name(topic) if isinstance(topic, UUID) else topic


def may_be_an_id(field_name: str, siblings: Container[str]) -> bool:
    """Return whether a field names a topic that a request may name by its id instead.

    `siblings` are the fields beside it.
    """
    return field_name in _TOPIC_FIELDS and TOPIC_ID in siblings


def partition_of(entry: Any) -> int | None:
    """Return the partition that an entry of a request's array names, or None."""
    if isinstance(entry, int):
        return entry
    indexes = _values(entry, *_PARTITION_FIELDS)
    return next((index for index in indexes if isinstance(index, int)), None)


@cache
def targets_in_schema(api_key: ApiKey, api_version: int) -> tuple[frozenset[str], ...]:
    """Return which of `TARGET_NAMES` a request of this API and version can name together.

    There is one set, or several where one name excludes another: FindCoordinator names groups or
    transactional ids.
    """
    schema = request_fields(api_key, api_version)
    named = set(_named_by_entries(schema))
    if "group_id" in schema or any(name in schema for name in _GROUP_ARRAYS):
        named.add("group")
    if any(name in schema for name in (*_TRANSACTIONAL_ID_FIELDS, *_TRANSACTIONAL_ID_ARRAYS)):
        named.add("transactional_id")
    if "key" in schema or "coordinator_keys" in schema:
        kinds = ["group", "transactional_id"] if "key_type" in schema else ["group"]
        return tuple(frozenset({*named, kind}) for kind in kinds)
    return (frozenset(named),)


def _groups(request: object) -> Iterator[str]:
    yield from _values(request, "group_id")
    for entry in _entries(request, _GROUP_ARRAYS):
        yield group_of(entry)


def _transactional_ids(request: object) -> Iterator[str | None]:
    yield from _values(request, *_TRANSACTIONAL_ID_FIELDS)
    for entry in _entries(request, _TRANSACTIONAL_ID_ARRAYS):
        # A null id is in requests that the broker refuses, which the journal has, too.
        yield entry if isinstance(entry, str) else getattr(entry, "transactional_id", None)


def _partitions(request: object) -> Iterator[tuple[str | UUID, int | None]]:
    for entry in _entries(request, _ENTRIES_WITH_TOPICS):
        if not isinstance(entry, str):
            yield from _partitions(entry)
    for entry in _entries(request, _TOPIC_ARRAYS):
        topic = topic_of(entry)
        if topic is None:
            continue
        indexes = list(_indexes(entry))
        yield from ((topic, index) for index in indexes)
        if not indexes:
            yield topic, None


def _indexes(entry: Any) -> Iterator[int]:
    for part in _entries(entry, _PARTITION_ARRAYS):
        index = partition_of(part)
        if index is not None:
            yield index


def _named_by_entries(schema: Mapping[str, Any]) -> Iterator[str]:
    for array_name in _ENTRIES_WITH_TOPICS:
        if schema.get(array_name):
            yield from _named_by_entries(schema[array_name])
    for array_name in _TOPIC_ARRAYS:
        if array_name not in schema:
            continue
        entries = schema[array_name]
        yield "topic"
        for name in _PARTITION_ARRAYS:
            if entries and name in entries:
                parts = entries[name]
                if parts is None or any(part in parts for part in _PARTITION_FIELDS):
                    yield "partition"
