"""The tasks of a topology: a subtopology has one for each partition of its widest source topic.

A task is active on one member. Its standby tasks keep copies of its state on other processes. Kafka
4.4 has warm-up tasks in its messages and records, and assigns none.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from broker.groups.consumer.assignment import overlaps
from protocol.pacing import may_pause

Tasks = Mapping[str, frozenset[int]]
"""Partition indexes by subtopology id, without empty sets. Never changed in place."""

TaskEpochs = Mapping[str, Mapping[int, int]]
"""The epoch in which a member got an active task, by subtopology id and partition index."""

TaskId = tuple[str, int]
"""Subtopology id and partition index."""

NO_TASKS: Tasks = MappingProxyType({})
NO_TASK_EPOCHS: TaskEpochs = MappingProxyType({})


def _no_tasks() -> Tasks:
    return NO_TASKS


def _no_task_epochs() -> TaskEpochs:
    return NO_TASK_EPOCHS


@dataclass(frozen=True, slots=True)
class TargetTasks:
    """What a member shall have in the end, or what it says that it has."""

    active: Tasks = field(default_factory=_no_tasks)
    standby: Tasks = field(default_factory=_no_tasks)


@dataclass(frozen=True, slots=True)
class OwnedTasks:
    """What a member has, or has to give up."""

    active: TaskEpochs = field(default_factory=_no_task_epochs)
    standby: Tasks = field(default_factory=_no_tasks)

    @property
    def is_empty(self) -> bool:
        """Whether there is no task."""
        return not self.active and not self.standby

    @property
    def active_tasks(self) -> Tasks:
        """The active tasks without their epochs."""
        return {name: frozenset(epochs) for name, epochs in self.active.items()}

    def overlaps(self, reported: TargetTasks) -> bool:
        """Return whether a member says that it has one of these tasks."""
        return overlaps(reported.active, self.active_tasks) or overlaps(
            reported.standby, self.standby
        )

    def with_epochs_of_zero(self) -> "OwnedTasks":
        """Return the same tasks as a member has them that may come back under another id."""
        return OwnedTasks(
            {name: dict.fromkeys(epochs, 0) for name, epochs in self.active.items()}, self.standby
        )


NOTHING_TARGETED = TargetTasks()
NOTHING_OWNED = OwnedTasks()


@may_pause
def tasks_of(entries: Iterable[tuple[str, Iterable[int]]]) -> Tasks:
    """Return the tasks of entries of a request; of a subtopology that occurs twice the last one."""
    found = {name: frozenset(partitions) for name, partitions in entries}
    return {name: partitions for name, partitions in found.items() if partitions}


def ids_of(tasks: Tasks) -> Iterator[TaskId]:
    """Yield the id of every task."""
    for subtopology_id, indexes in tasks.items():
        for index in indexes:
            yield subtopology_id, index


def grouped(tasks: Iterable[TaskId]) -> Tasks:
    """Return tasks by subtopology."""
    found: dict[str, set[int]] = {}
    for subtopology_id, index in tasks:
        found.setdefault(subtopology_id, set()).add(index)
    return {subtopology_id: frozenset(indexes) for subtopology_id, indexes in found.items()}
