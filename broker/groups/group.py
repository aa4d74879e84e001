"""One classic group: the state machine of rebalances, syncs and heartbeats.

    Empty -> PreparingRebalance -> CompletingRebalance -> Stable -> PreparingRebalance ...

PreparingRebalance waits for every member to join, CompletingRebalance for the leader's assignment.
`TRANSITIONS` has all transitions. Sources: Kafka's `GroupMetadataManager.classicGroup*` and
`ClassicGroup`.

Responses are queued in an outbox. `deliver` sends them once the state is consistent again, because
a client that gets its response may have its next request in the buffer already. Timers call
`deliver` themselves.
"""

from collections import deque
from collections.abc import Callable, Mapping

from broker.groups.members import Member, Membership
from broker.groups.offsets import OffsetTable
from broker.groups.requests import (
    UNKNOWN_MEMBER,
    JoinRequest,
    SyncRequest,
)
from broker.groups.results import (
    TRANSITIONS,
    GroupState,
    JoinCallback,
    JoinResult,
    SyncCallback,
    SyncResult,
)
from broker.groups.session_timer import SessionTimer
from broker.timers import Timer, Timers
from protocol.errors import ErrorCode
from protocol.pacing import may_pause

CONSUMER_PROTOCOL_TYPE = "consumer"
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""Time that a new member may wait for its first join; fixed in Kafka, too (5 minutes)."""


class Group:
    """One group. Call `deliver` after any method that may complete a response."""

    group_type = "classic"

    def __init__(
        self,
        group_id: str,
        timers: Timers,
        *,
        initial_rebalance_delay_ms: int,
        now_ms: int,
        on_metadata: Callable[["Group", int], None],
        offsets: OffsetTable | None = None,
    ) -> None:
        self.group_id = group_id
        self.on_metadata = on_metadata
        """Called with the group and the time when its metadata is to be stored."""
        self.state = GroupState.EMPTY
        self.state_since_ms = now_ms
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.subscribed_topics: frozenset[str] | None = None
        """Topics that members subscribe to; None if unknown."""
        self.members = Membership()
        self.offsets = OffsetTable() if offsets is None else offsets
        self._timers = timers
        self._initial_rebalance_delay_ms = initial_rebalance_delay_ms
        # The first rebalance ends after a delay, all others when every member has joined.
        self._is_first_rebalance = False
        self._has_grown_since_delay = False
        self._awaited_syncs: dict[str, None] = {}  # an ordered set of member ids
        self._join_timer: Timer | None = None
        self._sync_timer: Timer | None = None
        self._outbox: deque[Callable[[], None]] = deque()

    @property
    def is_consumer_group(self) -> bool:
        """Whether its members use the protocol of consumers, which names topics."""
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    @may_pause
    def deliver(self) -> None:
        """Send the queued responses; sending one may handle the client's next request."""
        while self._outbox:
            self._outbox.popleft()()

    # Join: called by `joining` --------------------------------------------------------------

    @may_pause
    def post_join(self, callback: JoinCallback, result: JoinResult) -> None:
        """Queue a JoinGroup response for `deliver`."""
        self._outbox.append(lambda: callback(result))

    def joined(self, member: Member) -> JoinResult:
        """Return the result for a member of the current generation; the leader gets all members."""
        is_leader = self.members.leader_id == member.member_id
        return JoinResult(
            error_code=ErrorCode.NONE,
            member_id=member.member_id,
            generation_id=self.generation_id,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader_id=self.members.leader_id or UNKNOWN_MEMBER,
            members=self.members.with_metadata(self.protocol_name or "") if is_leader else (),
        )

    def reserve_member_id(self, member_id: str, session_timeout_ms: int, now_ms: int) -> None:
        """Reserve a member id for the length of a session (KIP-394)."""

        def expire(now_ms: int) -> None:
            self.members.pending.pop(member_id, None)
            self._maybe_complete_join(now_ms)
            self.deliver()

        session = SessionTimer(self._timers, expire)
        session.restart(now_ms, session_timeout_ms)
        self.members.pending[member_id] = session

    @may_pause
    def add_member(
        self, member_id: str, request: JoinRequest, callback: JoinCallback, now_ms: int
    ) -> None:
        """Add a new member, which begins a rebalance or joins the current one."""
        self.release_member_id(member_id)
        member = Member(
            member_id=member_id,
            group_instance_id=request.group_instance_id,
            client_id=request.client_id,
            client_host=request.client_host,
            protocols=request.protocols,
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session=SessionTimer(self._timers, lambda now_ms: self.expire(member, now_ms)),
            subscriptions=request.subscriptions,
        )
        if not self.members:
            self.protocol_type = request.protocol_type
        self.members.add(member)
        self.members.await_join(member, callback)
        self._has_grown_since_delay = True
        # It cannot heartbeat before it knows its id. This timeout ends the wait of a lost client.
        member.session.restart(now_ms, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._rebalance_or_complete(now_ms)

    @may_pause
    def rejoin(
        self, member: Member, request: JoinRequest, callback: JoinCallback, now_ms: int
    ) -> None:
        """Add a member to the current rebalance, or begin one."""
        self._respond_to_join(member, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
        self.members.update(member, request)
        self.members.await_join(member, callback)
        self._rebalance_or_complete(now_ms)

    @may_pause
    def replace_static(
        self, member: Member, new_member_id: str, request: JoinRequest, now_ms: int
    ) -> None:
        """Give a static member a new id and fence requests that wait under the old one."""
        self._respond_to_join(member, ErrorCode.FENCED_INSTANCE_ID, member.member_id)
        self._respond_to_sync(member, SyncResult(ErrorCode.FENCED_INSTANCE_ID))
        if member.member_id in self._awaited_syncs:
            del self._awaited_syncs[member.member_id]
            self._awaited_syncs[new_member_id] = None
        self.members.rename_static(member, new_member_id)
        self.members.update(member, request)
        member.is_new = False
        member.session.restart(now_ms, request.session_timeout_ms)

    @may_pause
    def reject(self, member_id: str, now_ms: int) -> None:
        """Remove a reserved id, or a member that rejoined late, because the group is full."""
        self.release_member_id(member_id)
        member = self.members.get(member_id)
        if member is not None:
            self.remove(member)
        self._maybe_complete_join(now_ms)

    # Rebalance -----------------------------------------------------------------------------

    @may_pause
    def _rebalance_or_complete(self, now_ms: int) -> None:
        if self.state is GroupState.PREPARING_REBALANCE:
            self._maybe_complete_join(now_ms)
        else:
            self.prepare_rebalance(now_ms)

    @may_pause
    def prepare_rebalance(self, now_ms: int) -> None:
        """Begin a rebalance: every member has to join again."""
        if self.state is GroupState.COMPLETING_REBALANCE:
            self._assign({}, ErrorCode.REBALANCE_IN_PROGRESS, now_ms)
        self._awaited_syncs.clear()
        self._stop_sync_timer()
        self._is_first_rebalance = self.state is GroupState.EMPTY
        self._enter(GroupState.PREPARING_REBALANCE, now_ms)
        if self._is_first_rebalance:
            delay_ms = self._initial_rebalance_delay_ms
            self._has_grown_since_delay = False
            left_ms = max(self.members.rebalance_timeout_ms - delay_ms, 0)
            self._delay_first_rebalance(delay_ms, left_ms, now_ms)
        elif self.members.have_all_joined():
            self._complete_join(now_ms)
        else:
            self._schedule_complete_join(now_ms)

    @may_pause
    def _delay_first_rebalance(self, delay_ms: int, left_ms: int, now_ms: int) -> None:
        """Wait for more members, again while they join, up to the rebalance timeout (KIP-134)."""
        if delay_ms == 0:
            self._complete_join(now_ms)
            return

        def run(now_ms: int) -> None:
            if self._has_grown_since_delay and left_ms:
                self._has_grown_since_delay = False
                next_delay_ms = min(self._initial_rebalance_delay_ms, left_ms)
                self._delay_first_rebalance(next_delay_ms, max(left_ms - delay_ms, 0), now_ms)
            else:
                self._complete_join(now_ms)
                self.deliver()

        self._join_timer = self._timers.schedule(now_ms + delay_ms, run)

    def _schedule_complete_join(self, now_ms: int) -> None:
        def run(now_ms: int) -> None:
            self._complete_join(now_ms)
            self.deliver()

        # With a timeout of 0 and no joined member, the timer would fire again and again.
        due_ms = self._timers.deadline_ms(now_ms, max(self.members.rebalance_timeout_ms, 1))
        self._join_timer = self._timers.schedule(due_ms, run)

    @may_pause
    def _maybe_complete_join(self, now_ms: int) -> None:
        if (
            self.state is GroupState.PREPARING_REBALANCE
            and not self._is_first_rebalance
            and self.members.have_all_joined()
        ):
            self._complete_join(now_ms)

    @may_pause
    def _complete_join(self, now_ms: int) -> None:
        """End the join phase: remove members that have not joined, and begin a new generation."""
        self._stop_join_timer()
        for member in tuple(self.members):
            if member.join_callback is None and member.group_instance_id is None:
                self.remove(member)
        if self.members and not self.members.elect_joined_leader():
            # Only static members are left and none has joined; wait for their sessions to expire.
            self._schedule_complete_join(now_ms)
            return
        self.generation_id += 1
        self._is_first_rebalance = False
        self.protocol_name = self.members.select_protocol() if self.members else None
        self.subscribed_topics = (
            self.members.subscribed_topics(self.protocol_name) if self.is_consumer_group else None
        )
        if not self.members:
            self._enter(GroupState.EMPTY, now_ms)
            self.on_metadata(self, now_ms)
            return
        self._enter(GroupState.COMPLETING_REBALANCE, now_ms)
        for member in self.members:
            callback = self.members.take_join_callback(member)
            if callback is not None:
                self.post_join(callback, self.joined(member))
            member.session.restart(now_ms, member.session_timeout_ms)
            member.is_new = False
            self._awaited_syncs[member.member_id] = None
        self._schedule_sync_expiry(now_ms)

    def _schedule_sync_expiry(self, now_ms: int) -> None:
        def run(now_ms: int) -> None:
            for member_id in tuple(self._awaited_syncs):
                member = self.members.get(member_id)
                if member is not None:
                    self.remove(member)
            self.prepare_rebalance(now_ms)
            self.deliver()

        due_ms = self._timers.deadline_ms(now_ms, max(self.members.rebalance_timeout_ms, 1))
        self._sync_timer = self._timers.schedule(due_ms, run)

    def is_subscribed_to(self, topic_name: str) -> bool:
        """Whether a member subscribes to a topic; unreadable subscriptions count as all topics."""
        if self.subscribed_topics is None:
            return self.is_consumer_group
        return topic_name in self.subscribed_topics

    # Sync ----------------------------------------------------------------------------------

    @may_pause
    def sync(self, request: SyncRequest, callback: SyncCallback, now_ms: int) -> None:
        """Complete a SyncGroup now, or when the leader has sent the assignment."""
        error_code = self._check_sync(request)
        member = self.members.get(request.member_id)
        if error_code is not ErrorCode.NONE or member is None:
            self._outbox.append(lambda: callback(SyncResult(error_code)))
            return
        self._awaited_syncs.pop(member.member_id, None)
        if not self._awaited_syncs:
            self._stop_sync_timer()
        self._respond_to_sync(member, SyncResult(ErrorCode.REBALANCE_IN_PROGRESS))
        member.sync_callback = callback
        if self.state is GroupState.STABLE:
            self._respond_to_sync(member, self._synced(member))
        elif self.members.leader_id == member.member_id:
            self._assign(request.assignments, ErrorCode.NONE, now_ms)
            self.on_metadata(self, now_ms)
            self._enter(GroupState.STABLE, now_ms)

    def _check_sync(self, request: SyncRequest) -> ErrorCode:
        error_code = self.members.check(request.member_id, request.group_instance_id)
        if error_code is not ErrorCode.NONE:
            return error_code
        if request.generation_id != self.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        if request.protocol_type not in {None, self.protocol_type}:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if request.protocol_name not in {None, self.protocol_name}:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if self.state is GroupState.PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    @may_pause
    def _assign(self, assignments: Mapping[str, bytes], error_code: ErrorCode, now_ms: int) -> None:
        """Set the assignment of all members, empty by default, and complete waiting SyncGroups."""
        for member in self.members:
            member.assignment = assignments.get(member.member_id, b"")
            if member.sync_callback is not None:
                is_error = error_code is not ErrorCode.NONE
                result = SyncResult(error_code) if is_error else self._synced(member)
                self._respond_to_sync(member, result)
                # Its session did not expire while it waited.
                member.session.restart(now_ms, member.session_timeout_ms)

    def _synced(self, member: Member) -> SyncResult:
        return SyncResult(ErrorCode.NONE, self.protocol_type, self.protocol_name, member.assignment)

    # Staying and leaving -------------------------------------------------------------------

    def heartbeat(
        self, member_id: str, group_instance_id: str | None, generation_id: int, now_ms: int
    ) -> ErrorCode:
        """Restart a member's session; return REBALANCE_IN_PROGRESS if it must join again."""
        error_code = self.members.check(member_id, group_instance_id)
        if error_code is not ErrorCode.NONE:
            return error_code
        if generation_id != self.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        self.touch(member_id, now_ms)
        if self.state is GroupState.PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def touch(self, member_id: str, now_ms: int) -> None:
        """Restart the session of a member, if there is one with this id."""
        member = self.members.get(member_id)
        if member is not None:
            member.session.restart(now_ms, member.session_timeout_ms)

    @may_pause
    def expire(self, member: Member, now_ms: int) -> None:
        """Remove a member whose session is over, unless it waits for a response."""
        if member.is_excused_from_heartbeats():
            return  # its pending response restarts its session
        self.remove(member)
        self.rebalance_without_removed(now_ms)
        self.deliver()

    @may_pause
    def rebalance_without_removed(self, now_ms: int) -> None:
        """Rebalance after members were removed, or complete the rebalance that waits for them."""
        if self.state in {GroupState.STABLE, GroupState.COMPLETING_REBALANCE}:
            self.prepare_rebalance(now_ms)
        else:
            self._maybe_complete_join(now_ms)

    @may_pause
    def remove(self, member: Member) -> None:
        """Remove a member. Its waiting requests get UNKNOWN_MEMBER_ID, so its client rejoins."""
        self._respond_to_join(member, ErrorCode.UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER)
        self._respond_to_sync(member, SyncResult(ErrorCode.UNKNOWN_MEMBER_ID))
        member.session.stop()
        self._awaited_syncs.pop(member.member_id, None)
        self.members.remove(member)

    def release_member_id(self, member_id: str) -> bool:
        """Release the id of a member that has not joined yet; return whether there was one."""
        session = self.members.pending.pop(member_id, None)
        if session is not None:
            session.stop()
        return session is not None

    @may_pause
    def unload(self, now_ms: int) -> None:
        """Send waiting members to the new coordinator, as Kafka's `onUnloaded` and `onLoaded` do.

        Remove members that do not know their id yet, and restart the sessions of all others.
        """
        for member in tuple(self.members):
            self._respond_to_join(member, ErrorCode.NOT_COORDINATOR, member.member_id)
            self._respond_to_sync(member, SyncResult(ErrorCode.NOT_COORDINATOR))
            self.touch(member.member_id, now_ms)
            if member.is_new:
                self.remove(member)
        self._maybe_complete_join(now_ms)

    @may_pause
    def close(self, error_code: ErrorCode = ErrorCode.NOT_COORDINATOR) -> None:
        """Remove all members and stop all timers; members that wait get the error."""
        for member in tuple(self.members):
            self._respond_to_join(member, error_code, member.member_id)
            self._respond_to_sync(member, SyncResult(error_code))
            self.remove(member)
        for member_id in tuple(self.members.pending):
            self.release_member_id(member_id)
        self._stop_join_timer()
        self._stop_sync_timer()
        self.state = GroupState.DEAD

    def _enter(self, state: GroupState, now_ms: int) -> None:
        assert state in TRANSITIONS[self.state], f"{self.state} to {state}"
        self.state = state
        self.state_since_ms = now_ms

    def _respond_to_join(self, member: Member, error_code: ErrorCode, member_id: str) -> None:
        callback = self.members.take_join_callback(member)
        if callback is not None:
            self.post_join(callback, JoinResult(error_code, member_id))

    @may_pause
    def _respond_to_sync(self, member: Member, result: SyncResult) -> None:
        callback, member.sync_callback = member.sync_callback, None
        if callback is not None:
            self._outbox.append(lambda: callback(result))

    def _stop_join_timer(self) -> None:
        self._timers.cancel(self._join_timer)
        self._join_timer = None

    def _stop_sync_timer(self) -> None:
        self._timers.cancel(self._sync_timer)
        self._sync_timer = None
