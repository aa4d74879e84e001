"""What a request is about, as far as a rule can ask: topics, partitions, groups.

Works on decoded messages of any API by the names that Kafka's schemas give these things.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from uuid import UUID

from broker.cluster.cluster import Cluster
from protocol.api_keys import ApiKey
from protocol.messages import request_fields

_TOPIC_ARRAYS = ("topics", "topic_data", "topic_names", "topic_partitions", "resources", "groups")
_PARTITION_ARRAYS = ("partitions", "partition_data", "partition_indexes")
_PARTITION_FIELDS = ("partition_index", "index", "partition")
_GROUP_ARRAYS = ("groups", "groups_names")
_TOPIC_RESOURCE_TYPE = 2
_TOPIC_FIELDS = ("name", "topic", "resource_name")
_NO_ID = UUID(int=0)
GROUP_KEY_TYPE = 0


NAMED_BY_REQUESTS = ("topic", "partition", "group", "transactional_id")
"""What a request may name, as rules call it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Topic names with the partitions asked for (None: the topic as a whole), groups, ids."""

    partitions: frozenset[tuple[str, int | None]] = field(default_factory=frozenset)
    groups: frozenset[str] = field(default_factory=frozenset)
    transactional_ids: frozenset[str] = field(default_factory=frozenset)

    def has_partition(self, topic: str | None, partition: int | None) -> bool:
        """Whether it asks for this topic and partition; None is any."""
        return any(
            (topic is None or name == topic) and (partition is None or index == partition)
            for name, index in self.partitions
        )


def subject_of(request: Any, cluster: Cluster) -> Subject:
    """What a decoded request asks for; topics named by id are looked up."""
    groups = set(_groups(request))
    ids = {getattr(request, "transactional_id", None)}
    keys = [*(getattr(request, "coordinator_keys", None) or ()), getattr(request, "key", None)]
    (groups if getattr(request, "key_type", None) == GROUP_KEY_TYPE else ids).update(keys)
    return Subject(
        frozenset(_partitions(request, cluster)),
        frozenset(each for each in groups if each),
        frozenset(each for each in ids if each),
    )


def _groups(request: Any) -> Iterator[str]:
    yield getattr(request, "group_id", None) or ""
    for array_name in _GROUP_ARRAYS:
        for element in getattr(request, array_name, None) or ():
            yield group_name(element)


def group_name(element: Any) -> str:
    """The group that an entry of a request is about."""
    return element if isinstance(element, str) else element.group_id


def _partitions(request: Any, cluster: Cluster) -> Iterator[tuple[str, int | None]]:
    for array_name in _TOPIC_ARRAYS:
        for element in getattr(request, array_name, None) or ():
            if array_name == "groups":
                if not isinstance(element, str):
                    yield from _partitions(element, cluster)
                continue
            name = topic_name(element, cluster)
            if name is None:
                continue
            indexes = list(_indexes(element))
            yield from ((name, index) for index in indexes)
            if not indexes:
                yield name, None


def topic_name(element: Any, cluster: Cluster) -> str | None:
    """The topic that an entry of a request is about, or None."""
    if isinstance(element, str):
        return element
    if getattr(element, "resource_type", _TOPIC_RESOURCE_TYPE) != _TOPIC_RESOURCE_TYPE:
        return None
    for field_name in _TOPIC_FIELDS:
        name: str | None = getattr(element, field_name, None)
        if name:
            return name
    topic_id = getattr(element, "topic_id", None)
    topic = cluster.topics.get_by_id(topic_id) if topic_id not in {None, _NO_ID} else None
    return None if topic is None else topic.name


def partition_index(element: Any) -> int | None:
    """The partition that an entry of a request is about, or None."""
    if isinstance(element, int):
        return element
    indexes = (getattr(element, field_name, None) for field_name in _PARTITION_FIELDS)
    return next((index for index in indexes if isinstance(index, int)), None)


def _indexes(element: Any) -> Iterator[int]:
    for array_name in _PARTITION_ARRAYS:
        for entry in getattr(element, array_name, None) or ():
            index = partition_index(entry)
            if index is not None:
                yield index


@cache
def named_by(api_key: ApiKey, api_version: int) -> tuple[frozenset[str], ...]:
    """Which of `NAMED_BY_REQUESTS` a request can name together; a choice where one excludes others.

    By the schemas of messages what `subject_of` does by messages.
    """
    schema = request_fields(api_key, api_version)
    named = set(_named_by_entries(schema))
    if "group_id" in schema or any(name in schema for name in _GROUP_ARRAYS):
        named.add("group")
    if "transactional_id" in schema:
        named.add("transactional_id")
    if "key" in schema or "coordinator_keys" in schema:
        kinds = ["group", "transactional_id"] if "key_type" in schema else ["group"]
        return tuple(frozenset({*named, kind}) for kind in kinds)
    return (frozenset(named),)


def _named_by_entries(schema: Mapping[str, Any]) -> Iterator[str]:
    for array_name in _TOPIC_ARRAYS:
        if array_name not in schema:
            continue
        entries = schema[array_name]
        if array_name == "groups":
            yield from _named_by_entries(entries or {})
            continue
        yield "topic"
        for name in _PARTITION_ARRAYS:
            if entries and name in entries:
                parts = entries[name]
                if parts is None or any(each in parts for each in _PARTITION_FIELDS):
                    yield "partition"
