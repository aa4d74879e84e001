"""Streams groups keep their promises in all worlds, and each checker finds injected bugs."""

from collections.abc import Callable

import pytest

from broker.administration import streams_topics
from broker.groups.streams import reconciliation
from broker.groups.streams.group import StreamsGroup
from broker.groups.streams.sticky_assignor import _Assignment
from broker.groups.streams.task_owners import TaskOwners
from tests.simulation.patches import Patch, edit, find_bug
from tests.simulation.replay import digests_under_hash_seeds
from tests.simulation.streams_world import StreamsWorld

SEEDS_PER_TEST = 10


@pytest.mark.slow
def test_streams_groups_keep_their_promises() -> None:
    run_worlds(0)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1_000, 1_070, SEEDS_PER_TEST))
def test_streams_groups_keep_their_promises_in_many_more_worlds(first: int) -> None:
    run_worlds(first)


def run_worlds(first: int) -> None:
    """Run some worlds; they violate nothing, and the members have something to do."""
    reports = [StreamsWorld(seed).run() for seed in range(first, first + SEEDS_PER_TEST)]
    assert {report.seed: report.violations for report in reports if report.violations} == {}
    for name in ("assignments", "commits", "consumed", "tasks"):
        assert sum(report.counts[name] for report in reports) > 10


@pytest.mark.slow
def test_a_seed_replays_exactly_under_any_hash_seed() -> None:
    assert len(digests_under_hash_seeds(StreamsWorld)) == 1


# Bugs --------------------------------------------------------------------------------------------


def ignore_active_owners(patch: Patch) -> None:
    """A member gets an active task at once, even if another one still runs it."""
    edit(
        patch,
        reconciliation.reconcile,
        "return owners.active_process(task) is not None or is_standby_here",
        "return is_standby_here",
    )


def believe_in_revocation(patch: Patch) -> None:
    """A member that has to give tasks up counts as one that has done so."""
    patch.setattr(reconciliation, "_may_have", lambda *_: False)


def ignore_copies_of_the_process(patch: Patch) -> None:
    """A member gets a standby task though another one of its process has the task."""
    edit(
        patch,
        reconciliation.reconcile,
        "return runs_here or owners.has_standby(task, process_id)",
        "return False",
    )


def promote_beside_a_copy(patch: Patch) -> None:
    """A member gets an active task though another one of its process has the standby task."""
    edit(
        patch,
        reconciliation.reconcile,
        "return owners.active_process(task) is not None or is_standby_here",
        "return owners.active_process(task) is not None",
    )


def keep_tasks_of_the_gone(patch: Patch) -> None:
    """The active tasks of a member that is removed stay owned."""
    edit(patch, TaskOwners.remove, "== member.process_id", "== ''")


def assign_one_standby_less(patch: Patch) -> None:
    """Each task has one standby task less than it should."""
    edit(
        patch,
        _Assignment.assign_standby,
        "for count in range(self._standby_replicas)",
        "for count in range(1, self._standby_replicas)",
    )


def create_small_internal_topics(patch: Patch) -> None:
    """An internal topic has one partition."""
    edit(patch, streams_topics._new_topic, "topic.partition_count", "1")


def accept_late_commits(patch: Patch) -> None:
    """A member may commit with an epoch of its past whatever it had then."""
    patch.setattr(StreamsGroup, "_may_commit_late", lambda *_: True)


def refuse_late_commits(patch: Patch) -> None:
    """A member commits with its current epoch only."""
    patch.setattr(StreamsGroup, "_may_commit_late", lambda *_: False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "checker", "first"),
    [
        (ignore_active_owners, "ownership", 0),
        (believe_in_revocation, "ownership", 0),
        (ignore_copies_of_the_process, "one_copy", 11),
        (promote_beside_a_copy, "one_copy", 24),
        (keep_tasks_of_the_gone, "consumption", 0),
        (assign_one_standby_less, "standbys", 0),
        (create_small_internal_topics, "internal_topics", 0),
        (accept_late_commits, "late_commits", 0),
        (refuse_late_commits, "late_commits", 0),
    ],
)
def test_checker_finds_injected_bug(
    monkeypatch: Patch, bug: Callable[[Patch], None], checker: str, first: int
) -> None:
    find_bug(monkeypatch, bug, checker, first, StreamsWorld)
