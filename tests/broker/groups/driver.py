"""Drive a GroupCoordinator in virtual time, for the tests of this package."""

from itertools import count
from typing import Any

from broker.groups.coordinator import GroupCoordinator
from broker.groups.group import Group
from broker.groups.requests import CommitRequest, JoinRequest, OffsetToCommit, SyncRequest
from broker.groups.results import GroupDescription, GroupState, JoinResult, SyncResult
from broker.timers import Timers
from protocol.coordinator_records import CoordinatorRecord
from protocol.errors import ErrorCode

DEFAULTS: dict[str, Any] = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 6000,
    "group.max.session.timeout.ms": 1_800_000,
    "group.max.size": 2**31 - 1,
    "offset.metadata.max.bytes": 4096,
    "offsets.retention.minutes": 10_080,
    "offsets.retention.check.interval.ms": 600_000,
}
GROUP = "g"
SESSION_MS = 10_000
REBALANCE_MS = 60_000


class Driver:
    """The clients of one group: they send at `now_ms`; responses are lists that fill in time."""

    def __init__(self, **config: Any) -> None:
        overrides = {name.replace("_", "."): value for name, value in config.items()}
        suffixes = count(1)
        self.timers = Timers()
        self.now_ms = 1_000
        self.records: list[CoordinatorRecord] = []
        self.groups = GroupCoordinator(
            config=DEFAULTS | overrides,
            timers=self.timers,
            member_id_suffix=lambda: f"id{next(suffixes)}",
            member_id=lambda: f"id{next(suffixes)}",
            append_records=self._append,
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

    def join(self, member_id: str = "", **changes: Any) -> list[JoinResult]:
        """Send a JoinGroup; the list has its response once there is one."""
        fields: dict[str, Any] = {
            "group_id": GROUP,
            "member_id": member_id,
            "client_id": "client",
            "client_host": "/host",
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
            "protocol_type": "consumer",
            "protocols": {"range": b"meta"},
        }
        responses: list[JoinResult] = []
        self.groups.join(JoinRequest(**(fields | changes)), responses.append, self.now_ms)
        return responses

    def sync(
        self,
        member_id: str,
        generation_id: int,
        assignments: dict[str, bytes] | None = None,
        **changes: Any,
    ) -> list[SyncResult]:
        """Send a SyncGroup; the list has its response once there is one."""
        responses: list[SyncResult] = []
        request = SyncRequest(GROUP, member_id, generation_id, assignments or {}, **changes)
        self.groups.sync(request, responses.append, self.now_ms)
        return responses

    def heartbeat(
        self, member_id: str, generation_id: int, group_instance_id: str | None = None
    ) -> ErrorCode:
        """Send a Heartbeat."""
        return self.groups.heartbeat(
            GROUP, member_id, group_instance_id, generation_id, self.now_ms
        )

    def commit(self, offset: int = 7, **changes: Any) -> ErrorCode:
        """Commit an offset for partition 0 of topic t; return the error code."""
        offset_to_commit = OffsetToCommit("t", 0, offset)
        (error_code,) = self.groups.table.commit(
            CommitRequest(**({"group_id": GROUP, "offsets": (offset_to_commit,)} | changes)),
            self.now_ms,
        )
        return error_code

    def committed(self) -> int | None:
        """The offset committed for partition 0 of topic t, or None."""
        found = self.groups.table.committed(GROUP, "t", 0)
        return None if found is None else found.offset

    def advance(self, by_ms: int) -> None:
        """Let time pass; run timers at their due times."""
        end_ms = self.now_ms + by_ms
        while (due_ms := self.timers.next_due_ms()) is not None and due_ms <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.timers.run_due(self.now_ms)
        self.now_ms = end_ms

    def describe(self) -> GroupDescription:
        """Return the description of the group, which must exist."""
        group = self.groups.describe(GROUP)
        assert group is not None
        return group

    @property
    def is_empty(self) -> bool:
        """Whether the group exists and has no members."""
        return self.state is GroupState.EMPTY

    @property
    def state(self) -> GroupState:
        """The group's state; Dead if there is no group."""
        group = self.groups.describe(GROUP)
        return GroupState.DEAD if group is None else group.state

    def stable(self, *names: str, **changes: Any) -> list[str]:
        """Create a stable group with a member per client id; return the member ids."""
        member_ids: list[str] = []
        for name in names:
            latest = self.join(client_id=name, **changes)
            again = [self.join(member_id, **changes) for member_id in member_ids]
            results = [response[0] for response in (*again, latest)]
            member_ids = [result.member_id for result in results]
            generation_id = results[0].generation_id
            assignments = {member_id: f"for {member_id}".encode() for member_id in member_ids}
            leader_id = results[0].leader_id
            self.sync(leader_id, generation_id, assignments)
            for member_id in member_ids:
                self.sync(member_id, generation_id)
        assert self.state is GroupState.STABLE
        return member_ids

    @property
    def generation_id(self) -> int:
        """The current generation; reading it changes nothing."""
        group = self.groups.table._groups[GROUP]
        assert isinstance(group, Group)
        return group.generation_id

    def stable_static_and_dynamic(self) -> tuple[str, str]:
        """Create a stable group of a static leader (instance i) and a dynamic member; return the
        ids."""
        (static_id,) = self.stable("a", group_instance_id="i")
        newcomer = self.join(client_id="b")
        self.join(static_id, group_instance_id="i")
        other_id = newcomer[0].member_id
        self.sync(static_id, 2, {other_id: b"for the other"})
        self.sync(other_id, 2)
        return static_id, other_id

    def join_and_rejoin(self, leader_id: str) -> str:
        """Add a member and let the leader rejoin; return the id of the new member."""
        newcomer = self.join(client_id="newcomer")
        self.join(leader_id)
        return newcomer[0].member_id

    def sync_to(self, group_id: str) -> list[SyncResult]:
        """Send a SyncGroup to another group."""
        responses: list[SyncResult] = []
        self.groups.sync(SyncRequest(group_id, "m", 1, {}), responses.append, self.now_ms)
        return responses

    def commit_request(self, **fields: Any) -> CommitRequest:
        """Return a commit of this group."""
        return CommitRequest(**({"group_id": GROUP} | fields))
