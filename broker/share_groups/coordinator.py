"""The table of share groups: heartbeats, sessions of members, and the state that groups need.

Sources: Kafka's `GroupCoordinatorService.shareGroupHeartbeat` and
`GroupMetadataManager`, with their messages.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from broker.config.api_versions import release_of
from broker.errors import Refusal
from broker.groups.consumer.assignment import Assignment
from broker.groups.consumer.topics import TopicSource
from broker.groups.group_records import AppendRecords
from broker.groups.loaded_records import LoadedRecords
from broker.groups.modern_rules import rules_of
from broker.groups.results import GroupListing
from broker.groups.session_timer import SessionTimer
from broker.share_groups.loading import load_share_group
from broker.share_groups.member import JOIN_EPOCH, LEAVE_EPOCH, ShareHeartbeat
from broker.share_groups.sessions import TopicIdPartition
from broker.share_groups.share_group import ShareGroup
from broker.timers import Timers
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

GroupSetting = Callable[[str, str], int]
"""Returns the value of a key of a group's configuration: `setting(group_id, key)`."""

InitializeState = Callable[[str, int, Sequence[TopicIdPartition], int], list[bool]]
"""`initialize(group_id, state_epoch, partitions, now_ms)` says for each whether it succeeded."""

SESSION_TIMEOUT_KEY = "share.session.timeout.ms"
HEARTBEAT_INTERVAL_KEY = "share.heartbeat.interval.ms"
ASSIGNMENT_INTERVAL_KEY = "share.assignment.interval.ms"
GROUP_TYPE = "share"
"""The type of the groups, and their protocol type."""


@dataclass(frozen=True, slots=True)
class ShareHeartbeatResult:
    """The result of a heartbeat; `assignment` is None if it has not changed."""

    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None


class ShareGroupCoordinator:
    """All share groups of the cluster."""

    def __init__(
        self,
        config: Mapping[str, Any],
        timers: Timers,
        topics: TopicSource,
        setting: GroupSetting,
        append_records: AppendRecords,
        initialize_state: InitializeState,
        is_taken: Callable[[str], bool],
    ) -> None:
        """`is_taken` returns whether a group of another type has an id."""
        self.config = config
        self._timers = timers
        self._topics = topics
        self._setting = setting
        self._append_records = append_records
        self._initialize_state = initialize_state
        self._is_taken = is_taken
        self._groups: dict[str, ShareGroup] = {}
        self._sessions: dict[tuple[str, str], SessionTimer] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, group_id: str) -> bool:
        return group_id in self._groups

    def get(self, group_id: str) -> ShareGroup | None:
        """Return the share group with this id, or None."""
        return self._groups.get(group_id)

    def find(self, group_id: str) -> ShareGroup | Refusal:
        """Return the share group with this id, or GROUP_ID_NOT_FOUND."""
        group = self._groups.get(group_id)
        if group is not None:
            return group
        message = f"Group {group_id} not found."
        if self._is_taken(group_id):
            message = f"Group {group_id} is not a share group."
        return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, message)

    def find_or_make(self, group_id: str) -> ShareGroup | Refusal:
        """Return the share group with this id, or a new one; GROUP_ID_NOT_FOUND if it is another.

        `set_initialized` keeps a new one.
        """
        if group_id in self._groups or self._is_taken(group_id):
            return self.find(group_id)
        return self._new_group(group_id)

    def _new_group(self, group_id: str) -> ShareGroup:
        return ShareGroup(group_id, lambda: rules_of(release_of(self.config)))

    def all(self) -> list[ShareGroup]:
        """Return all share groups."""
        return list(self._groups.values())

    # Heartbeats ------------------------------------------------------------------------------

    def heartbeat(self, request: ShareHeartbeat, now_ms: int) -> ShareHeartbeatResult | Refusal:
        """Carry out a heartbeat that `request_problem` has checked: join, stay or leave."""
        if request.member_epoch == LEAVE_EPOCH:
            return self._leave(request, now_ms)
        group = self._group_of(request)
        if isinstance(group, Refusal):
            return group
        if (
            len(group.members) >= (limit := self.config["group.share.max.size"])
            and request.member_id not in group.members
        ):
            return Refusal(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The share group has reached its maximum capacity of {limit} members.",
            )
        before = group.find_member(request)
        if isinstance(before, Refusal):
            return before
        self._groups[group.group_id] = group
        member = group.heartbeat(
            before,
            request,
            self._topics,
            now_ms,
            interval_ms=self._setting(group.group_id, ASSIGNMENT_INTERVAL_KEY),
        )
        self._restart_session(group, member.member_id, now_ms)
        self._initialize_later(group, now_ms)
        self._write(group, now_ms)
        is_changed = (
            request.member_epoch == JOIN_EPOCH
            or request.subscribed_topic_names is not None
            or member.assigned != before.assigned
        )
        return ShareHeartbeatResult(
            member.member_id,
            member.member_epoch,
            self._setting(group.group_id, HEARTBEAT_INTERVAL_KEY),
            member.assigned if is_changed else None,
        )

    def _group_of(self, request: ShareHeartbeat) -> ShareGroup | Refusal:
        group_id = request.group_id
        group = self._groups.get(group_id)
        if group is not None:
            return group
        if self._is_taken(group_id):
            message = f"Group {group_id} is not a share group."
            return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, message)
        if request.member_epoch != JOIN_EPOCH:
            return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {group_id} not found.")
        return self._new_group(group_id)

    def _leave(self, request: ShareHeartbeat, now_ms: int) -> ShareHeartbeatResult | Refusal:
        group = self.find(request.group_id)
        if isinstance(group, Refusal):
            return group
        if request.member_id not in group.members:
            return group.unknown_member(request.member_id)
        self.fence(group, request.member_id, now_ms)
        return ShareHeartbeatResult(request.member_id, LEAVE_EPOCH)

    def fence(self, group: ShareGroup, member_id: str, now_ms: int) -> None:
        """Remove a member."""
        session = self._sessions.pop((group.group_id, member_id), None)
        if session is not None:
            session.stop()
        group.remove(member_id, self._topics)
        self._write(group, now_ms)

    def rebalance(self, group: ShareGroup, now_ms: int) -> None:
        """Begin a new epoch of a group."""
        group.begin_epoch(self._topics)
        self._write(group, now_ms)

    def _restart_session(self, group: ShareGroup, member_id: str, now_ms: int) -> None:
        key = (group.group_id, member_id)
        session = self._sessions.get(key)
        if session is None:

            def expire(now_ms: int) -> None:
                self.fence(group, member_id, now_ms)

            session = self._sessions[key] = SessionTimer(self._timers, expire)
        session.restart(now_ms, self._setting(group.group_id, SESSION_TIMEOUT_KEY))

    def _write(self, group: ShareGroup, now_ms: int) -> None:
        if group.unwritten:
            self._append_records(group.group_id, group.take_records(), now_ms)

    # Share state -----------------------------------------------------------------------------

    def _initialize_later(self, group: ShareGroup, now_ms: int) -> None:
        """Create the state of new partitions after this request, as Kafka does.

        The next heartbeat of a member gets them.
        """
        partitions = group.begin_initialization(self._topics)
        if not partitions:
            return

        def run(now_ms: int) -> None:
            if self._groups.get(group.group_id) is not group:
                return
            results = self._initialize_state(group.group_id, group.group_epoch, partitions, now_ms)
            outcomes = list(zip(partitions, results, strict=True))
            group.end_initialization(
                [partition for partition, is_done in outcomes if is_done],
                [partition for partition, is_done in outcomes if not is_done],
            )
            self._write(group, now_ms)

        self._timers.schedule(now_ms, run)

    def set_initialized(
        self, group: ShareGroup, partitions: Sequence[TopicIdPartition], now_ms: int
    ) -> None:
        """Note states that were created for an administrator, perhaps before the first member."""
        self._groups[group.group_id] = group
        group.set_initialized(partitions, self._topics)
        self._write(group, now_ms)

    def forget_topic(self, topic_id: UUID, now_ms: int) -> None:
        """Forget the states of a topic in all groups: it was deleted."""
        for group in self._groups.values():
            if group.forget_topic(topic_id):
                self._write(group, now_ms)

    def forget_states(self, group: ShareGroup, topic_id: UUID, now_ms: int) -> None:
        """Forget the states of a topic in one group: an administrator deleted them."""
        group.forget_topic(topic_id)
        self._write(group, now_ms)

    # Groups ----------------------------------------------------------------------------------

    @may_pause
    def list_groups(
        self, states: Collection[str] = (), types: Collection[str] = ()
    ) -> list[GroupListing]:
        """Return all groups, or those in these states and of these types, ignoring case."""
        state_names = {name.strip().lower() for name in paced(states)}
        type_names = {name.lower() for name in paced(types)}
        if type_names and GROUP_TYPE not in type_names:
            return []
        return [
            GroupListing(group.group_id, group.state_name, GROUP_TYPE, GROUP_TYPE)
            for group in paced(self._groups.values())
            if not state_names or group.state_name.lower() in state_names
        ]

    def delete(self, group: ShareGroup, now_ms: int) -> ErrorCode:
        """Delete a group without members."""
        if not group.is_empty:
            return ErrorCode.NON_EMPTY_GROUP
        self._append_records(group.group_id, group.delete(), now_ms)
        del self._groups[group.group_id]
        return ErrorCode.NONE

    def forget_all(self) -> None:
        """Forget all groups, because their log was deleted."""
        for session in self._sessions.values():
            session.stop()
        self._sessions.clear()
        self._groups.clear()

    def load(self, group_id: str, records: LoadedRecords | None, now_ms: int) -> None:
        """Have a group be what its records say, and begin its sessions; None if it has none."""
        known = self._groups.pop(group_id, None)
        for member_id in () if known is None else known.members:
            session = self._sessions.pop((group_id, member_id), None)
            if session is not None:
                session.stop()
        if records is not None:
            group = self._groups[group_id] = self._new_group(group_id)
            load_share_group(group, records, self._topics)
            self.restart_sessions(group, now_ms)

    def restart_sessions(self, group: ShareGroup, now_ms: int) -> None:
        """Begin the sessions of a group again, as a new coordinator does."""
        for member_id in group.members:
            self._restart_session(group, member_id, now_ms)


def request_problem(request: ShareHeartbeat) -> Refusal | None:
    """Return why a request is invalid, or None."""
    problem = None
    if not request.member_id.strip():
        problem = "MemberId can't be empty."
    elif not request.group_id.strip():
        problem = "GroupId can't be empty."
    elif request.rack_id is not None and not request.rack_id.strip():
        problem = "RackId can't be empty."
    elif request.member_epoch == JOIN_EPOCH and not request.subscribed_topic_names:
        problem = "SubscribedTopicNames must be set in first request."
    elif request.member_epoch < LEAVE_EPOCH:
        problem = "MemberEpoch is invalid."
    return None if problem is None else Refusal(ErrorCode.INVALID_REQUEST, problem)
