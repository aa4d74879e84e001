"""The processes that have the tasks of a group, which decide what is free.

Source: the maps from tasks to process ids of Kafka's `StreamsGroup`.
"""

from broker.groups.streams.member import StreamsMember
from broker.groups.streams.tasks import TaskId, ids_of


class TaskOwners:
    """The process of each active task, and the processes of each standby task."""

    def __init__(self) -> None:
        self._active: dict[TaskId, str] = {}
        self._standby: dict[TaskId, set[str]] = {}

    def active_process(self, task: TaskId) -> str | None:
        """Return the process that has an active task or has still to give it up, or None."""
        return self._active.get(task)

    def has_standby(self, task: TaskId, process_id: str) -> bool:
        """Return whether a process has a standby task or has still to give it up."""
        return process_id in self._standby.get(task, ())

    def add(self, member: StreamsMember) -> None:
        """Note what a member has."""
        for owned in (member.assigned, member.pending_revocation):
            for task in ids_of(owned.active_tasks):
                self._active[task] = member.process_id
            for task in ids_of(owned.standby):
                self._standby.setdefault(task, set()).add(member.process_id)

    def remove(self, member: StreamsMember) -> None:
        """Forget what a member had, but not what another process has got since."""
        for owned in (member.assigned, member.pending_revocation):
            for task in ids_of(owned.active_tasks):
                if self._active.get(task) == member.process_id:
                    del self._active[task]
            for task in ids_of(owned.standby):
                processes = self._standby.get(task, set())
                processes.discard(member.process_id)
                if not processes:
                    self._standby.pop(task, None)
