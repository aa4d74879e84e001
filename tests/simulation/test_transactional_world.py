"""Transactions keep their promises in all worlds, and each checker finds an injected bug."""

from collections.abc import Callable
from typing import Any

import pytest

from broker.cluster import transactions as markers
from broker.cluster.transaction_index import TransactionIndex
from broker.groups.coordinator import GroupCoordinator
from broker.transactions.coordinator import (
    InitResult,
    ProducerIdAndEpoch,
    TransactionCoordinator,
)
from protocol.errors import ErrorCode
from tests.simulation.patches import Patch, wrap
from tests.simulation.transactional_world import TransactionWorld

SEEDS_PER_TEST = 10
FAST_SEEDS = 20
SEEDS_MAX = 60


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=pytest.mark.slow if first >= FAST_SEEDS else ())
        for first in range(0, 40, SEEDS_PER_TEST)
    ],
)
def test_transactions_keep_their_promises(first: int) -> None:
    run_worlds(first)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1_000, 1_600, SEEDS_PER_TEST))
def test_transactions_keep_their_promises_in_many_more_worlds(first: int) -> None:
    run_worlds(first)


def run_worlds(first: int) -> None:
    """Run some worlds; they violate nothing, and transactions end in all ways in them."""
    reports = [TransactionWorld(seed).run() for seed in range(first, first + SEEDS_PER_TEST)]
    violations = {report.seed: report.violations for report in reports if report.violations}
    assert violations == {}
    for outcome in ("committed", "aborted", "unknown"):
        assert sum(report.counts[outcome] for report in reports) > 20


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
        def end(
            self: GroupCoordinator, index: int, producer_id: int, now_ms: int, **_: bool
        ) -> None:
            original(self, index, producer_id, now_ms, is_commit=True)

        return end

    wrap(patch, GroupCoordinator, "end_transaction", careless)


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


def never_time_out(patch: Patch) -> None:
    """The coordinator does not abort transactions that have timed out."""
    patch.setattr(TransactionCoordinator, "timed_out", lambda *_: [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "checker"),
    [
        (commit_one_partition, "atomicity"),
        (commit_one_partition, "isolation"),
        (forget_aborted, "isolation"),
        (commit_all_offsets, "offsets"),
        (share_epochs, "fencing"),
        (never_time_out, "progress"),
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
