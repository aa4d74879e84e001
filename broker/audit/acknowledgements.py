"""The batches that were acknowledged to their producers, which the audit compares with the logs.

The append notes a batch in the context of its request. It counts as acknowledged when the complete
response has been written to the socket. A response that is dropped, cut or never sent acknowledges
nothing. Nothing is recorded unless `audit.enable` is set.
"""

from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from broker.request.acknowledgement import Acknowledgement, RecordChange
from broker.request.context import RequestContext
from broker.responses import CompletedResponse, DispatchResult, PendingFrame, Throttled
from protocol.api_keys import ApiKey
from protocol.codec import decode_response
from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from uuid import UUID


DROPPED_PARTITIONS_MAX = 10_000
"""Number of partitions with their own count of dropped acknowledgements; the rest share one."""

_ACKNOWLEDGING = frozenset({ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER})
"""Clients treat both as success."""


class Dropped:
    """Acknowledgements of one partition that were dropped to make room for newer ones."""

    __slots__ = ("base_offset_max", "base_offset_min", "count", "time_ms_max", "topic")

    def __init__(self, topic: str | None) -> None:
        self.topic = topic
        self.count = 0
        self.base_offset_min = -1
        self.base_offset_max = -1
        """Range of the known offsets; -1 if none is known."""
        self.time_ms_max = 0

    def add(self, dropped: Acknowledgement) -> None:
        """Count a dropped acknowledgement."""
        self.count += 1
        self.time_ms_max = max(self.time_ms_max, dropped.time_ms)
        offset = dropped.base_offset
        if offset >= 0:
            lowest = self.base_offset_min
            self.base_offset_min = offset if lowest < 0 else min(lowest, offset)
            self.base_offset_max = max(self.base_offset_max, offset)


PartitionKey = tuple["UUID", int]
_RuleIds = tuple[int, ...]


class Acknowledgements:
    """The last acknowledgements of a cluster, oldest first.

    `dropped` counts by partition those that were dropped because there were more than `count_max`;
    None stands for all partitions beyond `DROPPED_PARTITIONS_MAX`. `excluded` counts by the id of a
    fault rule the responses that it falsified.
    """

    def __init__(self, count_max: int, *, is_enabled: bool = False) -> None:
        self.is_enabled = is_enabled
        self._count_max = count_max
        self._sent: deque[Acknowledgement] = deque()
        self._unwritten: dict[int, list[Acknowledgement | _RuleIds]] = {}
        """Acknowledgements of responses that are not yet written, by connection."""
        self.dropped: dict[PartitionKey | None, Dropped] = {}
        self.excluded: Counter[int] = Counter()
        self.changes: deque[RecordChange] = deque(maxlen=count_max)
        """The latest changes of fault rules to what logs store, oldest first."""

    def __len__(self) -> int:
        return len(self._sent)

    @property
    def sent(self) -> tuple[Acknowledgement, ...]:
        """The acknowledgements that are kept."""
        return tuple(self._sent)

    def follow(self, context: RequestContext, result: DispatchResult) -> DispatchResult:
        """Record the batches of a Produce request once its response has been written."""
        if context.api_key != ApiKey.PRODUCE:
            return result
        if not isinstance(result, PendingFrame):
            self._responded(context, result)
            return result

        def encode(response: Any) -> CompletedResponse:
            late = result.encode(response)
            self._responded(context, late)
            return late

        return PendingFrame(result.pending, encode)

    def written(self, connection_id: int) -> None:
        """Record that all responses of a connection have been written to its socket."""
        for item in self._unwritten.pop(connection_id, ()):
            if isinstance(item, Acknowledgement):
                self._add(item)
            else:
                self.excluded.update(item)

    def note_change(self, change: RecordChange) -> None:
        """Record that a fault rule has changed a batch of a log, or where it is in the end."""
        withheld = change._replace(base_offset=-1)
        if withheld in self.changes:
            self.changes.remove(withheld)
        self.changes.append(change)

    def forget(self, connection_id: int) -> None:
        """Drop the unwritten acknowledgements of a connection that has ended."""
        self._unwritten.pop(connection_id, None)

    def clear(self) -> None:
        """Remove everything: the cluster is reset."""
        self._sent.clear()
        self._unwritten.clear()
        self.dropped.clear()
        self.excluded.clear()
        self.changes.clear()

    def _responded(self, context: RequestContext, response: CompletedResponse) -> None:
        frame = response.frame if isinstance(response, Throttled) else response
        if not isinstance(frame, bytes):  # acks=0, or the connection ends
            return
        noted: list[Acknowledgement] = context.acknowledgements or []
        made: list[Acknowledgement | _RuleIds]
        if context.falsified_by:
            made = [context.falsified_by]
        elif context.fault is not None:
            made = [*_acknowledged_by(frame, context.api_version, noted)]
        else:
            made = [*noted]
        if made:
            self._unwritten.setdefault(context.connection_id, []).extend(made)

    def _add(self, acknowledgement: Acknowledgement) -> None:
        if len(self._sent) >= self._count_max:
            self._drop(self._sent.popleft())
        self._sent.append(acknowledgement)

    def _drop(self, oldest: Acknowledgement) -> None:
        key: PartitionKey | None = oldest.topic_id, oldest.partition
        topic: str | None = oldest.topic
        if key not in self.dropped and len(self.dropped) >= DROPPED_PARTITIONS_MAX:
            key = topic = None
        if key not in self.dropped:
            self.dropped[key] = Dropped(topic)
        self.dropped[key].add(oldest)


def _acknowledged_by(
    frame: bytes, api_version: int, noted: list[Acknowledgement]
) -> list[Acknowledgement]:
    """Return the batches that the response acknowledges; a rule may have put errors into it."""
    response = decode_response(frame, ApiKey.PRODUCE, api_version)
    acknowledged = {
        (topic.topic_id if api_version >= 13 else topic.name, partition.index)
        for topic in response.responses
        for partition in topic.partition_responses
        if partition.error_code in _ACKNOWLEDGING
    }
    return [
        acknowledgement
        for acknowledgement in noted
        if (
            acknowledgement.topic_id if api_version >= 13 else acknowledgement.topic,
            acknowledgement.partition,
        )
        in acknowledged
    ]
