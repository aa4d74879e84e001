"""Drive the groups of the consumer protocol in virtual time, for the tests of this package."""

from collections.abc import Iterable
from itertools import count
from typing import Any
from uuid import UUID

from broker.groups.consumer.assignment import Assignment
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.requests import ConsumerHeartbeat, HeartbeatResult
from broker.groups.consumer.topics import TopicMetadata
from broker.groups.coordinator import GroupCoordinator
from broker.groups.modern_rules import rules_of
from broker.groups.requests import CommitRequest, OffsetToCommit
from broker.timers import Timers
from protocol.coordinator_records import GROUP_RECORDS, CoordinatorRecord, decode_key, decode_value
from protocol.errors import ErrorCode
from protocol.releases import DEFAULT_RELEASE, Release
from tests.broker.groups.driver import DEFAULTS

GROUP = "g"
SESSION_MS = 45_000
REBALANCE_MS = 60_000
CONSUMER_DEFAULTS: dict[str, Any] = {
    **DEFAULTS,
    "group.consumer.assignment.interval.ms": 0,
    "group.consumer.assignors": ("uniform", "range"),
    "group.consumer.heartbeat.interval.ms": 5000,
    "group.consumer.max.size": 2**31 - 1,
    "group.consumer.migration.policy": "bidirectional",
    "group.consumer.regex.refresh.interval.ms": 600_000,
    "group.consumer.session.timeout.ms": SESSION_MS,
}
JOINED = rules_of(DEFAULT_RELEASE).first_epoch + 1
"""The epoch of the first member of a group; one less if it subscribes to no topic."""


class Topics:
    """Topics that tests create and change, a `TopicSource`."""

    def __init__(self, **partition_counts: int) -> None:
        self.created_count = 0
        self._by_name: dict[str, TopicMetadata] = {}
        for name, partition_count in partition_counts.items():
            self.create(name, partition_count)

    def create(self, name: str, partition_count: int) -> None:
        """Create a topic."""
        self.created_count += 1
        topic_id = UUID(int=self.created_count)
        self._by_name[name] = TopicMetadata(
            name, topic_id, partition_count, 100 * topic_id.int + partition_count
        )

    def grow(self, name: str, partition_count: int) -> None:
        """Add partitions to a topic."""
        topic = self._by_name[name]
        self._by_name[name] = topic._replace(
            partition_count=partition_count,
            metadata_hash=100 * topic.topic_id.int + partition_count,
        )

    def delete(self, name: str) -> None:
        """Delete a topic."""
        del self._by_name[name]

    def get(self, name: str) -> TopicMetadata | None:
        """Return the topic with this name, or None."""
        return self._by_name.get(name)

    def name_of(self, topic_id: UUID) -> str | None:
        """Return the name of a topic id, or None."""
        found = (topic.name for topic in self._by_name.values() if topic.topic_id == topic_id)
        return next(found, None)

    def names(self) -> Iterable[str]:
        """Return the names of all topics."""
        return self._by_name

    def forget(self, name: str) -> None:
        """Do nothing: a change is seen at once."""


class ConsumerDriver:
    """The members of one group: they send at `now_ms`."""

    def __init__(
        self, topics: Topics | None = None, *, release: Release = DEFAULT_RELEASE, **config: Any
    ) -> None:
        overrides = {name.replace("_", "."): value for name, value in config.items()}
        suffixes = count(1)
        self.topics = topics or Topics(t=4)
        self.release = release
        self.timers = Timers()
        self.now_ms = 1_000
        self.records: list[CoordinatorRecord] = []
        self.config = CONSUMER_DEFAULTS | overrides
        self.groups = GroupCoordinator(
            self.config,
            self.timers,
            member_id_suffix=lambda: f"id{next(suffixes)}",
            member_id=lambda: f"id{next(suffixes)}",
            append_records=self._append,
            topics=self.topics,
            rules=lambda: rules_of(self.release),
        )

    def _append(
        self,
        _group_id: str,
        records: list[CoordinatorRecord],
        _now_ms: int,
        *,
        is_atomic: bool = False,
        producer: tuple[int, int] | None = None,
    ) -> ErrorCode:
        self.records += records
        return ErrorCode.NONE

    def written(self) -> list[tuple[Any, Any]]:
        """Return the decoded records since the last call."""
        pairs = [(decode_key(GROUP_RECORDS, key), key, value) for key, value in self.records]
        self.records.clear()
        return [(key, decode_value(GROUP_RECORDS, key, value)) for key, _, value in pairs]

    def written_names(self) -> list[tuple[str, str]]:
        """Return the kind of each record since the last call, and its member; `-` deletes it."""
        return [
            (
                ("" if value else "-") + type(key).__name__.removesuffix("Key"),
                getattr(key, "member_id", "") or getattr(key, "regular_expression", ""),
            )
            for key, value in self.written()
        ]

    def heartbeat(self, member_id: str, epoch: int, **fields: Any) -> HeartbeatResult:
        """Send a heartbeat."""
        request = ConsumerHeartbeat(
            GROUP, member_id, epoch, client_id="client", client_host="/host", **fields
        )
        return self.groups.consumer_heartbeat(request, self.now_ms)

    def join(self, member_id: str, *names: str, **fields: Any) -> HeartbeatResult:
        """Send the first heartbeat of a member that subscribes to topics, by default to t."""
        defaults: dict[str, Any] = {
            "rebalance_timeout_ms": REBALANCE_MS,
            "subscribed_topic_names": names or ("t",),
            "owned_partitions": {},
        }
        return self.heartbeat(member_id, 0, **(defaults | fields))

    def commit(self, member_id: str, epoch: int, *indexes: int, **fields: Any) -> ErrorCode:
        """Commit offsets of partitions of t with an epoch or a generation; return their error."""
        topic = self.topics.get("t")
        assert topic is not None
        offsets = [OffsetToCommit("t", index, 7, topic_id=topic.topic_id) for index in indexes]
        request = CommitRequest(GROUP, offsets, epoch, member_id, **fields)
        (error_code,) = set(self.groups.table.commit(request, self.now_ms))
        return error_code

    def advance(self, by_ms: int) -> None:
        """Let time pass; run timers at their due times."""
        end_ms = self.now_ms + by_ms
        while (due_ms := self.timers.next_due_ms()) is not None and due_ms <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.timers.run_due(self.now_ms)
        self.now_ms = end_ms

    def change_topic(self, name: str) -> None:
        """Let the groups know that a topic has changed."""
        self.groups.table.note_topic_change(name)

    @property
    def group(self) -> ConsumerGroup:
        """The group, which must exist."""
        group = self.groups.table._groups[GROUP]
        assert isinstance(group, ConsumerGroup)
        return group

    def owned(self, member_id: str) -> Assignment:
        """Return what a member may read."""
        return self.group.members[member_id].assigned_partitions

    def sizes(self) -> dict[str, int]:
        """Return the number of partitions of each member's target."""
        return {
            member_id: sum(map(len, self.group.target_of(member_id).values()))
            for member_id in self.group.members
        }
