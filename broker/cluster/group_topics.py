"""What the group coordinator knows about the topics of the cluster."""

from collections.abc import Callable, Iterable, Mapping
from uuid import UUID

from broker.cluster.brokers import Broker
from broker.cluster.topics import TopicTable
from broker.groups.consumer.topics import TopicMetadata, topic_hash


class GroupTopics:
    """The topics as `broker/groups/consumer/topics.py` describes them, with their hashes."""

    def __init__(self, topics: TopicTable, brokers: Callable[[], Mapping[int, Broker]]) -> None:
        """`brokers` returns the brokers by node id, whose racks count."""
        self._topics = topics
        self._brokers = brokers
        self._known: dict[str, TopicMetadata] = {}

    @property
    def created_count(self) -> int:
        """How many topics have been created so far."""
        return self._topics.created_count

    def get(self, name: str) -> TopicMetadata | None:
        """Return the topic with this name, or None."""
        known = self._known.get(name)
        if known is not None:
            return known
        topic = self._topics.get(name)
        if topic is None:
            return None
        rack_of = {node_id: broker.rack for node_id, broker in self._brokers().items()}
        racks = [
            [rack for rack in map(rack_of.get, partition.replicas) if rack is not None]
            for partition in topic.partitions
        ]
        metadata = TopicMetadata(
            name, topic.topic_id, len(racks), topic_hash(name, topic.topic_id, racks)
        )
        self._known[name] = metadata
        return metadata

    def name_of(self, topic_id: UUID) -> str | None:
        """Return the name of a topic id, or None if there is no such topic."""
        topic = self._topics.get_by_id(topic_id)
        return None if topic is None else topic.name

    def names(self) -> Iterable[str]:
        """Return the names of all topics."""
        return [topic.name for topic in self._topics.all()]

    def forget(self, name: str) -> None:
        """Read a topic again when a group needs it, because it has changed."""
        self._known.pop(name, None)
