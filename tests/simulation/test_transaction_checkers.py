"""The checkers of transactions know what a producer cannot know, and nothing more."""

from typing import Any

import pytest

from broker.transactions.coordinator import ProducerIdAndEpoch
from tests.simulation.transaction_checkers import check_transactions
from tests.simulation.transactional_client import (
    ABORTED,
    COMMITTED,
    SeenTransaction,
    Start,
    TransactionHistory,
)

OLD, NEW = ProducerIdAndEpoch(7, 3), ProducerIdAndEpoch(7, 5)
STARTS = [Start("id", "old", 90, 100, OLD), Start("id", "new", 190, 200, NEW)]
PLACE = ("ledger", 0)


def seen(number: int, **changes: Any) -> SeenTransaction:
    """Return a transaction of the old producer."""
    values = [f"{number} {part}".encode() for part in range(2)]
    fields: dict[str, Any] = {"offset": number, "late_offsets": set()} | changes
    return SeenTransaction("id", "old", OLD, number, values, **fields)


def violations(
    *transactions: SeenTransaction, offset: int | None, read: int = 0, part: int = 0
) -> list[str]:
    """Return the names of the checkers that find something.

    The first `read` transactions are read, and of the next one `part` records.
    """
    history = TransactionHistory(list(transactions), starts=STARTS)
    values = [value for transaction in transactions for value in transaction.values]
    history.stored[PLACE] = values[: 2 * read + part]
    if offset is not None:
        history.offsets["id"] = offset
    return [text.partition(":")[0] for text in check_transactions(history)]


def test_a_commit_before_the_next_producer_is_no_violation() -> None:
    first = seen(1, commit_ms=150, outcome=COMMITTED)
    assert violations(first, offset=1, read=1) == []


def test_a_commit_after_the_next_producer_is_one() -> None:
    assert violations(seen(1, commit_ms=250), offset=1, read=1) == ["fencing"]


def test_a_late_end_counts_from_the_time_when_the_broker_handled_it() -> None:
    early = seen(1, commit_ms=250, late_ends={True: 150})
    assert violations(early, offset=1, read=1) == []
    late = seen(1, late_ends={True: 250})
    assert violations(late, offset=1, read=1) == ["fencing"]


@pytest.mark.parametrize("read", [0, 1])
def test_a_lost_commit_is_read_completely_or_not_at_all(read: int) -> None:
    unknown = seen(1, commit_ms=150)
    assert violations(unknown, offset=1 if read else None, read=read) == []
    assert violations(unknown, offset=1, part=1) == ["atomicity"]


def test_only_a_late_end_explains_a_part() -> None:
    assert violations(seen(1, late_ends={True: 150}), offset=1, part=1) == []
    assert violations(seen(1, late_ends={True: 150}), offset=None, part=1) == []
    assert violations(seen(1, outcome=ABORTED), offset=1, part=1) == ["atomicity", "isolation"]


def test_the_last_committed_offset_counts() -> None:
    first, second = (seen(number, commit_ms=150, outcome=COMMITTED) for number in (1, 2))
    assert violations(first, second, offset=2, read=2) == []
    assert violations(first, second, offset=1, read=2) == ["offsets"]
    without = seen(2, commit_ms=150, outcome=COMMITTED, offset=None)
    assert violations(first, without, offset=1, read=2) == []
    assert violations(first, seen(2, outcome=ABORTED), offset=2, read=1) == ["offsets"]


def test_a_late_offset_may_replace_that_of_the_transaction() -> None:
    second = seen(2, commit_ms=150, outcome=COMMITTED, late_offsets={1})
    first = seen(1, outcome=ABORTED)
    for offset in (1, 2):
        assert violations(second, first, offset=offset, read=1) == []
    assert violations(second, first, offset=3, read=1) == ["offsets"]


def test_two_producers_with_one_epoch_are_a_violation() -> None:
    history = TransactionHistory(starts=[STARTS[0], Start("id", "new", 190, 200, OLD)])
    assert [text.partition(":")[0] for text in check_transactions(history)] == ["fencing"]


def test_producers_with_other_ids_are_ordered_by_time() -> None:
    other = ProducerIdAndEpoch(1000, 0)
    assert Start("id", "new", 101, 200, other).is_later(STARTS[0])
    assert not Start("id", "new", 99, 200, other).is_later(STARTS[0])
