"""Which batches were acknowledged to their producers: what the audit compares with the logs.

The append notes a batch in the context of its request. It counts as acknowledged when the whole
response has been written to the socket of its connection; a response that is dropped, cut or never
sent acknowledges nothing. Nothing is recorded unless `audit.enable` is set.
"""

from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from broker.request.acknowledgement import Acknowledgement
from broker.request.context import RequestContext
from broker.responses import CompletedResponse, DispatchResult, PendingFrame, Throttled
from protocol.api_keys import ApiKey
from protocol.codec import decode_response
from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from uuid import UUID


DROPPED_PARTITIONS_MAX = 10_000
"""Partitions whose dropped acknowledgements are counted one by one; the others are summed up."""

_ACKNOWLEDGING = frozenset({ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER})
"""Clients take both for success."""


class Dropped:
    """Acknowledgements of one partition that were dropped for newer ones."""

    __slots__ = ("base_offset_max", "base_offset_min", "count", "time_ms_max", "topic")

    def __init__(self, topic: str | None) -> None:
        self.topic = topic
        self.count = 0
        self.base_offset_min = -1
        self.base_offset_max = -1
        """Of those whose offset is known; -1 for none."""
        self.time_ms_max = 0

    def add(self, dropped: Acknowledgement) -> None:
        """Count one."""
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
        """Of responses that are made and not yet written, by connection."""
        self.dropped: dict[PartitionKey | None, Dropped] = {}
        self.excluded: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._sent)

    @property
    def sent(self) -> tuple[Acknowledgement, ...]:
        """Those that are kept."""
        return tuple(self._sent)

    def follow(self, context: RequestContext, result: DispatchResult) -> DispatchResult:
        """Have what a Produce request appended count, once its response has been written."""
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
        """All responses that were made for a connection have been written to its socket."""
        for each in self._unwritten.pop(connection_id, ()):
            if isinstance(each, Acknowledgement):
                self._add(each)
            else:
                self.excluded.update(each)

    def forget(self, connection_id: int) -> None:
        """The connection has ended: what was not written acknowledges nothing."""
        self._unwritten.pop(connection_id, None)

    def clear(self) -> None:
        """Forget everything: the cluster is reset."""
        self._sent.clear()
        self._unwritten.clear()
        self.dropped.clear()
        self.excluded.clear()

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
    """Those that the response really acknowledges, in which a rule may have put errors."""
    response = decode_response(frame, ApiKey.PRODUCE, api_version)
    acknowledged = {
        (topic.topic_id if api_version >= 13 else topic.name, partition.index)
        for topic in response.responses
        for partition in topic.partition_responses
        if partition.error_code in _ACKNOWLEDGING
    }
    return [
        each
        for each in noted
        if (each.topic_id if api_version >= 13 else each.topic, each.partition) in acknowledged
    ]
