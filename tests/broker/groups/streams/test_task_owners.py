"""The processes that have tasks."""

from dataclasses import replace

from broker.groups.streams.member import StreamsMember
from broker.groups.streams.task_owners import TaskOwners
from broker.groups.streams.tasks import NOTHING_OWNED, OwnedTasks
from tests.broker.groups.streams.driver import renamed

MEMBER = StreamsMember(
    "m",
    process_id="p",
    assigned=OwnedTasks({"0": {1: 5}}, renamed({"0": [2]})),
    pending_revocation=OwnedTasks({"0": {3: 5}}, renamed({"0": [4]})),
)


def test_a_process_has_a_task_until_it_is_released() -> None:
    owners = TaskOwners()
    owners.add(MEMBER)
    assert [owners.active_process(("0", index)) for index in range(5)] == [
        None,
        "p",
        None,
        "p",
        None,
    ]
    assert [index for index in range(5) if owners.has_standby(("0", index), "p")] == [2, 4]
    assert not owners.has_standby(("0", 2), "q")
    owners.remove(MEMBER)
    assert not any(owners.active_process(("0", index)) for index in range(5))
    assert not any(owners.has_standby(("0", index), "p") for index in range(5))


def test_a_task_that_another_process_got_is_not_forgotten() -> None:
    owners = TaskOwners()
    owners.add(MEMBER)
    owners.add(replace(MEMBER, process_id="q", pending_revocation=NOTHING_OWNED))
    owners.remove(MEMBER)
    assert owners.active_process(("0", 1)) == "q"
    assert owners.has_standby(("0", 2), "q")
