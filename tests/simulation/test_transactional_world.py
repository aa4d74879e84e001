"""Transactions keep their promises in all worlds, and each checker finds an injected bug."""

from collections.abc import Callable
from typing import Any

import pytest

from broker.cluster import transactions as markers
from broker.cluster.topics import Partition
from broker.cluster.transaction_index import TransactionIndex
from broker.groups.group_table import GroupTable
from broker.transactions.coordinator import (
    InitResult,
    ProducerIdAndEpoch,
    TransactionCoordinator,
)
from broker.transactions.transaction import Transaction, TransactionState
from producer_state.producer_state_manager import ProducerStateManager
from producer_state.rules import APPEND, Duplicate
from protocol.errors import ErrorCode
from tests.simulation.patches import Patch, wrap
from tests.simulation.transactional_world import TransactionWorld

SEEDS_PER_TEST = 10
FAST_SEEDS = 10
SEEDS_MAX = 60


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=pytest.mark.slow if first >= FAST_SEEDS else ())
        for first in range(0, 20, SEEDS_PER_TEST)
    ],
)
def test_transactions_keep_their_promises(first: int) -> None:
    run_worlds(first)


@pytest.mark.long
@pytest.mark.parametrize("first", [20, 30, *range(1_000, 1_150, SEEDS_PER_TEST)])
def test_transactions_keep_their_promises_in_many_more_worlds(first: int) -> None:
    run_worlds(first)


def run_worlds(first: int) -> None:
    """Run some worlds; they violate nothing, and transactions end in all ways in them."""
    reports = [TransactionWorld(seed).run() for seed in range(first, first + SEEDS_PER_TEST)]
    violations = {report.seed: report.violations for report in reports if report.violations}
    assert violations == {}
    for outcome in ("committed", "aborted", "unknown"):
        assert sum(report.counts[outcome] for report in reports) > SEEDS_PER_TEST


def commit_one_partition(patch: Patch) -> None:
    """The marker of one partition says commit, whatever the transaction's end is."""

    def inconsistent(original: Any) -> Any:
        def append_marker(
            cluster: Any, topic: Any, partition: Any, marker: Any, now_ms: int
        ) -> Any:
            if partition.partition_index == 0:
                marker = marker._replace(is_commit=True)
            return original(cluster, topic, partition, marker, now_ms)

        return append_marker

    wrap(patch, markers, "append_marker", inconsistent)


def forget_aborted(patch: Patch) -> None:
    """Fetch does not name the aborted transactions."""
    patch.setattr(TransactionIndex, "append", lambda *_: None)


def commit_all_offsets(patch: Patch) -> None:
    """The offsets of an aborted transaction are committed."""

    def careless(original: Any) -> Any:
        def end(self: GroupTable, index: int, producer_id: int, **_: bool) -> None:
            original(self, index, producer_id, is_commit=True)

        return end

    wrap(patch, GroupTable, "end_transaction", careless)


def share_epochs(patch: Patch) -> None:
    """The coordinator compares no epoch at the end of a transaction."""

    def trusting(original: Any) -> Any:
        def end(
            self: TransactionCoordinator, transactional_id: str, producer: Any, **rest: Any
        ) -> Any:
            known = self.get(transactional_id)
            if known is not None and rest["is_commit"]:
                producer = ProducerIdAndEpoch(known.producer_id, known.producer_epoch)
            return original(self, transactional_id, producer, **rest)

        return end

    def unfenced(original: Any) -> Any:
        def init(
            self: TransactionCoordinator, transactional_id: str, *rest: Any, **options: Any
        ) -> Any:
            known = self.get(transactional_id)
            if known is not None and known.partitions:
                known.producer_epoch += 1
                return InitResult(
                    ErrorCode.NONE, ProducerIdAndEpoch(known.producer_id, known.producer_epoch)
                )
            return original(self, transactional_id, *rest, **options)

        return init

    wrap(patch, TransactionCoordinator, "end", trusting)
    wrap(patch, TransactionCoordinator, "init_producer_id", unfenced)


def forget_partitions(patch: Patch) -> None:
    """The coordinator knows the first partitions of a transaction only."""

    def forgetful(original: Any) -> Any:
        def add(self: Transaction, partitions: Any, *rest: Any) -> None:
            if self.state is not TransactionState.ONGOING:
                original(self, partitions, *rest)

        return add

    wrap(patch, Transaction, "add", forgetful)


def skip_partitions_without_leader(patch: Patch) -> None:
    """A partition without a leader gets no marker, and the transaction is complete all the same."""
    patch.setattr(markers, "_NEEDS_NO_MARKER", frozenset(ErrorCode))


def forget_sequence_numbers(patch: Patch) -> None:
    """A partition stores a batch again that its producer sends again."""

    def forgetful(original: Any) -> Any:
        def check(self: ProducerStateManager, *arguments: Any, **rest: Any) -> Any:
            decision = original(self, *arguments, **rest)
            return APPEND if isinstance(decision, Duplicate) else decision

        return check

    wrap(patch, ProducerStateManager, "check", forgetful)


def read_open_transactions(patch: Patch) -> None:
    """A read_committed consumer gets all records below the high watermark."""
    patch.setattr(Partition, "last_stable_offset", property(lambda self: self.log.log_end_offset))


def commit_offsets_at_once(patch: Patch) -> None:
    """An offset is committed before the end of its transaction."""

    def hasty(original: Any) -> Any:
        def commit(self: GroupTable, request: Any, **rest: Any) -> Any:
            result = original(self, request, **rest)
            self.end_transaction(rest["offsets_partition"], rest["producer"][0], is_commit=True)
            return result

        return commit

    wrap(patch, GroupTable, "commit_in_transaction", hasty)


def lose_offsets(patch: Patch) -> None:
    """The offsets of a committed transaction are dropped."""

    def lossy(original: Any) -> Any:
        def end(self: GroupTable, index: int, producer_id: int, **_: bool) -> None:
            original(self, index, producer_id, is_commit=False)

        return end

    wrap(patch, GroupTable, "end_transaction", lossy)


def keep_the_epoch(patch: Patch) -> None:
    """A new producer gets the epoch of the one before."""

    def generous(original: Any) -> Any:
        def begin(
            self: Transaction, producer_epoch: int, last: int, timeout_ms: int, now_ms: int
        ) -> None:
            original(self, max(producer_epoch - 1, 0), last, timeout_ms, now_ms)

        return begin

    wrap(patch, Transaction, "begin_epoch", generous)


def never_time_out(patch: Patch) -> None:
    """The coordinator does not abort transactions that have timed out."""
    patch.setattr(TransactionCoordinator, "timed_out", lambda *_: [])


def never_retry_markers(patch: Patch) -> None:
    """A marker that could not be written at once is never written."""
    patch.setattr(markers, "end_all_prepared", lambda *_: None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "checker"),
    [
        (commit_one_partition, "atomicity"),
        (forget_partitions, "atomicity"),
        (forget_sequence_numbers, "atomicity"),
        (skip_partitions_without_leader, "atomicity"),
        (commit_one_partition, "isolation"),
        (forget_aborted, "isolation"),
        (read_open_transactions, "isolation"),
        (commit_all_offsets, "offsets"),
        (commit_offsets_at_once, "offsets"),
        (lose_offsets, "offsets"),
        (share_epochs, "fencing"),
        (keep_the_epoch, "fencing"),
        (never_time_out, "progress"),
        (never_retry_markers, "progress"),
        (skip_partitions_without_leader, "progress"),
    ],
)
def test_checker_finds_injected_bug(
    monkeypatch: Patch, bug: Callable[[Patch], None], checker: str
) -> None:
    bug(monkeypatch)
    for seed in range(SEEDS_MAX):
        violations = TransactionWorld(seed).run().violations
        if any(violation.startswith(f"{checker}: ") for violation in violations):
            return
    pytest.fail(f"{bug.__doc__} Not found in {SEEDS_MAX} worlds.")
