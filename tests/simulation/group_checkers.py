"""Checkers of the promises of consumer groups (KIP-848) and share groups (KIP-932)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from tests.simulation import share_checkers
from tests.simulation.checkers import CHECKERS as ALL_CHECKERS
from tests.simulation.group_history import AppliedCommit, GroupHistory, GroupPlace, Ownership
from tests.simulation.history import History

SHOWN_MAX = 3

GroupChecker = Callable[[GroupHistory], Iterator[str]]


def ownership(history: GroupHistory) -> Iterator[str]:
    """No partition has two owners, neither in one epoch of its group nor at one time."""
    yield from ALL_CHECKERS["assignments"](history.seen)
    owners: dict[GroupPlace, list[Ownership]] = {}
    for ownership in history.ownerships:
        owners.setdefault((ownership.group, ownership.place), []).append(ownership)
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
    it still has.
    """
    last: dict[GroupPlace, AppliedCommit] = {}
    for applied in history.applied:
        before = last.get((applied.group, applied.place))
        if before is not None and applied.offset < before.offset:
            is_late = (before.member, before.member_epoch) == (applied.member, applied.member_epoch)
            if not is_late:
                yield f"{applied} follows {before}"
        last[applied.group, applied.place] = applied
    yield from ALL_CHECKERS["commits"](_without_epochs_that_begin_again(history))


def _without_epochs_that_begin_again(history: GroupHistory) -> History:
    """Return what clients saw; commits in a group whose epochs began again have all one epoch."""
    commits = [
        replace(commit, generation=0) if commit.group in history.lives else commit
        for commit in history.seen.commits
    ]
    return replace(history.seen, commits=commits)


CHECKERS: tuple[GroupChecker, ...] = (ownership, consumption, commits_forward)
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
