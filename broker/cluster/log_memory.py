"""Free memory: delete the oldest batches beyond `log.memory.max.bytes`.

An append deletes about as much as it has added, which is enough while the bound stays as it is.
What is left then, after the bound was lowered or because few large batches displace very many small
ones, is deleted in short steps of a timer, as retention does. Kafka has no such bound.
"""

from collections.abc import Iterable
from heapq import nlargest
from typing import Protocol

from broker.cluster.partition_log import PartitionLog
from broker.cluster.topics import Partition, Topic, TopicTable
from broker.log import log
from broker.timers import SteppedWork, Timers

BATCHES_PER_STEP = 20_000
"""To delete this many takes a few milliseconds, and they have more than a megabyte."""
BYTES_PER_BATCH = 8
"""An append deletes one batch at most for each of so many bytes; none is smaller."""
LOGS_PER_SEARCH = 1024
"""Logs that one look at all partitions finds."""
SEARCH_AGAIN_MS = 1000
"""How long after all partitions have only their newest batch an append looks at its own one."""
_NEVER_MS = -1


class Stored(Protocol):
    """The records of a cluster."""

    topics: TopicTable
    timers: Timers
    log_bytes: int
    log_bytes_max: int

    def freed(self, partition: Partition, byte_count: int) -> None:
        """Count bytes that were deleted."""
        ...


class MemoryBound:
    """What is beyond the bound, and the timer that deletes it."""

    def __init__(self, cluster: Stored) -> None:
        self._cluster = cluster
        self._largest: list[tuple[Topic, PartitionLog]] = []
        """Those from which batches are deleted to free memory, the largest one last."""
        self._has_warned = False
        self._frees_memory = False
        """Whether memory was beyond its bound, and has not been freed."""
        self._has_found_all = False
        """Whether the last search found all partitions with more than their newest batch."""
        self._search_again_ms = _NEVER_MS
        self._discarded: list[list[bytes]] = []
        """Batches of deleted topics whose memory is not free yet."""
        self._steps = SteppedWork(cluster.timers, self._do_step)

    def discard(self, batches: list[bytes], now_ms: int) -> None:
        """Free the memory of batches that no log has any more, and nobody else changes."""
        if len(batches) > BATCHES_PER_STEP:
            self._discarded.append(batches)
            self._steps.plan(now_ms)

    def after_append(
        self, topic: Topic, partition: Partition, byte_count: int, now_ms: int
    ) -> None:
        """Delete some of what is beyond the bound after `byte_count` bytes were appended."""
        batches_max = min(BATCHES_PER_STEP, byte_count // BYTES_PER_BATCH + 1)
        cluster = self._cluster
        excess = cluster.log_bytes - cluster.log_bytes_max
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "log.memory.max.bytes is reached: the oldest records are deleted before their"
                " retention time",
                log_memory_max_bytes=cluster.log_bytes_max,
            )
        if now_ms >= self._search_again_ms:
            self._free(batches_max, now_ms)
        elif not topic.is_internal:
            settings = topic.segment_settings
            cluster.log_bytes -= partition.log.drop_at_least(excess, batches_max, settings)
        if self._has_more():
            self._steps.plan(now_ms)

    def _has_more(self) -> bool:
        return bool(self._frees_memory or self._discarded)

    def _do_step(self, now_ms: int) -> bool:
        if self._frees_memory:
            self._free(BATCHES_PER_STEP, now_ms)
        left = BATCHES_PER_STEP
        while self._discarded and left > 0:
            batches = self._discarded[-1]
            count = min(left, len(batches))
            left -= count + 1
            del batches[-count:]
            if not batches:
                self._discarded.pop()
        return self._has_more()

    def _free(self, batches_max: int, now_ms: int) -> None:
        """Delete the oldest batches of the largest partitions.

        It frees more than needed, so that the next appends need not search for the largest. The
        newest batch of each partition stays, and internal topics stay.
        """
        cluster, largest = self._cluster, self._largest
        target_bytes = cluster.log_bytes_max - cluster.log_bytes_max // 8
        if not largest:
            largest += reversed(_largest_logs(cluster.topics.all()))
            self._has_found_all = len(largest) < LOGS_PER_SEARCH
        left = batches_max
        while largest and left > 0 and cluster.log_bytes > target_bytes:
            topic, partition_log = largest[-1]
            before, excess = partition_log.batch_count, cluster.log_bytes - target_bytes
            cluster.log_bytes -= partition_log.drop_at_least(excess, left, topic.segment_settings)
            left -= before - partition_log.batch_count + 1
            if partition_log.batch_count <= 1:
                largest.pop()
        self._frees_memory = cluster.log_bytes > target_bytes
        if not self._frees_memory:
            largest.clear()
        elif not largest and self._has_found_all:
            self._frees_memory = False
            self._search_again_ms = now_ms + SEARCH_AGAIN_MS


def _largest_logs(topics: Iterable[Topic]) -> list[tuple[Topic, PartitionLog]]:
    """Return the logs from which batches may be deleted, up to `LOGS_PER_SEARCH`, largest first."""
    logs = (
        (topic, partition.log)
        for topic in topics
        if not topic.is_internal
        for partition in topic.partitions
        if partition.log.batch_count > 1
    )
    return nlargest(LOGS_PER_SEARCH, logs, key=lambda found: found[1].size_bytes)
