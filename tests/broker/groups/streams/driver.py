"""Drive the members of one streams group in virtual time, for the tests of this package."""

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from broker.errors import Refusal
from broker.groups.coordinator import GroupCoordinator
from broker.groups.modern_rules import rules_of
from broker.groups.streams.group import StreamsGroup
from broker.groups.streams.requests import StreamsHeartbeat, StreamsHeartbeatResult
from broker.groups.streams.statuses import StatusCode
from broker.groups.streams.tasks import NO_TASKS, NOTHING_TARGETED, TargetTasks, Tasks
from broker.groups.streams.topology import Subtopology, TopicInfo, Topology
from broker.timers import Timers
from protocol.coordinator_records import GROUP_RECORDS, CoordinatorRecord, decode_key, decode_value
from protocol.errors import ErrorCode
from protocol.releases import Release
from tests.broker.groups.consumer.driver import CONSUMER_DEFAULTS, Topics

GROUP = "g"
SESSION_MS = 45_000
REBALANCE_MS = 60_000
STREAMS_DEFAULTS: dict[str, Any] = {
    **CONSUMER_DEFAULTS,
    "group.streams.acceptable.recovery.lag": 10_000,
    "group.streams.assignment.interval.ms": 0,
    "group.streams.heartbeat.interval.ms": 5000,
    "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.max.size": 2**31 - 1,
    "group.streams.num.standby.replicas": 0,
    "group.streams.rack.aware.assignment.tags": (),
    "group.streams.session.timeout.ms": SESSION_MS,
    "group.streams.task.offset.interval.ms": 60_000,
    "group.streams.topology.description.plugin.class": None,
}
STATELESS = Topology(1, {"0": Subtopology("0", ("t",))})
STATEFUL = Topology(
    1, {"0": Subtopology("0", ("t",), state_changelog_topics=(TopicInfo("store"),))}
)


class StreamsDriver:
    """The members of one group: they send at `now_ms`, and report what they were given."""

    def __init__(
        self,
        topics: Topics | None = None,
        topology: Topology = STATELESS,
        *,
        release: Release = (4, 4),
        **config: Any,
    ) -> None:
        overrides = {name.replace("_", "."): value for name, value in config.items()}
        suffixes = count(1)
        self.topics = topics or Topics(t=4, store=4)
        self.topology = topology
        self.timers = Timers()
        self.now_ms = 1_000
        self.records: list[CoordinatorRecord] = []
        self.tasks: dict[str, TargetTasks] = {}
        self.epochs: dict[str, int] = {}
        self.groups = GroupCoordinator(
            STREAMS_DEFAULTS | overrides,
            self.timers,
            member_id_suffix=lambda: f"id{next(suffixes)}",
            member_id=lambda: f"id{next(suffixes)}",
            append_records=self._append,
            topics=self.topics,
            rules=lambda: rules_of(release),
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
        del is_atomic, producer
        self.records += records
        return ErrorCode.NONE

    def take_records(self) -> list[tuple[str, Any]]:
        """Return the type and the value of each record since the last call."""
        records, self.records = self.records, []
        found = []
        for key, value in records:
            decoded = decode_key(GROUP_RECORDS, key)
            name = type(decoded).__name__.removesuffix("Key")
            found.append((name, decode_value(GROUP_RECORDS, decoded, value)))
        return found

    @property
    def group(self) -> StreamsGroup:
        """The group, which exists."""
        found = self.groups.table.get(GROUP)
        assert isinstance(found, StreamsGroup)
        return found

    def send(self, member_id: str, **fields: Any) -> StreamsHeartbeatResult | Refusal:
        """Send a heartbeat with these fields, and change nothing of what members know."""
        request = StreamsHeartbeat(**{"group_id": GROUP, "member_id": member_id, **fields})
        return self.groups.streams.heartbeat(request, self.now_ms)

    def join(self, member_id: str, **fields: Any) -> StreamsHeartbeatResult:
        """Join. Without a `process_id`, the member is the only one of its process."""
        joining: dict[str, Any] = {
            "member_epoch": 0,
            "rebalance_timeout_ms": REBALANCE_MS,
            "topology": self.topology,
            "active": NO_TASKS,
            "standby": NO_TASKS,
            "warmup": NO_TASKS,
            "process_id": f"process-{member_id}",
        }
        return self._noted(member_id, self.send(member_id, **joining | fields))

    def heartbeat(self, member_id: str, **fields: Any) -> StreamsHeartbeatResult:
        """Report what the member was given last."""
        owned = self.tasks[member_id]
        reported: dict[str, Any] = {
            "member_epoch": self.epochs[member_id],
            "active": owned.active,
            "standby": owned.standby,
            "warmup": NO_TASKS,
        }
        return self._noted(member_id, self.send(member_id, **reported | fields))

    def _noted(
        self, member_id: str, result: StreamsHeartbeatResult | Refusal
    ) -> StreamsHeartbeatResult:
        assert isinstance(result, StreamsHeartbeatResult), result
        self.epochs[member_id] = result.member_epoch
        self.tasks.setdefault(member_id, NOTHING_TARGETED)
        if result.tasks is not None:
            self.tasks[member_id] = result.tasks
        return result

    def settle(self, member_ids: Iterable[str]) -> None:
        """Let members report until nothing changes any more."""
        names = list(member_ids)
        for _ in range(10):
            before = dict(self.tasks), dict(self.epochs)
            for member_id in names:
                self.heartbeat(member_id)
            if before == (self.tasks, self.epochs):
                return
        raise AssertionError(f"never settles: {self.tasks}")

    def advance(self, duration_ms: int) -> None:
        """Let time pass."""
        self.now_ms += duration_ms
        self.timers.run_due(self.now_ms)

    def active(self, member_id: str) -> list[tuple[str, int]]:
        """Return the active tasks that a member was given last, in order."""
        return _sorted(self.tasks[member_id].active)

    def standby(self, member_id: str) -> list[tuple[str, int]]:
        """Return the standby tasks that a member was given last, in order."""
        return _sorted(self.tasks[member_id].standby)


def _sorted(tasks: Tasks) -> list[tuple[str, int]]:
    return sorted((name, index) for name, indexes in tasks.items() for index in indexes)


def codes(result: StreamsHeartbeatResult) -> list[StatusCode]:
    """Return the codes of the statuses of a result."""
    return [status.code for status in result.statuses]


def refused(result: StreamsHeartbeatResult | Refusal) -> tuple[ErrorCode, str | None]:
    """Return the error and the message of a heartbeat that was refused."""
    assert isinstance(result, Refusal), result
    return result.error_code, result.message


def renamed(tasks: Mapping[str, Iterable[int]]) -> Tasks:
    """Return tasks from a plain mapping."""
    return {name: frozenset(indexes) for name, indexes in tasks.items()}
