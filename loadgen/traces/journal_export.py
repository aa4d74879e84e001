"""Make rows of the broker's journal, as `GET /v1/requests/export` returns it: JSON lines."""

from typing import Any

import msgspec

from loadgen.traces.request_fields import (
    PartitionCounts,
    batches_of,
    first_partition,
    learn_topic_ids,
    topic_name,
    topics_of,
    value,
)

_WITH_TOPIC_IDS = {"Metadata", "CreateTopics"}


class _Line(msgspec.Struct):
    """The fields of a line that rows depend on."""

    received_ms: int
    api: str
    connection: int
    broker: int
    user: str = "ANONYMOUS"
    client_id: str | None = None
    request_bytes: int = 0
    response_bytes: int = 0
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()
    request: Any = None
    response: Any = None


class _Kind(msgspec.Struct):
    kind: str


class JournalExport:
    """The rows of one export; earlier lines say how many partitions topics have."""

    def __init__(self) -> None:
        self._counts = PartitionCounts()
        self._names: dict[str, str] = {}
        self._kind = msgspec.json.Decoder(_Kind)
        self._line = msgspec.json.Decoder(_Line)

    def row_of(self, line: bytes) -> dict[str, Any] | None:
        """Return the row of a request; None for other lines.

        Raises:
            ValueError: the line is not one of the journal.
        """
        if self._kind.decode(line).kind != "request":
            return None
        found = self._line.decode(line)
        if found.api in _WITH_TOPIC_IDS:
            learn_topic_ids(found.response, self._names)
        topics = topics_of(found.request)
        batches = batches_of(found.request)
        name = topic_name(topics[0], self._names) if topics else ""
        return {
            "time_us": found.received_ms * 1000,
            "api": found.api,
            "user": found.user,
            "client_id": found.client_id or "",
            "connection": str(found.connection),
            "broker": found.broker,
            "request_bytes": found.request_bytes,
            "response_bytes": found.response_bytes,
            "batch_bytes": batches.batch_bytes,
            "producer_id": batches.producer_id,
            "topic": name or next(iter(found.topics), ""),
            "partition": first_partition(topics[0]) if topics else -1,
            "topics": len(topics) or len(found.topics),
            "records": batches.records,
            "mutations": self._counts.mutations(
                found.api, found.request, found.response, self._names
            ),
            "group": value(found.request, "group_id") or next(iter(found.groups), ""),
            "transactional_id": next(iter(found.transactional_ids), ""),
        }
