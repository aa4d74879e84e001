"""One classic group: the state machine of rebalances, syncs, heartbeats and leaves.

    Empty -> PreparingRebalance -> CompletingRebalance -> Stable -> PreparingRebalance ...

PreparingRebalance waits for every member to join, CompletingRebalance for the leader's assignment.
What happens in which order is Kafka's `GroupMetadataManager.classicGroup*` and `ClassicGroup`.

Answers go into an outbox, and out of it with `deliver` once the state is whole again: a client that
gets its response may have the next request waiting in its buffer. Timers deliver on their own.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from broker.groups.members import Member, Membership
from broker.groups.offsets import OffsetTable
from broker.groups.requests import (
    UNKNOWN_MEMBER,
    CommitRequest,
    JoinRequest,
    MemberIdentity,
    SyncRequest,
)
from broker.groups.results import (
    GroupState,
    JoinReply,
    JoinResult,
    LeftMember,
    SyncReply,
    SyncResult,
)
from broker.groups.session_timer import SessionTimer
from broker.timers import Timer, Timers
from protocol.errors import ErrorCode

CONSUMER_PROTOCOL_TYPE = "consumer"
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""How long a new member may wait for its first join; Kafka's is as fixed (5 minutes)."""


class Group:
    """One group. Whoever calls a method that may answer somebody calls `deliver` afterwards."""

    def __init__(
        self, group_id: str, timers: Timers, *, initial_rebalance_delay_ms: int, now_ms: int
    ) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.state_since_ms = now_ms
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.subscribed_topics: frozenset[str] | None = None
        """Topics its members subscribe to; None when that isn't known."""
        self.members = Membership()
        self.offsets = OffsetTable()
        self._timers = timers
        self._initial_rebalance_delay_ms = initial_rebalance_delay_ms
        # The first rebalance ends after a delay, all others when everybody has joined.
        self._is_first_rebalance = False
        self._has_grown_since_delay = False
        self._awaited_syncs: dict[str, None] = {}  # a set that remembers its order
        self._join_timer: Timer | None = None
        self._sync_timer: Timer | None = None
        self._outbox: deque[Callable[[], None]] = deque()

    @property
    def is_consumer_group(self) -> bool:
        """Whether its members speak the protocol of consumers, which names topics."""
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def deliver(self) -> None:
        """Give the responses there are; each may come back with the client's next request."""
        while self._outbox:
            self._outbox.popleft()()

    # Join: `joining` decides, these do -----------------------------------------------------

    def post_join(self, reply: JoinReply, result: JoinResult) -> None:
        """Have `deliver` give this response."""
        self._outbox.append(lambda: reply(result))

    def joined(self, member: Member) -> JoinResult:
        """What a member of the current generation is told; the leader is told of all members."""
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

    def expect(self, member_id: str, session_timeout_ms: int, now_ms: int) -> None:
        """Give out a member id; it is good for as long as a session."""

        def expire(now_ms: int) -> None:
            self.members.pending.pop(member_id, None)
            self._maybe_complete_join(now_ms)
            self.deliver()

        session = SessionTimer(self._timers, expire)
        session.restart(now_ms, session_timeout_ms)
        self.members.pending[member_id] = session

    def add_member(
        self, member_id: str, request: JoinRequest, reply: JoinReply, now_ms: int
    ) -> None:
        """Let a new member in, which begins a rebalance or takes part in the current one."""
        self._forget_pending(member_id)
        member = Member(
            member_id=member_id,
            group_instance_id=request.group_instance_id,
            client_id=request.client_id,
            client_host=request.client_host,
            protocols=request.protocols,
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session=SessionTimer(self._timers, lambda now_ms: self._expire(member, now_ms)),
        )
        if not self.members:
            self.protocol_type = request.protocol_type
        self.members.add(member)
        self.members.await_join(member, reply)
        self._has_grown_since_delay = True
        # It can't heartbeat before it knows its id; if its client gives up, this ends the wait.
        member.session.restart(now_ms, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._rebalance_or_complete(now_ms)

    def rejoin(self, member: Member, request: JoinRequest, reply: JoinReply, now_ms: int) -> None:
        """Have a member take part in a rebalance, the current one or one that begins with it."""
        self._response_join(member, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
        self.members.update(member, request)
        self.members.await_join(member, reply)
        self._rebalance_or_complete(now_ms)

    def replace_static(
        self, member: Member, new_member_id: str, request: JoinRequest, now_ms: int
    ) -> None:
        """Give a static member a new id; whoever waits under the old one is fenced."""
        self._response_join(member, ErrorCode.FENCED_INSTANCE_ID, member.member_id)
        self._response_sync(member, SyncResult(ErrorCode.FENCED_INSTANCE_ID))
        if member.member_id in self._awaited_syncs:
            del self._awaited_syncs[member.member_id]
            self._awaited_syncs[new_member_id] = None
        self.members.rename_static(member, new_member_id)
        self.members.update(member, request)
        member.is_new = False
        member.session.restart(now_ms, request.session_timeout_ms)

    def turn_away(self, member_id: str, now_ms: int) -> None:
        """Forget whom there is no room for: an id given out, or a member that came back late."""
        self._forget_pending(member_id)
        member = self.members.get(member_id)
        if member is not None:
            self._remove(member)
        self._maybe_complete_join(now_ms)

    # Rebalance -----------------------------------------------------------------------------

    def _rebalance_or_complete(self, now_ms: int) -> None:
        if self.state is GroupState.PREPARING_REBALANCE:
            self._maybe_complete_join(now_ms)
        else:
            self._prepare_rebalance(now_ms)

    def _prepare_rebalance(self, now_ms: int) -> None:
        """Have everybody join again."""
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

    def _delay_first_rebalance(self, delay_ms: int, left_ms: int, now_ms: int) -> None:
        """Wait for more members, and on while they come, up to the rebalance timeout (KIP-134)."""
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

        # A timeout of zero that finds nobody joined would otherwise fire for ever at one time.
        due_ms = now_ms + max(self.members.rebalance_timeout_ms, 1)
        self._join_timer = self._timers.schedule(due_ms, run)

    def _maybe_complete_join(self, now_ms: int) -> None:
        if (
            self.state is GroupState.PREPARING_REBALANCE
            and not self._is_first_rebalance
            and self.members.have_all_joined()
        ):
            self._complete_join(now_ms)

    def _complete_join(self, now_ms: int) -> None:
        """End the join phase: who has not joined is out, all others are the next generation."""
        self._stop_join_timer()
        for member in tuple(self.members):
            if member.join_reply is None and member.group_instance_id is None:
                self._remove(member)
        if self.members and not self.members.elect_joined_leader():
            # Only static members are left and none has joined; in the end their sessions expire.
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
            return
        self._enter(GroupState.COMPLETING_REBALANCE, now_ms)
        for member in self.members:
            reply = self.members.take_join_reply(member)
            if reply is not None:
                self.post_join(reply, self.joined(member))
            member.session.restart(now_ms, member.session_timeout_ms)
            member.is_new = False
            self._awaited_syncs[member.member_id] = None
        self._schedule_sync_expiry(now_ms)

    def _schedule_sync_expiry(self, now_ms: int) -> None:
        def run(now_ms: int) -> None:
            for member_id in tuple(self._awaited_syncs):
                member = self.members.get(member_id)
                if member is not None:
                    self._remove(member)
            self._prepare_rebalance(now_ms)
            self.deliver()

        due_ms = now_ms + max(self.members.rebalance_timeout_ms, 1)
        self._sync_timer = self._timers.schedule(due_ms, run)

    def is_subscribed_to(self, topic_name: str) -> bool:
        """Whether a member subscribes to a topic; consumers that can't be read subscribe to all."""
        if self.subscribed_topics is None:
            return self.is_consumer_group
        return topic_name in self.subscribed_topics

    # Sync ----------------------------------------------------------------------------------

    def sync(self, request: SyncRequest, reply: SyncReply, now_ms: int) -> None:
        """Answer a SyncGroup now, or when the leader has sent the assignment."""
        error_code = self._check_sync(request)
        member = self.members.get(request.member_id)
        if error_code is not ErrorCode.NONE or member is None:
            self._outbox.append(lambda: reply(SyncResult(error_code)))
            return
        self._awaited_syncs.pop(member.member_id, None)
        if not self._awaited_syncs:
            self._stop_sync_timer()
        self._response_sync(member, SyncResult(ErrorCode.REBALANCE_IN_PROGRESS))
        member.sync_reply = reply
        if self.state is GroupState.STABLE:
            self._response_sync(member, self._synced(member))
        elif self.members.leader_id == member.member_id:
            self._assign(request.assignments, ErrorCode.NONE, now_ms)
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

    def _assign(self, assignments: Mapping[str, bytes], error_code: ErrorCode, now_ms: int) -> None:
        """Set everybody's assignment, empty where none is given, and response who waits for it."""
        for member in self.members:
            member.assignment = assignments.get(member.member_id, b"")
            if member.sync_reply is not None:
                is_error = error_code is not ErrorCode.NONE
                self._response_sync(
                    member, SyncResult(error_code) if is_error else self._synced(member)
                )
                # Its session was not watched while it waited.
                member.session.restart(now_ms, member.session_timeout_ms)

    def _synced(self, member: Member) -> SyncResult:
        return SyncResult(ErrorCode.NONE, self.protocol_type, self.protocol_name, member.assignment)

    # Staying and leaving -------------------------------------------------------------------

    def heartbeat(
        self, member_id: str, group_instance_id: str | None, generation_id: int, now_ms: int
    ) -> ErrorCode:
        """Keep a member's session; REBALANCE_IN_PROGRESS asks it to join again."""
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

    def leave(self, leavers: Sequence[MemberIdentity], now_ms: int) -> tuple[LeftMember, ...]:
        """Let members go; what is left rebalances once."""
        left = tuple(
            LeftMember(who.member_id, who.group_instance_id, self._let_go(who)) for who in leavers
        )
        if any(each.error_code is ErrorCode.NONE for each in left):
            self._after_loss(now_ms)
        return left

    def _let_go(self, who: MemberIdentity) -> ErrorCode:
        member_id = who.member_id
        if member_id == UNKNOWN_MEMBER and who.group_instance_id is not None:
            # An administrator removes whoever stands for a static instance now (KIP-345).
            member_id = self.members.static_id(who.group_instance_id) or UNKNOWN_MEMBER
        if self._forget_pending(member_id):
            return ErrorCode.NONE
        error_code = self.members.check(member_id, who.group_instance_id)
        member = self.members.get(member_id)
        if error_code is ErrorCode.NONE and member is not None:
            self._remove(member)
        return error_code

    def _expire(self, member: Member, now_ms: int) -> None:
        if member.is_excused_from_heartbeats():
            return  # the answer it waits for starts its session anew
        self._remove(member)
        self._after_loss(now_ms)
        self.deliver()

    def _after_loss(self, now_ms: int) -> None:
        if self.state in {GroupState.STABLE, GroupState.COMPLETING_REBALANCE}:
            self._prepare_rebalance(now_ms)
        else:
            self._maybe_complete_join(now_ms)

    def _remove(self, member: Member) -> None:
        """Take a member out. If its client waits after all, it learns that it may join anew."""
        self._response_join(member, ErrorCode.UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER)
        self._response_sync(member, SyncResult(ErrorCode.UNKNOWN_MEMBER_ID))
        member.session.stop()
        self._awaited_syncs.pop(member.member_id, None)
        self.members.remove(member)

    def _forget_pending(self, member_id: str) -> bool:
        session = self.members.pending.pop(member_id, None)
        if session is not None:
            session.stop()
        return session is not None

    def unload(self, now_ms: int) -> None:
        """Send who waits to the new coordinator, as Kafka's `onUnloaded` and `onLoaded` do.

        A member never told its id is forgotten, all others have their session from the start.
        """
        for member in tuple(self.members):
            self._response_join(member, ErrorCode.NOT_COORDINATOR, member.member_id)
            self._response_sync(member, SyncResult(ErrorCode.NOT_COORDINATOR))
            self.touch(member.member_id, now_ms)
            if member.is_new:
                self._remove(member)
        self._maybe_complete_join(now_ms)

    def bury(self, now_ms: int) -> None:
        """End a group that has no members: no timer of it fires any more."""
        assert not self.members
        for member_id in tuple(self.members.pending):
            self._forget_pending(member_id)
        self._stop_join_timer()
        self._stop_sync_timer()
        self._enter(GroupState.DEAD, now_ms)

    # Commits -------------------------------------------------------------------------------

    def check_commit(self, request: CommitRequest) -> ErrorCode:
        """Whether offsets may be committed by whom this request says it comes from."""
        if request.generation_id < 0 and self.state is GroupState.EMPTY:
            return ErrorCode.NONE  # an administrator, or a consumer that assigns itself
        is_member = bool(request.member_id) or request.group_instance_id is not None
        if request.generation_id < 0 and not is_member:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error_code = self.members.check(request.member_id, request.group_instance_id)
        if error_code is not ErrorCode.NONE:
            return error_code
        if request.generation_id != self.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        if self.state is GroupState.COMPLETING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    # ---------------------------------------------------------------------------------------

    def _enter(self, state: GroupState, now_ms: int) -> None:
        self.state = state
        self.state_since_ms = now_ms

    def _response_join(self, member: Member, error_code: ErrorCode, member_id: str) -> None:
        reply = self.members.take_join_reply(member)
        if reply is not None:
            self.post_join(reply, JoinResult(error_code, member_id))

    def _response_sync(self, member: Member, result: SyncResult) -> None:
        reply, member.sync_reply = member.sync_reply, None
        if reply is not None:
            self._outbox.append(lambda: reply(result))

    def _stop_join_timer(self) -> None:
        self._timers.cancel(self._join_timer)
        self._join_timer = None

    def _stop_sync_timer(self) -> None:
        self._timers.cancel(self._sync_timer)
        self._sync_timer = None
