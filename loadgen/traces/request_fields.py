"""Find topics, batches, producer ids and partition changes in decoded requests and responses.

A message is the JSON value of the journal, with names in snake case, or of Kafka's request log,
with names in camel case.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

Message = Mapping[str, Any]

_TOPIC_ARRAYS = ("topic_data", "topics", "topic_names", "topic_partitions", "responses")
_PARTITION_ARRAYS = ("partition_data", "partitions", "partition_indexes")
_INDEX_FIELDS = ("index", "partition", "partition_index")


class Batches(NamedTuple):
    """The record batches of a Produce request; 0 and -1 for what is unknown."""

    batch_bytes: int
    records: int
    producer_id: int


def value(message: Any, name: str, default: Any = None) -> Any:
    """Return the field `name` (snake case) of a message in either spelling."""
    if not isinstance(message, Mapping):
        return default
    found = message.get(name)
    if found is None:
        found = message.get(_camel(name))
    return default if found is None else found


def topics_of(message: Any) -> list[Any]:
    """Return the entries of topics that a request or a response has; names or objects."""
    for array in _TOPIC_ARRAYS:
        found = value(message, array)
        if isinstance(found, list) and found:
            return found
    return []


def topic_name(topic: Any, names: Mapping[str, str]) -> str:
    """Return the name of an entry; `names` has the names of topic ids; an id has its text."""
    if isinstance(topic, str):
        return topic
    found = value(topic, "name") or value(topic, "topic")
    if found:
        return str(found)
    topic_id = str(value(topic, "topic_id", ""))
    return names.get(topic_id, topic_id)


def first_partition(topic: Any) -> int:
    """Return the first partition of an entry of topics; -1 if it has none."""
    for entry in _partitions(topic):
        if isinstance(entry, int):
            return entry
        for field in _INDEX_FIELDS:
            index = value(entry, field)
            if isinstance(index, int):
                return index
    return -1


def batches_of(request: Any) -> Batches:
    """Return the sums over the record batches of a Produce request, and the first producer id."""
    size = records = 0
    producer_id = -1
    for topic in topics_of(request):
        for partition in _partitions(topic):
            size += value(partition, "records_size_in_bytes", 0)
            summary = value(partition, "records")
            size += value(summary, "bytes", 0)
            for batch in value(summary, "batches", []):
                records += value(batch, "record_count", 0)
                if producer_id < 0:
                    producer_id = value(batch, "producer_id", -1)
    return Batches(size, records, producer_id)


def fetched_bytes(response: Any) -> int:
    """Return the sum of the record batches in a response to Fetch or ShareFetch."""
    return sum(
        value(partition, "records_size_in_bytes", 0)
        for topic in topics_of(response)
        for partition in _partitions(topic)
    )


class PartitionCounts:
    """How many partitions each topic has, as far as requests and responses say so."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def mutations(self, api: str, request: Any, response: Any, names: Mapping[str, str]) -> int:
        """Return the partitions that a request creates, adds or deletes; 0 for other APIs.

        A topic counts as one partition if nothing before has said how many it has.
        """
        if api == "CreateTopics":
            return sum(self._created(request, response))
        topics = [(topic_name(topic, names), topic) for topic in topics_of(request)]
        if api == "DeleteTopics":
            return sum(self._counts.pop(name, 1) for name, _ in topics)
        if api == "CreatePartitions":
            return sum(self._added(name, value(topic, "count", 1)) for name, topic in topics)
        return 0

    def _created(self, request: Any, response: Any) -> Iterator[int]:
        answered = {value(topic, "name"): topic for topic in topics_of(response)}
        for topic in topics_of(request):
            count = value(topic, "num_partitions", 1)
            if count < 1:  # given by its assignments, or the default of the broker
                by_broker = value(answered.get(value(topic, "name")), "num_partitions", 1)
                count = len(value(topic, "assignments", [])) or max(1, by_broker)
            self._counts.setdefault(value(topic, "name", ""), count)
            yield count

    def _added(self, name: str, count: int) -> int:
        before = self._counts.get(name, count - 1)
        self._counts[name] = max(before, count)
        return max(1, count - before)


def learn_topic_ids(response: Any, names: dict[str, str]) -> None:
    """Add the topic ids and names of a response to Metadata or CreateTopics to `names`."""
    for topic in topics_of(response):
        topic_id, name = value(topic, "topic_id"), value(topic, "name")
        if topic_id and name:
            names[str(topic_id)] = str(name)


def _partitions(topic: Any) -> list[Any]:
    for array in _PARTITION_ARRAYS:
        found = value(topic, array)
        if isinstance(found, list):
            return found
    return []


@cache
def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
