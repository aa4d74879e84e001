"""Free memory: delete the oldest records of the largest partitions."""

from collections.abc import Iterable

from broker.cluster.topics import Topic


def drop_from_largest(topics: Iterable[Topic], byte_count: int) -> int:
    """Delete the oldest batches of the largest partitions; return the bytes freed.

    It ends when `byte_count` bytes are free. Internal topics and the newest batch of each partition
    stay, so fewer bytes may be freed.
    """
    logs = [
        partition.log for topic in topics if not topic.is_internal for partition in topic.partitions
    ]
    logs.sort(key=lambda log: log.size_bytes, reverse=True)
    freed_bytes = 0
    for log in logs:
        if freed_bytes >= byte_count:
            break
        freed_bytes += log.drop_at_least(byte_count - freed_bytes)
    return freed_bytes
