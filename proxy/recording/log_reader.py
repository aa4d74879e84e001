"""Read the last records of partitions of a cluster into a `Recorder`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from client.errors import ApiError, ConnectionLostError, UnreachableError
from client.resources import Address, PartitionKey, TopicDescription
from protocol.errors import ErrorCode
from proxy.recording.recorder import Recorder
from proxy.recording.world_admin import FetchPlace, WorldAdmin

if TYPE_CHECKING:
    from protocol import messages

    _FetchedPartition = messages.FetchResponse.FetchableTopicResponse.PartitionData

RETRIES_MAX = 50
RETRY_BACKOFF_MS = 100
_RETRIED = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
    }
)


@dataclass(frozen=True, slots=True)
class LogEnds:
    """Where the log of a partition begins, and the next offset that gets a record."""

    log_start_offset: int
    log_end_offset: int


class LogReader:
    """Reads partitions one after the other; beside the records it holds one response."""

    def __init__(
        self,
        admin: WorldAdmin,
        recorder: Recorder,
        *,
        records_max: int | None,
        has_aborted: bool,
        note: Callable[[str], None],
    ) -> None:
        """Read the last `records_max` records of each partition, or all of them.

        With `has_aborted` also those of open and aborted transactions. `note` gets a line for each
        partition that cannot be read.
        """
        self._admin = admin
        self._recorder = recorder
        self._records_max = records_max
        self._is_committed = not has_aborted
        self._note = note
        self._brokers: Mapping[int, Address] = {}

    def read(
        self,
        topics: Iterable[TopicDescription],
        ends: Mapping[PartitionKey, LogEnds],
        progress: Callable[[int], None],
    ) -> None:
        """Read the partitions of topics; `progress` gets how many were read."""
        self._brokers = self._admin.describe_cluster().brokers
        read_count = 0
        for topic in topics:
            for partition in topic.partitions:
                found = ends.get((topic.name, partition.index))
                if found is not None and found.log_end_offset > found.log_start_offset:
                    try:
                        self._read_last(topic, partition.index, found)
                    except ApiError as error:
                        place = f"{topic.name}-{partition.index}"
                        self._note(f"{place}: its records are not all there: {error}")
                read_count += 1
                progress(read_count)

    def _read_last(self, topic: TopicDescription, index: int, ends: LogEnds) -> None:
        """Read back from the end, in steps that double, until there are enough records.

        Compaction and transactions leave fewer records than offsets.
        """
        key = (topic.name, index)
        first, end = ends.log_start_offset, ends.log_end_offset
        span = end - first if self._records_max is None else self._records_max
        while end > first:
            start = max(first, end - span)
            self._read_range(topic, index, start, end)
            if self._has_enough(key):
                return
            end, span = start, span * 2

    def _has_enough(self, key: PartitionKey) -> bool:
        found = self._recorder.kept.count(key)
        return self._records_max is not None and found >= self._records_max

    def _read_range(self, topic: TopicDescription, index: int, start: int, end: int) -> None:
        """Read from one offset up to another, or up to the first open transaction.

        Raises:
            ApiError: the broker refuses.
        """
        leader_id = topic.partitions[index].leader_id
        retries = 0
        while start < end:
            part = self._fetch(topic, index, leader_id, start)
            error_code = part if isinstance(part, int) else part.error_code
            if error_code in _RETRIED and retries < RETRIES_MAX:
                retries += 1
                self._admin.pause(RETRY_BACKOFF_MS)
                leader_id = self._leader_id(topic.name, index)
                continue
            if isinstance(part, int):
                raise ApiError(error_code)
            if error_code == ErrorCode.OFFSET_OUT_OF_RANGE and part.log_start_offset > start:
                start = part.log_start_offset  # retention has removed the beginning
                continue
            if error_code:
                raise ApiError(error_code)
            next_offset = self._recorder.see_fetched(
                (topic.name, index), part, is_committed=self._is_committed
            )
            if next_offset is None or next_offset <= start:
                return  # all that is left is of an open transaction
            start = next_offset

    def _fetch(
        self, topic: TopicDescription, index: int, leader_id: int, offset: int
    ) -> "_FetchedPartition | int":
        """Return the part of a response for a partition, or the error instead of it."""
        leader = self._brokers.get(leader_id)
        if leader is None:
            return int(ErrorCode.LEADER_NOT_AVAILABLE)
        place = FetchPlace(topic.name, topic.topic_id, index, offset)
        try:
            response = self._admin.fetch(leader, place, is_committed=self._is_committed)
        except (ConnectionLostError, UnreachableError):
            return int(ErrorCode.NETWORK_EXCEPTION)
        if response.error_code:
            return int(response.error_code)
        parts = [part for found in response.responses for part in found.partitions]
        return parts[0] if parts else int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _leader_id(self, topic: str, index: int) -> int:
        self._brokers = self._admin.describe_cluster().brokers
        described = self._admin.describe_topics([topic])[topic]
        if isinstance(described, ApiError):
            raise described
        return described.partitions[index].leader_id
