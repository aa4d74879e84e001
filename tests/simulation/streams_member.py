"""A thread of a Kafka Streams application, a member of a streams group (KIP-1071).

It reads the partitions of its active tasks as a consumer does, and keeps its standby tasks.
"""

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any, NamedTuple

from protocol import messages
from tests.simulation.client_link import ClientLink
from tests.simulation.consumer_member import JOIN_EPOCH, ConsumerMember
from tests.simulation.history import Place
from tests.simulation.owning_member import OwningMember
from tests.simulation.streams_topology import StreamsTopology

_Heartbeat = messages.StreamsGroupHeartbeatRequest


class HeldTasks(NamedTuple):
    """The tasks that a member runs, and those whose state it copies."""

    active: frozenset[Place] = frozenset()
    standby: frozenset[Place] = frozenset()

    def with_others(self, others: "HeldTasks") -> "HeldTasks":
        """Return these tasks and others, by their roles."""
        return HeldTasks(self.active | others.active, self.standby | others.standby)

    def without(self, others: "HeldTasks") -> "HeldTasks":
        """Return these tasks without others, by their roles."""
        return HeldTasks(self.active - others.active, self.standby - others.standby)


class GivenUp(NamedTuple):
    """A partition that a member read until another one was to read it, in its epoch then."""

    epoch: int
    position: int
    time_ms: int


NO_TASKS = HeldTasks()
CLOSING_MS = (0, 50, 400)
"""How long it takes to close tasks, before the coordinator may give them to others."""
STRAY_MS = 500
"""How long a commit of a partition that is given up may be in the queue of another thread."""


class StreamsMember(ConsumerMember):
    """One member; `_target` are the partitions of its active tasks."""

    heartbeat_class: Any = _Heartbeat
    leaves_gracefully = True

    def _reset(self) -> None:
        super()._reset()
        self.tasks = NO_TASKS
        self._closing = NO_TASKS
        """What it no longer runs, but has not closed yet."""
        self._rejoin_ms: int | None = None
        """When it joins again, after a lost heartbeat can no longer arrive."""
        self._given_up: dict[Place, GivenUp] = {}

    @property
    def _topology(self) -> StreamsTopology:
        topology = self.settings.topology
        assert topology is not None
        return topology

    @property
    def is_stable(self) -> bool:
        """Whether it has joined, and knows all that the coordinator has given to it."""
        return super().is_stable and self._closing == NO_TASKS and self._rejoin_ms is None

    # Turns -----------------------------------------------------------------------------------

    def _on_coordinator_lost(self, lost: list[str]) -> None:
        super()._on_coordinator_lost(lost)
        if "heartbeat" in lost:
            # The lost response may have had tasks, which only a response to a join repeats.
            self._abandon()
            self._rejoin_ms = self._late_until_ms

    def _attend(self, link: ClientLink) -> None:
        is_late = self._rejoin_ms is not None and self._now_ms >= self._rejoin_ms
        if is_late and "heartbeat" not in self._asked:
            self._rejoin_ms = None
            self._abandon()
        super()._attend(link)
        if self._is_joined:
            self._send_stray_commits(link)

    def _send_stray_commits(self, link: ClientLink) -> None:
        """Commit with an epoch of the past what another member reads by now; that is refused."""
        for place, given_up in list(self._given_up.items()):
            if place in self.owned:
                del self._given_up[place]
            elif given_up.epoch < self._generation and self._now_ms - given_up.time_ms >= STRAY_MS:
                del self._given_up[place]
                offsets = {place: given_up.position}
                request = OwningMember._commit_request(self, given_up.epoch, offsets)
                link.ask(request, lambda _response, _responded: None)

    # Membership ------------------------------------------------------------------------------

    @property
    def _held(self) -> HeldTasks:
        return self.tasks.with_others(self._closing) if self._is_joined else NO_TASKS

    def _kept(self) -> Collection[Place]:
        held = self._held
        places = self._topology.places(held.active, self._leaders)
        return {*super()._kept(), *places, *held.active, *held.standby}

    def _heartbeat(self, *, is_full: bool, reports: bool) -> Any:
        settings, held = self.settings, self._held
        is_join = self._generation == JOIN_EPOCH
        return _Heartbeat(
            group_id=settings.group,
            member_id=self._member_id,
            member_epoch=self._generation,
            endpoint_information_epoch=0,
            instance_id=settings.instance_id,
            rebalance_timeout_ms=settings.rebalance_timeout_ms if is_full else -1,
            topology=self._topology.message() if is_join else None,
            active_tasks=_task_ids(held.active) if reports else None,
            standby_tasks=_task_ids(held.standby) if reports else None,
            warmup_tasks=[] if reports else None,
            process_id=settings.process_id if is_full else None,
        )

    def _take_response(self, response: Any) -> bool:
        if response.active_tasks is None:
            return False
        before = self._held
        self.tasks = HeldTasks(_tasks(response.active_tasks), _tasks(response.standby_tasks))
        self._closing = closing = before.without(self.tasks)
        if closing != NO_TASKS:
            close = partial(self._close, closing)
            self._network.schedule.after(self._random.choice(CLOSING_MS), close)
        self._network.trace(f"{self.settings.name} has {self.tasks} in {self._generation}")
        return True

    def _close(self, tasks: HeldTasks) -> None:
        """Note that tasks are closed, unless there are others to close by now; report that."""
        if self._closing is tasks:
            self._closing = NO_TASKS
            self._step()

    def _is_settled(self, reported: HeldTasks) -> bool:
        return reported.active <= self.tasks.active and reported.standby <= self.tasks.standby

    def _resolve(self) -> None:
        """Look up the partitions of its tasks; a topic may have got more since."""
        if not self._is_joined:
            return
        self._target = frozenset(self._topology.places(self.tasks.active, self._leaders))
        self._note_assignment()
        self._reconcile()

    def _note_assignment(self) -> None:
        super()._note_assignment()
        assert self._contact is not None
        tasks = sorted(self.tasks.active | self.tasks.standby)
        self._own(tasks, self._contact.sent_ms, self._contact, self.settings.process_id)

    def _reconcile(self) -> None:
        before, positions = self.owned, self.positions
        super()._reconcile()
        for place in before:
            if place not in self._target:
                position = positions.get(place, 0)
                self._given_up[place] = GivenUp(self._generation, position, self._now_ms)

    def _abandon(self) -> None:
        super()._abandon()
        self.tasks = self._closing = NO_TASKS


def _tasks(entries: Iterable[Any]) -> frozenset[Place]:
    return frozenset(
        (entry.subtopology_id, index) for entry in entries for index in entry.partitions
    )


def _task_ids(tasks: Collection[Place]) -> list[Any]:
    return [
        _Heartbeat.TaskIds(
            subtopology_id=subtopology_id,
            partitions=sorted(index for name, index in tasks if name == subtopology_id),
        )
        for subtopology_id in sorted({name for name, _ in tasks})
    ]
