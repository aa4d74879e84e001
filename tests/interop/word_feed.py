"""Lines for the applications of WordCount.java, and their settings."""

import time
from collections import Counter

import confluent_kafka

APPLICATIONS = {"once": "exactly_once_v2", "again": "at_least_once"}
LINE_INTERVAL_MS = 1000
WORDS = ("apple", "pear", "plum", "fig", "grape", "lime", "kiwi")
STREAMS_GROUP = {
    "group_protocol": "streams",
    "statestore_cache_max_bytes": 0,
    "repartition_purge_interval_ms": 500,
    "commit_interval_ms": 200,
}
SHARED = {
    "statestore_cache_max_bytes": 0,  # every count is a result
    "session_timeout_ms": 6000,
    "heartbeat_interval_ms": 500,
    "repartition_purge_interval_ms": 500,
}
# The two instances have different timeouts, to distinguish their transactions.
SLOW = {**SHARED, "commit_interval_ms": 3000, "transaction_timeout_ms": 5000}
FAST = {**SHARED, "commit_interval_ms": 100, "transaction_timeout_ms": 4000}
TIMEOUT_S = 120


def words_of(number: int) -> list[str]:
    """Return three words of a line."""
    return [WORDS[number * factor % len(WORDS)] for factor in (1, 2, 3)]


class Feed:
    """Lines in a topic, a second of their time between them."""

    def __init__(self, servers: str, topic: str) -> None:
        self._producer = confluent_kafka.Producer({"bootstrap.servers": servers, "log_level": 0})
        self._topic = topic
        self._start_ms = (round(time.time()) - 600) * 1000
        self._count = 0
        self.word_counts: Counter[str] = Counter()
        """How often a word is in a window, by the key of the result."""

    def write(self, count: int) -> None:
        """Write more lines and wait until they are stored."""
        for number in range(self._count, self._count + count):
            timestamp_ms = self._start_ms + number * LINE_INTERVAL_MS
            words = words_of(number)
            self._producer.produce(
                self._topic, " ".join(words), str(number), timestamp=timestamp_ms
            )
            window_ms = timestamp_ms // 60_000 * 60_000
            self.word_counts.update(f"{word}@{window_ms}" for word in words)
        self._count += count
        assert self._producer.flush(TIMEOUT_S) == 0

    def wait_until_counted(self, servers: str, topic: str, partition_count: int) -> None:
        """Read an application's results until each word has been counted."""
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": servers, "group.id": "unused", "enable.auto.commit": False}
        )
        partitions = range(partition_count)
        consumer.assign([confluent_kafka.TopicPartition(topic, index, 0) for index in partitions])
        left = dict(self.word_counts)
        while left:
            result = consumer.poll(TIMEOUT_S)
            assert result is not None, f"not counted: {left}"
            assert result.error() is None
            key = (result.key() or b"").decode()
            if key in left and int(result.value() or 0) >= left[key]:
                del left[key]
        consumer.close()
