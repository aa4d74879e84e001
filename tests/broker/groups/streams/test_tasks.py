"""Tasks by subtopology."""

from broker.groups.streams.tasks import (
    NOTHING_OWNED,
    OwnedTasks,
    TargetTasks,
    grouped,
    ids_of,
    tasks_of,
)
from tests.broker.groups.streams.driver import renamed


def test_tasks_are_grouped_and_listed() -> None:
    tasks = grouped([("0", 1), ("1", 0), ("0", 2)])
    assert tasks == {"0": {1, 2}, "1": {0}}
    assert sorted(ids_of(tasks)) == [("0", 1), ("0", 2), ("1", 0)]


def test_entries_of_a_request_without_partitions_are_no_tasks() -> None:
    assert tasks_of([("0", [1, 1]), ("1", [])]) == {"0": {1}}


def test_owned_tasks_overlap_in_the_same_role() -> None:
    owned = OwnedTasks({"0": {1: 5}}, renamed({"0": [2]}))
    assert owned.overlaps(TargetTasks(renamed({"0": [1]})))
    assert owned.overlaps(TargetTasks(standby=renamed({"0": [2]})))
    assert not owned.overlaps(TargetTasks(renamed({"0": [2]}), renamed({"0": [1]})))


def test_a_member_that_may_come_back_has_its_tasks_in_epoch_0() -> None:
    owned = OwnedTasks({"0": {1: 5}}, renamed({"0": [2]}))
    assert owned.with_epochs_of_zero() == OwnedTasks({"0": {1: 0}}, renamed({"0": [2]}))
    assert NOTHING_OWNED.is_empty
    assert not owned.is_empty
