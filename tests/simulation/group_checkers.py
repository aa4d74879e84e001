"""Checkers of the promises of consumer groups, share groups and streams groups."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from tests.simulation import share_checkers
from tests.simulation.checkers import CHECKERS as ALL_CHECKERS
from tests.simulation.group_history import AppliedCommit, GroupHistory, GroupPlace, Ownership
from tests.simulation.history import Assignment, History

SHOWN_MAX = 3

GroupChecker = Callable[[GroupHistory], Iterator[str]]


def ownership(history: GroupHistory) -> Iterator[str]:
    """No partition has two owners, neither in one epoch of its group nor at one time."""
    yield from ALL_CHECKERS["assignments"](history.seen)
    yield from _owned_twice(found for found in history.ownerships if not found.process_id)


def one_copy(history: GroupHistory) -> Iterator[str]:
    """No process has a task twice at one time, whether active or standby."""
    yield from _owned_twice(found for found in history.ownerships if found.process_id)


def _owned_twice(found: Iterable[Ownership]) -> Iterator[str]:
    owners: dict[tuple[str, GroupPlace], list[Ownership]] = {}
    for ownership in found:
        key = ownership.process_id, (ownership.group, ownership.place)
        owners.setdefault(key, []).append(ownership)
    for ownerships in owners.values():
        for later in ownerships:
            for earlier in ownerships:
                if earlier.member != later.member and earlier.is_certain_at(
                    later.sent_ms, later.written_ms
                ):
                    yield f"{later}, while it belongs to {earlier}"


def consumption(history: GroupHistory) -> Iterator[str]:
    """Everything that is assigned is consumed in the end, and nothing was skipped before."""
    yield from history.unsettled
    for (group, place), end in history.ends.items():
        missing = set(range(end)) - history.consumed.get((group, place), set())
        if missing:
            yield f"{group} has never read {place} at {sorted(missing)[:5]} of {end}"


def commits_forward(history: GroupHistory) -> Iterator[str]:
    """No committed offset goes back, and OffsetFetch returns it.

    A commit that a member has sent again on another connection may arrive late, with the epoch that
    it still has, or since Kafka 4.3 with one since which it has the partition.
    """
    last: dict[GroupPlace, AppliedCommit] = {}
    for applied in history.applied:
        before = last.get((applied.group, applied.place))
        if before is not None and applied.offset < before.offset:
            has_epoch = before.member_epoch == applied.member_epoch or history.takes_late_commits
            if before.member != applied.member or not has_epoch:
                yield f"{applied} follows {before}"
        last[applied.group, applied.place] = applied
    yield from ALL_CHECKERS["commits"](_without_epochs_that_begin_again(history))


def late_commits(history: GroupHistory) -> Iterator[str]:
    """A late commit is taken if the member still has the partition, and never if another had it.

    Since Kafka 4.3 a member may commit with the epoch in which it got a partition.
    """
    yield from history.refused_late_commits
    given: dict[GroupPlace, list[Assignment]] = {}
    for assignment in history.seen.assignments:
        for place in assignment.places:
            given.setdefault((assignment.group, place), []).append(assignment)
    for late in history.late_commits:
        if late.group in history.lives:
            continue  # its epochs began again
        for place in late.places:
            for later in given.get((late.group, place), ()):
                is_given_away = later.member != late.member and later.time_ms <= late.time_ms
                if is_given_away and later.generation > late.epoch:
                    yield f"{late}, though {later} has it"


def standbys(history: GroupHistory) -> Iterator[str]:
    """In the end each task with state has as many standby tasks as are asked for and possible."""
    yield from history.wrong_standbys


def internal_topics(history: GroupHistory) -> Iterator[str]:
    """The internal topics of a topology exist in the end, with the partitions that follow."""
    yield from history.wrong_internal_topics


def _without_epochs_that_begin_again(history: GroupHistory) -> History:
    """Return what clients saw; commits of which a later one may have an older epoch have all one.

    The epochs of a group may begin again, and since Kafka 4.3 an older one may be as good.
    """
    commits = [
        replace(commit, generation=0)
        if history.takes_late_commits or commit.group in history.lives
        else commit
        for commit in history.seen.commits
    ]
    return replace(history.seen, commits=commits)


CHECKERS: tuple[GroupChecker, ...] = (
    ownership,
    one_copy,
    consumption,
    standbys,
    internal_topics,
    commits_forward,
    late_commits,
)
_OF_ALL_WORLDS = ("muting", "internal_errors", "memory")


def check_groups(history: GroupHistory) -> list[str]:
    """Return the violations, each with the name of its checker, and the first few of each."""
    records = share_checkers.by_record(history.shared)
    found: list[tuple[str, Iterator[str]]] = [
        *((checker.__name__, checker(history)) for checker in CHECKERS),
        *(
            (checker.__name__, checker(history.shared, records))
            for checker in share_checkers.CHECKERS
        ),
        *((name, ALL_CHECKERS[name](history.seen)) for name in _OF_ALL_WORLDS),
    ]
    return [f"{name}: {text}" for name, texts in found for text in islice(texts, SHOWN_MAX)]
