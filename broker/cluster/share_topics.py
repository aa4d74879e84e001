"""The topics of the cluster, as share groups see them."""

from collections.abc import Iterable
from hashlib import blake2b
from uuid import UUID

from broker.cluster.topics import TopicTable
from broker.share_groups.share_group import SubscribedTopic

_HASH_BYTES = 8


class ShareGroupTopics:
    """A view of the table of topics."""

    def __init__(self, topics: TopicTable) -> None:
        self._topics = topics

    def get(self, name: str) -> SubscribedTopic | None:
        """Return the topic with this name, or None."""
        topic = self._topics.get(name)
        return None if topic is None else SubscribedTopic(topic.topic_id, len(topic.partitions))

    def name_of(self, topic_id: UUID) -> str | None:
        """Return the name of a topic id, or None if there is no such topic."""
        topic = self._topics.get_by_id(topic_id)
        return None if topic is None else topic.name

    def metadata_hash(self, names: Iterable[str]) -> int:
        """Return a signed hash of 64 bits of ids, names and numbers of partitions."""
        found = sorted((name, topic) for name in names if (topic := self.get(name)) is not None)
        if not found:
            return 0
        digest = blake2b(repr(found).encode(), digest_size=_HASH_BYTES).digest()
        return int.from_bytes(digest, signed=True)
