"""Members of a consumer group in separate threads, so that one test can drive several.

A rebalance needs all members at the same time. A single thread that polled them in turn would wait
for itself.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from scenarios.clients.deadline import DEADLINE_S, Deadline
from scenarios.clients.interface import Client, GroupMember, Record

POLL_MS = 20
T = TypeVar("T")


class MemberThread:
    """A member, and the thread that polls it all the time and makes all calls to it."""

    def __init__(self, member: GroupMember) -> None:
        self._member = member
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._polled: queue.SimpleQueue[list[Record]] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="group-member")
        self._thread.start()

    @property
    def rebalances(self) -> int:
        """How often partitions were assigned to the member."""
        return self._member.rebalances

    def poll(self) -> list[Record]:
        """Return the records since the last call; wait a moment if there are none."""
        if self._failure is not None:
            raise self._failure
        records: list[Record] = []
        try:
            records += self._polled.get(timeout=POLL_MS / 1000)
            while True:
                records += self._polled.get_nowait()
        except queue.Empty:
            return records

    def assigned(self) -> set[int]:
        """See `GroupMember`."""
        return self._call(self._member.assigned)

    def commit(self) -> None:
        """See `GroupMember`."""
        self._call(self._member.commit)

    def commit_at(self, partition: int, offset: int, metadata: str) -> None:
        """See `GroupMember`."""
        self._call(lambda: self._member.commit_at(partition, offset, metadata))

    def committed(self, partition: int) -> tuple[int, str] | None:
        """See `GroupMember`."""
        return self._call(lambda: self._member.committed(partition))

    def close(self) -> None:
        """Leave the group and end the thread; raise what failed in it."""
        self._is_closing = True
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive(), "a member does not close"
        if self._failure is not None:
            raise self._failure

    def _call(self, function: Callable[[], T]) -> T:
        response: Future[T] = Future()

        def run() -> None:
            try:
                response.set_result(function())
            except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
                response.set_exception(error)

        self._calls.put(run)
        return response.result(DEADLINE_S)

    def _run(self) -> None:
        try:
            while not self._is_closing:
                while not self._calls.empty():
                    self._calls.get()()
                records = self._member.poll()
                if records:
                    self._polled.put(records)
        except BaseException as error:  # noqa: BLE001 - raised in the test's thread
            self._failure = error
        finally:
            self._member.close()


@contextmanager
def member(
    client: Client, servers: str, topic: str, group: str, **options: Any
) -> Iterator[MemberThread]:
    """Join a group, and leave it at the end; for `options` see `Client.join`."""
    joined = MemberThread(client.join(servers, topic, group, **options))
    try:
        yield joined
    finally:
        joined.close()


def poll_until(
    members: Sequence[MemberThread], is_done: Callable[[], bool], awaited: str
) -> list[Record]:
    """Poll all members in turn until `is_done`; return their records."""
    records: list[Record] = []
    deadline = Deadline()
    while not is_done() and deadline.holds(awaited):
        for polled in members:
            records += polled.poll()
    return records


def poll_records(members: Sequence[MemberThread], record_count: int) -> list[Record]:
    """Poll all members in turn until there are at least `record_count` records."""
    records: list[Record] = []
    deadline = Deadline()
    while len(records) < record_count and deadline.holds(f"{record_count} records"):
        for polled in members:
            records += polled.poll()
    return records


def share_out(members: Sequence[MemberThread], partition_count: int) -> list[Record]:
    """Poll until every member has partitions, and every partition has one member."""

    def is_shared_out() -> bool:
        assigned = [polled.assigned() for polled in members]
        union = set().union(*assigned)
        return all(assigned) and len(union) == partition_count == sum(map(len, assigned))

    return poll_until(members, is_shared_out, f"{partition_count} partitions shared out")
