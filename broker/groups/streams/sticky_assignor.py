"""The sticky assignor: tasks stay where they are as far as all members get their share.

An active task goes to the member that had it, then to one that had its standby task, else to the
process with the least load. Standby tasks follow, each on a process that has not got the task.

Source: Kafka's `StickyTaskAssignor` and `ProcessState`. Where that takes any of several equal
processes, this takes the one whose member joined first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from broker.groups.streams.configured_topology import ConfiguredSubtopology
from broker.groups.streams.member import StreamsMember
from broker.groups.streams.tasks import TargetTasks, TaskId, grouped, ids_of

NAME = "sticky"

TaskOffsets = Mapping[TaskId, int]
"""The sum of the offsets of a task's changelogs that a member has, by task."""


class _Candidate(NamedTuple):
    """A member with the state of a task, in the order in which they are asked."""

    was_no_standby: bool
    negated_offset_sum: int
    member_id: str


@dataclass(slots=True, eq=False)
class _Process:
    """A process with its members, and what they have been given so far."""

    number: int
    task_counts: dict[str, int] = field(default_factory=dict)
    tasks: set[TaskId] = field(default_factory=set)

    @property
    def load(self) -> float:
        return sum(self.task_counts.values()) / len(self.task_counts)


class _Quota:
    """How many tasks a member may have that gets its old ones back.

    The quota is the share of each member, rounded up. When a member has reached it, the rest is
    shared by the others.
    """

    def __init__(self, task_count: int, member_count: int) -> None:
        self._task_count = task_count
        self._member_count = member_count
        self._compute()

    def _compute(self) -> None:
        self.per_member = -(-self._task_count // self._member_count) if self._member_count else 0

    def note(self, task_count: int) -> None:
        """Note that a member has this many tasks now."""
        if task_count == self.per_member:
            self._member_count -= 1
            self._task_count -= task_count
            self._compute()


def assign_stickily(
    members: Mapping[str, StreamsMember],
    subtopologies: Mapping[str, ConfiguredSubtopology],
    offsets: Mapping[str, TaskOffsets],
    standby_replicas: int,
) -> dict[str, TargetTasks]:
    """Return the target of each member.

    Args:
        members: by id, with what they have now.
        subtopologies: by id, in order.
        offsets: what members have reported of the state of tasks, by member id.
        standby_replicas: how many standby tasks each task with state shall have.
    """
    assignment = _Assignment(members, subtopologies, offsets, standby_replicas)
    active = [
        (subtopology_id, index)
        for subtopology_id, subtopology in subtopologies.items()
        for index in range(subtopology.task_count)
    ]
    assignment.assign_active(active)
    if standby_replicas > 0:
        stateful = [task for task in active if subtopologies[task[0]].is_stateful]
        assignment.assign_standby(stateful)
    return assignment.targets()


class _Assignment:
    """The targets while they are computed."""

    def __init__(
        self,
        members: Mapping[str, StreamsMember],
        subtopologies: Mapping[str, ConfiguredSubtopology],
        offsets: Mapping[str, TaskOffsets],
        standby_replicas: int,
    ) -> None:
        self._standby_replicas = standby_replicas
        active_count = sum(s.task_count for s in subtopologies.values())
        standby_count = standby_replicas * sum(
            s.task_count for s in subtopologies.values() if s.is_stateful
        )
        self._active_quota = _Quota(active_count, len(members))
        self._quota = _Quota(active_count + standby_count, len(members))
        self._processes: dict[str, _Process] = {}
        self._process_of: dict[str, _Process] = {}
        self._previous_active: dict[TaskId, str] = {}
        self._active: dict[str, list[TaskId]] = {}
        self._standby: dict[str, list[TaskId]] = {}
        candidates: dict[TaskId, list[_Candidate]] = {}
        for member_id, member in members.items():
            process = self._processes.setdefault(member.process_id, _Process(len(self._processes)))
            process.task_counts[member_id] = 0
            self._process_of[member_id] = process
            self._active[member_id], self._standby[member_id] = [], []
            for task in ids_of(member.assigned.active_tasks):
                self._previous_active[task] = member_id
            reported = offsets.get(member_id, {})
            standby = set(ids_of(member.assigned.standby))
            for task in standby:
                candidate = _Candidate(False, -reported.get(task, 0), member_id)
                candidates.setdefault(task, []).append(candidate)
            for task, offset_sum in reported.items():
                if task not in standby:
                    candidate = _Candidate(True, -offset_sum, member_id)
                    candidates.setdefault(task, []).append(candidate)
        self._previous_standby = {
            task: [candidate.member_id for candidate in sorted(found, key=lambda c: c[:2])]
            for task, found in candidates.items()
        }

    def targets(self) -> dict[str, TargetTasks]:
        """Return what has been assigned, by member id."""
        return {
            member_id: TargetTasks(grouped(active), grouped(self._standby[member_id]))
            for member_id, active in self._active.items()
        }

    def _add(self, member_id: str, task: TaskId, *, is_active: bool) -> None:
        process = self._process_of[member_id]
        process.task_counts[member_id] += 1
        process.tasks.add(task)
        (self._active if is_active else self._standby)[member_id].append(task)
        task_count = process.task_counts[member_id]
        if is_active:
            self._active_quota.note(task_count)
        self._quota.note(task_count)

    def _has_room(self, member_id: str, quota: _Quota) -> bool:
        return self._process_of[member_id].task_counts[member_id] < quota.per_member

    def _least_loaded(self, task: TaskId, *, is_standby: bool) -> str | None:
        """Return the member that had the standby task, of several the one with the least load."""
        found: str | None = None
        load = (0.0, 0)
        for member_id in self._previous_standby.get(task, ()):
            process = self._process_of[member_id]
            if is_standby and task in process.tasks:
                continue
            other = (process.load, process.task_counts[member_id])
            if found is None or (other[0] < load[0] and other[1] < load[1]):
                found, load = member_id, other
        return found

    def assign_active(self, tasks: Iterable[TaskId]) -> None:
        """Assign the active tasks."""
        left = sorted(tasks, key=lambda task: (task[1], task[0]))
        for previous in (self._previous_active.get, self._had_standby):
            remaining = []
            for task in left:
                member_id = previous(task)
                if member_id is not None and self._has_room(member_id, self._active_quota):
                    self._add(member_id, task, is_active=True)
                else:
                    remaining.append(task)
            left = remaining
        queue = self._queue()
        for task in sorted(left):
            process = _pop(queue)
            self._add(_idlest(process), task, is_active=True)
            _push(queue, process)

    def _had_standby(self, task: TaskId) -> str | None:
        return self._least_loaded(task, is_standby=False)

    def assign_standby(self, tasks: Iterable[TaskId]) -> None:
        """Assign the standby tasks of tasks with state; less if there are too few processes."""
        left: list[tuple[TaskId, int]] = []
        for task in sorted(tasks, key=lambda task: (task[1], task[0]), reverse=True):
            for count in range(self._standby_replicas):
                member_id = self._previous_owner(task)
                if member_id is None:
                    left.append((task, self._standby_replicas - count))
                    break
                self._add(member_id, task, is_active=False)
        queue = self._queue()
        for task, count in sorted(left, reverse=True):
            for _ in range(count):
                if not self._assign_to_idlest(queue, task):
                    break

    def _previous_owner(self, task: TaskId) -> str | None:
        member_id = self._previous_active.get(task)
        if (
            member_id is not None
            and task not in self._process_of[member_id].tasks
            and self._has_room(member_id, self._quota)
        ):
            return member_id
        member_id = self._least_loaded(task, is_standby=True)
        if member_id is not None and self._has_room(member_id, self._quota):
            return member_id
        return None

    def _assign_to_idlest(self, queue: "list[_Entry]", task: TaskId) -> bool:
        """Assign a standby task to the process with the least load that has not got the task."""
        passed: list[_Process] = []
        is_assigned = False
        while queue and not is_assigned:
            process = _pop(queue)
            passed.append(process)
            if task not in process.tasks:
                self._add(_idlest(process), task, is_active=False)
                is_assigned = True
        for process in passed:
            _push(queue, process)
        return is_assigned

    def _queue(self) -> "list[_Entry]":
        queue = [(process.load, process.number, process) for process in self._processes.values()]
        heapify(queue)
        return queue


_Entry = tuple[float, int, _Process]


def _pop(queue: list[_Entry]) -> _Process:
    return heappop(queue)[2]


def _push(queue: list[_Entry], process: _Process) -> None:
    heappush(queue, (process.load, process.number, process))


def _idlest(process: _Process) -> str:
    return min(process.task_counts, key=lambda member_id: process.task_counts[member_id])
