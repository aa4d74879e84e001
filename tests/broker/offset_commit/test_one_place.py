"""A rule about OffsetCommit stands in one place: what is added there applies to every request.

Each test adds a check, a charge or a field at run time, and takes out one call to show that the
test notices.
"""

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from broker.dispatch.dispatcher import Dispatcher
from broker.groups import group_table
from broker.groups.group_table import GroupTable
from broker.journal.journal import Journal
from broker.journal.lines import Entry
from broker.request import throttling
from broker.request.throttling import charge_time
from protocol.errors import ErrorCode
from tests.broker.offset_commit.commit_runs import CONSUMER, SIMPLE, Change, Commit, CommitRun
from tests.simulation.patches import counted, edit

ROOT = Path(__file__).parents[3]
COUNT = 30
BEFORE = 4
"""Requests of the kind before something is added: whatever may be remembered of them, is."""


@dataclass(frozen=True)
class Kind:
    """Requests that are sent in some way, and what the cluster has to do for them."""

    commit: Commit = field(default_factory=Commit)
    per_read: int = 1
    changes: tuple[Change, ...] = ()

    @property
    def offset_count(self) -> int:
        return COUNT * len(self.commit.topics) * len(self.commit.indexes)

    def send(self, run: CommitRun) -> list[int]:
        """Send all requests; return the error codes of all offsets."""
        codes = []
        for start in range(0, COUNT, self.per_read):
            codes += run.send(self.commit, min(self.per_read, COUNT - start))
        return codes


QUOTA: Change = ("set_quota", "request_percentage", 1e9, False)
SHADOW_QUOTA: Change = ("set_quota", "request_percentage", 1.0, True)
JOURNAL: Change = ("keep_journal", True)
KINDS = {
    "member": Kind(),
    "member of the consumer protocol": Kind(Commit(CONSUMER, version=9)),
    "group without members": Kind(Commit(SIMPLE)),
    "version 2": Kind(Commit(version=2)),
    "topic ids": Kind(Commit(version=10)),
    "many partitions": Kind(Commit(topics=("a", "b"), indexes=(0, 1))),
    "quota": Kind(changes=(QUOTA,)),
    "shadow quota": Kind(changes=(SHADOW_QUOTA,)),
    "journal": Kind(changes=(JOURNAL,)),
    "a fault rule": Kind(changes=(("add_rule",),)),
    "all": Kind(Commit(CONSUMER, version=10, indexes=(0, 1)), 1, (QUOTA, JOURNAL, ("add_rule",))),
}
KINDS |= {
    f"{name}, pipelined": Kind(kind.commit, BEFORE, kind.changes) for name, kind in KINDS.items()
}
every_kind = pytest.mark.parametrize("kind", [pytest.param(KINDS[name], id=name) for name in KINDS])


def warm_run(kind: Kind, *changes: Change) -> CommitRun:
    """Return a run whose members have sent some requests of a kind."""
    run = CommitRun()
    for change in (*changes, *kind.changes):
        run.do(change)
    assert not any(run.send(kind.commit, BEFORE) + run.send(kind.commit, 1))
    return run


# A check ----------------------------------------------------------------------------------------


def refused_share(kind: Kind) -> tuple[int, bool]:
    """Return how many offsets a check refuses that is added, and whether any was stored."""
    run = warm_run(kind)
    before = run.committed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            group_table, "check_commit", lambda *_arguments, **_named: ErrorCode.POLICY_VIOLATION
        )
        codes = kind.send(run)
    return codes.count(ErrorCode.POLICY_VIOLATION), run.committed != before


@every_kind
def test_a_check_that_is_added_refuses_every_offset(kind: Kind) -> None:
    assert refused_share(kind) == (kind.offset_count, False)


def test_the_test_notices_a_commit_that_is_not_checked() -> None:
    right = "error_code = self._accept_commit(to_check, now_ms)"
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, GroupTable.commit, right, "pass")
        assert refused_share(KINDS["member"]) == (0, True)


# A quota ----------------------------------------------------------------------------------------


def charged_share(kind: Kind) -> int:
    """Return how many requests a quota charges that is added to `charge_time`."""
    run = warm_run(kind, *([] if SHADOW_QUOTA in kind.changes else [QUOTA]))
    charged: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(throttling, "charged", charged, raising=False)
        right = "spent_ns = stopwatch()\n"
        edit(patch, charge_time, right, f"charged.append(context)\n    {right}")
        kind.send(run)
    return len({id(context) for context in charged})


@every_kind
def test_a_quota_that_is_added_charges_every_request(kind: Kind) -> None:
    assert charged_share(kind) == COUNT


@pytest.mark.parametrize(
    ("function", "name"),
    [(Dispatcher._respond_to_short, "member"), (Dispatcher._handle, "version 2")],
)
def test_the_test_notices_a_request_that_is_not_charged(function: Any, name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, function, "if context.stopwatch is not None:", "if False:")
        assert charged_share(KINDS[name]) == 0


# The journal ------------------------------------------------------------------------------------


def journalled_share(kind: Kind) -> int:
    """Return how many entries both `Journal.begin` and `Journal.end` have handled."""
    run = warm_run(kind, JOURNAL)
    journal = run.dispatcher.journal
    last_number = journal.last_number
    with counted(Journal, "begin") as begun, counted(Journal, "end") as ended:
        kind.send(run)
    begins = {entry.number for _, entry in begun}
    ends = {arguments[1].number for arguments, _ in ended}
    entries = [line for line in journal if line.number > last_number]
    return sum(isinstance(line, Entry) and line.number in begins & ends for line in entries)


@every_kind
def test_a_field_that_is_added_to_the_journal_is_in_every_entry(kind: Kind) -> None:
    assert journalled_share(kind) == COUNT


def test_the_test_notices_a_request_that_is_not_in_the_journal() -> None:
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, Dispatcher.dispatch, "self.begin(context, buffer, start, end)", "None")
        assert journalled_share(KINDS["member"]) == 0


# Who calls what ---------------------------------------------------------------------------------

CALLERS = {
    "check_commit": {"broker/groups/group_table.py", "broker/groups/commit_check.py"},
    "_accept_commit": {"broker/groups/group_table.py"},
    "prepare_commit": {"broker/groups/group_table.py"},
    "requested_offsets": {
        "broker/handlers/k08_offset_commit.py",
        "broker/handlers/k28_txn_offset_commit.py",
    },
    "commit_in_transaction": {"broker/handlers/k28_txn_offset_commit.py"},
    "handle_offset_commit": set[str](),
}


def test_only_one_module_accepts_and_stores_offsets() -> None:
    callers: dict[str, set[str]] = {name: set() for name in CALLERS}
    for path in (ROOT / "broker").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", None))
                if name in callers:
                    callers[name].add(str(path.relative_to(ROOT)))
    assert callers == CALLERS
