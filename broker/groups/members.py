"""The members of one group, their leader, and the protocols that they share.

This module knows no group states and no time; `group` calls it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from broker.groups.requests import JoinRequest, Subscriptions
from broker.groups.results import JoinCallback, JoinedMember, SyncCallback
from broker.groups.session_timer import SessionTimer
from protocol.consumer_protocol import subscribed_topics
from protocol.errors import ErrorCode
from protocol.pacing import may_pause


@dataclass(slots=True, eq=False)
class Member:
    """One member; `join_callback` and `sync_callback` are set while it waits for that response.

    `is_new` is true until its first JoinGroup completes: before that it does not know its id and
    cannot heartbeat.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    protocols: Mapping[str, bytes]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    session: SessionTimer
    is_new: bool = True
    assignment: bytes = b""
    join_callback: JoinCallback | None = None
    sync_callback: SyncCallback | None = None
    subscriptions: Subscriptions = field(default_factory=dict)

    def has_protocols(self, protocols: Mapping[str, bytes]) -> bool:
        """Return whether its protocols are these, with equal names, order and metadata."""
        return list(self.protocols.items()) == list(protocols.items())

    @may_pause
    def subscribed_topics(self, protocol_name: str) -> frozenset[str] | None:
        """Return the topics that its metadata of a protocol names; None if it is unreadable."""
        if protocol_name in self.subscriptions:
            return self.subscriptions[protocol_name]
        return subscribed_topics(self.protocols.get(protocol_name, b""))

    def is_excused_from_heartbeats(self) -> bool:
        """Whether it waits for a response; a new member is not excused: its client may be lost."""
        is_waiting = self.join_callback is not None or self.sync_callback is not None
        return is_waiting and not self.is_new


class Membership:
    """The members in the order in which they joined, and the leader."""

    def __init__(self) -> None:
        self._by_id: dict[str, Member] = {}
        self._static_ids: dict[str, str] = {}
        self._protocol_counts: dict[str, int] = {}
        self.pending: dict[str, SessionTimer] = {}
        """Reserved member ids that have not joined yet (KIP-394)."""
        self.leader_id: str | None = None
        self.awaiting_join_count = 0

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._by_id.values())

    def get(self, member_id: str) -> Member | None:
        """Return the member with this id, or None."""
        return self._by_id.get(member_id)

    def static_id(self, group_instance_id: str) -> str | None:
        """Return the current member id of a static instance, or None."""
        return self._static_ids.get(group_instance_id)

    def check(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """Return NONE for a member, else UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID."""
        if group_instance_id is not None:
            current_id = self._static_ids.get(group_instance_id)
            if current_id is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current_id != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self._by_id else ErrorCode.UNKNOWN_MEMBER_ID

    # Joining and leaving ----------------------------------------------------------------------

    def add(self, member: Member) -> None:
        """Add a member whose id, and instance id, no other member has."""
        assert member.member_id not in self._by_id
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self._static_ids
            self._static_ids[member.group_instance_id] = member.member_id
        self._by_id[member.member_id] = member
        self._count_protocols(member.protocols, 1)
        if self.leader_id is None:
            self.leader_id = member.member_id

    def remove(self, member: Member) -> None:
        """Remove a member that waits for no join; the first remaining one replaces a leader."""
        assert member.join_callback is None
        del self._by_id[member.member_id]
        self._count_protocols(member.protocols, -1)
        if member.group_instance_id is not None:
            del self._static_ids[member.group_instance_id]
        if self.leader_id == member.member_id:
            self.leader_id = next(iter(self._by_id), None)

    def rename_static(self, member: Member, new_member_id: str) -> None:
        """Give a static member a new member id; everything else stays."""
        assert member.group_instance_id is not None
        del self._by_id[member.member_id]
        if self.leader_id == member.member_id:
            self.leader_id = new_member_id
        member.member_id = new_member_id
        self._by_id[new_member_id] = member
        self._static_ids[member.group_instance_id] = new_member_id

    def update(self, member: Member, request: JoinRequest) -> None:
        """Store the settings of a member that joins again."""
        self._count_protocols(member.protocols, -1)
        member.protocols = request.protocols
        member.subscriptions = request.subscriptions
        self._count_protocols(member.protocols, 1)
        member.session_timeout_ms = request.session_timeout_ms
        member.rebalance_timeout_ms = request.rebalance_timeout_ms

    # Waiting for the join phase to end -----------------------------------------------------

    def await_join(self, member: Member, callback: JoinCallback) -> None:
        """Record that a member has joined and waits for the others."""
        assert member.join_callback is None
        member.join_callback = callback
        self.awaiting_join_count += 1

    def take_join_callback(self, member: Member) -> JoinCallback | None:
        """End a member's wait and return its callback; None if it does not wait."""
        callback, member.join_callback = member.join_callback, None
        if callback is not None:
            self.awaiting_join_count -= 1
        return callback

    def have_all_joined(self) -> bool:
        """Whether all members and reserved ids have joined."""
        return self.awaiting_join_count == len(self._by_id) and not self.pending

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has joined, else elect the first that has; False if none has."""
        leader = self._by_id.get(self.leader_id or "")
        if leader is None:
            return False
        if leader.join_callback is None:
            joined = (member for member in self if member.join_callback is not None)
            leader = next(joined, None)
            if leader is None:
                return False
            self.leader_id = leader.member_id
        return True

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of all members."""
        return max((member.rebalance_timeout_ms for member in self), default=0)

    # Protocols -----------------------------------------------------------------------------

    def share_one_of(self, protocol_names: Iterable[str]) -> bool:
        """Whether all members support one of these protocols in common."""
        counts, member_count = self._protocol_counts, len(self._by_id)
        return any(counts.get(name, 0) == member_count for name in protocol_names)

    def select_protocol(self) -> str:
        """Return the protocol with the most votes of those that all members support.

        Each member votes for its first protocol that all support. With equal votes the protocol of
        the earliest member wins (in Kafka the order of a hash table decides).
        """
        counts, member_count = self._protocol_counts, len(self._by_id)
        shared = {name for name, count in counts.items() if count == member_count}
        if len(shared) == 1:
            return shared.pop()
        votes: dict[str, int] = {}
        for member in self:
            choice = next(name for name in member.protocols if name in shared)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=votes.__getitem__)

    def with_metadata(self, protocol_name: str) -> tuple[JoinedMember, ...]:
        """Return all members, with their metadata, for the leader."""
        return tuple(
            JoinedMember(m.member_id, m.group_instance_id, m.protocols.get(protocol_name, b""))
            for m in self
        )

    @may_pause
    def subscribed_topics(self, protocol_name: str | None) -> frozenset[str] | None:
        """Return the topics of all subscriptions; None if one subscription is unreadable."""
        found: set[str] = set()
        for member in self:
            topics = member.subscribed_topics(protocol_name or "")
            if topics is None:
                return None
            found |= topics
        return frozenset(found)

    def _count_protocols(self, protocol_names: Iterable[str], step: int) -> None:
        counts = self._protocol_counts
        for name in protocol_names:
            count = counts.get(name, 0) + step
            if count:
                counts[name] = count
            else:
                del counts[name]
