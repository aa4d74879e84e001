"""A member of a group of the consumer protocol (KIP-848).

It reports with heartbeats, gives partitions up before it reports that it has, and commits with its
epoch. Its fetches and commits are those of a classic member.
"""

from collections.abc import Collection
from functools import partial
from typing import Any

from protocol import messages
from protocol.errors import ErrorCode
from tests.simulation.client_link import ClientLink, Responded
from tests.simulation.coordinated_client import LATE_MS
from tests.simulation.group_history import Ownership
from tests.simulation.group_member import COMMIT_INTERVAL_MS
from tests.simulation.history import Assignment, Commit, Place
from tests.simulation.owning_member import OwningMember

JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH = 0, -1, -2
_FENCED = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
}
_TRY_AGAIN = {
    ErrorCode.UNRELEASED_INSTANCE_ID,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.STALE_MEMBER_EPOCH,
}

_Heartbeat = messages.ConsumerGroupHeartbeatRequest


class ConsumerMember(OwningMember):
    """One member; `_generation` is its member epoch, and `_target` what it is to own."""

    heartbeat_class: Any = messages.ConsumerGroupHeartbeatRequest
    leaves_gracefully = False
    """Whether its last request arrives though it closes the connection."""

    def _reset(self) -> None:
        super()._reset()
        self._member_id = f"{self.settings.name}-{self._random.randrange(1 << 32)}"
        self._generation = JOIN_EPOCH
        self._needs_join = False
        self._target: frozenset[Place] = frozenset()
        self._reported: Any = None
        """What it owns as the coordinator knows, or None if that is not certain."""
        self._interval_ms = 0
        self._contact: Responded | None = None
        self._committing: dict[Place, Ownership | None] = {}
        """What it owned when it sent its last commit, of the partitions of this."""

    @property
    def is_stable(self) -> bool:
        """Whether it has joined, and owns what it is to own."""
        return self._is_joined and frozenset(self.owned) == self._target

    def leave(self) -> None:
        """Commit, leave the group, and end; a static member keeps its place for a while."""
        link = self._coordinator_link()
        if link is not None and self._is_joined:
            self._commit(link)
            is_static = self.settings.instance_id is not None
            request = self.heartbeat_class(
                group_id=self.settings.group,
                member_id=self._member_id,
                member_epoch=STATIC_LEAVE_EPOCH if is_static else LEAVE_EPOCH,
                instance_id=self.settings.instance_id,
            )
            link.ask(request, lambda _response, _responded: None)
            if self.leaves_gracefully:
                link.close(is_graceful=True)
            self._disown()
        self.crash()

    # Turns -----------------------------------------------------------------------------------

    def _extra_wait_ms(self, _link: ClientLink) -> int:
        return 0

    def _on_coordinator_lost(self, lost: list[str]) -> None:
        self._reported = None
        if "heartbeat" in lost:
            # The coordinator may handle the lost heartbeat after the next one, and give partitions
            # to the member in a response that it never gets. Only a full heartbeat repeats these.
            self._late_until_ms = self._now_ms + LATE_MS

    def _on_leaders(self) -> None:
        self._resolve()

    def _fetch_more(self) -> None:
        if self._is_joined and self.owned:
            self._fetch()

    def _attend(self, link: ClientLink) -> None:
        """Send a heartbeat if one is due, or something has changed."""
        is_due = self._now_ms - self._last_beat_ms >= self._interval_ms
        must_report = self._is_joined and self._reported not in {None, self._held}
        if is_due or must_report:
            self._beat(link)
        if self._is_joined and self._now_ms - self._last_commit_ms >= COMMIT_INTERVAL_MS:
            self._commit(link)

    # Membership ------------------------------------------------------------------------------

    def _beat(self, link: ClientLink) -> None:
        if "heartbeat" in self._asked:
            return
        self._last_beat_ms = self._now_ms
        if self._generation == JOIN_EPOCH:
            self._note_join()
        held = self._held
        is_full = self._reported is None or self._now_ms < self._late_until_ms
        reports = is_full or self._reported != held
        request = self._heartbeat(is_full=is_full, reports=reports)
        if reports:
            self._disown(kept=self._kept())
        self._ask("heartbeat", link, request, partial(self._on_beat, held))

    @property
    def _held(self) -> Any:
        """What it reports to have; a value that can be compared."""
        return self.owned if self._is_joined else ()

    def _kept(self) -> Collection[Place]:
        """Return that of what it owns that it reports to have."""
        return self.owned if self._is_joined else ()

    def _heartbeat(self, *, is_full: bool, reports: bool) -> Any:
        """Return a heartbeat, which may say everything again, or report what the member has."""
        settings = self.settings
        regex = "|".join(settings.topics) if settings.subscribes_by_regex else None
        owned = self._kept()
        return _Heartbeat(
            group_id=settings.group,
            member_id=self._member_id,
            member_epoch=self._generation,
            instance_id=settings.instance_id,
            rack_id=None,
            rebalance_timeout_ms=settings.rebalance_timeout_ms if is_full else -1,
            subscribed_topic_names=list(settings.topics) if is_full and regex is None else None,
            subscribed_topic_regex=regex if is_full else None,
            server_assignor=settings.server_assignor if is_full else None,
            topic_partitions=(
                [
                    _Heartbeat.TopicPartitions(
                        topic_id=self._topic_ids[name],
                        partitions=[index for topic, index in owned if topic == name],
                    )
                    for name in dict.fromkeys(topic for topic, _ in owned)
                ]
                if reports
                else None
            ),
        )

    def _on_beat(self, reported: Any, response: Any, responded: Responded) -> None:
        if response.error_code != ErrorCode.NONE:
            self._reported = None
            self._on_error(response.error_code)
            return
        self._reported = reported
        self._interval_ms = response.heartbeat_interval_ms
        self._is_joined = True
        is_new = self._generation != response.member_epoch
        self._generation = response.member_epoch
        self._contact = responded
        if self._take_response(response):
            self._resolve()
        elif is_new:
            self._note_assignment()
        self._note_contact(responded, is_settled=self._is_settled(reported))

    def _take_response(self, response: Any) -> bool:
        """Keep what a response gives to the member; return whether there is something."""
        if response.assignment is not None:
            self._take_assignment(response.assignment)
        return response.assignment is not None

    def _is_settled(self, reported: Any) -> bool:
        """Return whether it had nothing to give up when it reported what it has."""
        return self._assigned_ids is None and self._target.issuperset(reported)

    @property
    def _session_timeout_ms(self) -> int:
        return self._groups.session_timeout_ms

    def _resolve(self) -> None:
        """Look up the topics of the assignment; a topic that is unknown waits for metadata."""
        places = self._resolved_assignment()
        if places is None:
            return
        self._target = places
        self._note_assignment()
        self._reconcile()

    def _note_assignment(self) -> None:
        places = tuple(sorted(self._target))
        self._network.trace(f"{self.settings.name} is to own {places} in {self._generation}")
        assert self._contact is not None
        self._history.assignments.append(
            Assignment(
                self._group_of(self._contact),
                self._generation,
                self.settings.instance_id or self._member_id,
                places,
                self._now_ms,
            )
        )
        self._own(self._target, self._contact.sent_ms, self._contact)

    def _reconcile(self) -> None:
        """Commit and give up what is another's from now on, then take what is new."""
        kept = tuple(place for place in self.owned if place in self._target)
        if kept != self.owned:
            link = self._coordinator_link()
            if link is not None:
                self._commit(link)
        self.owned = (*kept, *sorted(self._target.difference(kept)))
        self.positions = {place: self.positions[place] for place in kept if place in self.positions}
        self.committed = {place: self.committed[place] for place in kept if place in self.committed}

    def _on_error(self, error_code: int) -> None:
        if error_code == ErrorCode.NONE:
            return
        self._network.trace(f"{self.settings.name} gets {ErrorCode(error_code).name}")
        if error_code == ErrorCode.UNRELEASED_INSTANCE_ID:
            self._first_join_ms = None
        if error_code in _FENCED:
            self._abandon()
        elif error_code not in _TRY_AGAIN:
            self._coordinator = None

    def _abandon(self) -> None:
        """Give everything up, and join again with the next heartbeat."""
        self._generation = JOIN_EPOCH
        self._is_joined = False
        self._target = frozenset()
        self._disown()
        self._assigned_ids = self._reported = None
        self._interval_ms = 0
        self.owned = ()
        self.positions, self.committed = {}, {}

    # Offsets and records -----------------------------------------------------------------------

    def _commit_request(self, generation: int, offsets: dict[Place, int]) -> Any:
        self._committing = {place: self._ownerships.get(place) for place in offsets}
        return super()._commit_request(generation, offsets)

    def _on_committed(
        self, commits: dict[Place, Commit], response: Any, responded: Responded
    ) -> None:
        is_refused = any(
            partition.error_code == ErrorCode.STALE_MEMBER_EPOCH
            for topic in response.topics
            for partition in topic.partitions
        )
        if is_refused and self._groups.takes_late_commits and self._has_kept(commits):
            self._groups.refused_late_commits.append(
                f"{self.settings.name} may not commit {list(commits.values())}"
            )
        super()._on_committed(commits, response, responded)

    def _has_kept(self, commits: dict[Place, Commit]) -> bool:
        """Return whether it certainly has all partitions of a commit since its epoch."""
        for place, commit in commits.items():
            ownership = self._ownerships.get(place)
            if (
                ownership is None
                or ownership is not self._committing[place]
                or ownership.may_be_given_up
                or ownership.epoch > commit.generation
                or self._now_ms < self._late_until_ms
            ):
                return False
        return True

    def _member_of_request(self) -> tuple[str | None, int]:
        return self._member_id, self._generation
