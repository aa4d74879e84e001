"""A member of a consumer group that records which partitions it owns, for the checkers."""

from collections.abc import Collection, Iterable
from random import Random
from typing import Any

from simulation.network import Network
from tests.simulation.client_link import Responded
from tests.simulation.coordinated_client import MemberSettings
from tests.simulation.group_history import GroupHistory, Ownership
from tests.simulation.group_member import GroupMember
from tests.simulation.history import History, Place


class OwningMember(GroupMember):
    """One member of either protocol; its group may have members of both."""

    def __init__(
        self,
        settings: MemberSettings,
        network: Network,
        history: History,
        bootstrap: list[Any],
        random: Random,
        groups: GroupHistory,
    ) -> None:
        self._random = random
        self._groups = groups
        super().__init__(settings, network, history, bootstrap)

    def _reset(self) -> None:
        super()._reset()
        self._settled_ms = 0
        self._first_join_ms: int | None = None
        """When it sent the first request to join that was not refused."""
        self._late_until_ms = 0
        """Until when a heartbeat without a response may still be on its way."""
        self._ownerships: dict[Place, Ownership] = {}

    def _group_of(self, responded: Responded) -> str:
        lives_ms = self._groups.lives.get(self.settings.group, ())
        life = sum(begin_ms <= responded.handled_ms for begin_ms in lives_ms)
        return f"{self.settings.group} after {life} changes" if life else self.settings.group

    def _own(
        self, places: Iterable[Place], sent_ms: int, responded: Responded, process_id: str = ""
    ) -> None:
        """Note that a response has given partitions to the member, or tasks to its process.

        `sent_ms` is when the request was sent that may have been the first to do so.
        """
        to_broker_time = self._groups.shared.broker_time_ms
        contact_ms = to_broker_time(responded.sent_ms, is_before_moves=True)
        first_join_ms = sent_ms if self._first_join_ms is None else self._first_join_ms
        self._succeed(to_broker_time(min(sent_ms, first_join_ms), is_before_moves=True))
        for place in places:
            if place not in self._ownerships:
                self._ownerships[place] = ownership = Ownership(
                    self.settings.group,
                    place,
                    self.settings.instance_id or self._member_id,
                    sent_ms=to_broker_time(sent_ms, is_before_moves=True),
                    written_ms=to_broker_time(responded.handled_ms),
                    epoch=self._generation,
                    contact_ms=contact_ms,
                    settled_ms=self._settled_ms,
                    session_timeout_ms=self._session_timeout_ms,
                    rebalance_timeout_ms=self.settings.rebalance_timeout_ms,
                    may_be_given_up=responded.sent_ms < self._late_until_ms,
                    process_id=process_id,
                )
                self._groups.ownerships.append(ownership)

    def _succeed(self, sent_ms: int) -> None:
        """End what a crashed process of the same static member owned: this one has joined."""
        if self.settings.instance_id is None or self._ownerships:
            return
        for earlier in self._groups.ownerships:
            is_same = earlier.member == self.settings.instance_id
            if is_same and earlier.group == self.settings.group and earlier.end_ms is None:
                earlier.end_ms = sent_ms

    def _note_join(self) -> None:
        """Note that a request to join is sent: the coordinator may handle it without a response."""
        if self._first_join_ms is None:
            self._first_join_ms = self._now_ms

    @property
    def _session_timeout_ms(self) -> int:
        return self.settings.session_timeout_ms

    def _note_contact(self, responded: Responded, *, is_settled: bool) -> None:
        """Note a heartbeat that was fine, after which there may be nothing to give up."""
        sent_ms = self._groups.shared.broker_time_ms(responded.sent_ms, is_before_moves=True)
        if is_settled:
            self._settled_ms = sent_ms
        for ownership in self._ownerships.values():
            ownership.contact_ms = sent_ms
            if responded.sent_ms >= self._late_until_ms:
                ownership.may_be_given_up = False
            ownership.settled_ms = self._settled_ms

    def _disown(self, kept: Collection[Place] = ()) -> None:
        """Note that the coordinator learns now what the member still owns."""
        for place in [place for place in self._ownerships if place not in kept]:
            ownership = self._ownerships.pop(place)
            ownership.end_ms = self._groups.shared.broker_time_ms(
                self._now_ms, is_before_moves=True
            )

    def _consume(self, place: Place, data: bytes) -> None:
        before = self.positions[place]
        super()._consume(place, data)
        self._groups.consumed.setdefault((self.settings.group, place), set()).update(
            range(before, self.positions[place])
        )
