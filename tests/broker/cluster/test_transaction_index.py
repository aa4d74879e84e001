"""Aborted transactions: which ones a fetch overlaps."""

from hypothesis import given
from hypothesis import strategies as st

from broker.cluster.transaction_index import AbortedTransaction, TransactionIndex

FIRST = AbortedTransaction(1, 10, 20, 15)
SECOND = AbortedTransaction(2, 15, 30, 31)


def found(index: TransactionIndex, first: int, end: int) -> list[AbortedTransaction]:
    return list(index.overlapping(first, end))


def test_a_fetch_gets_the_transactions_that_it_overlaps() -> None:
    index = TransactionIndex()
    index.append(FIRST)
    index.append(SECOND)
    assert found(index, 0, 10) == []
    assert found(index, 0, 11) == [FIRST]
    assert found(index, 0, 16) == [FIRST, SECOND]
    assert found(index, 20, 21) == [FIRST, SECOND]
    assert found(index, 21, 22) == [SECOND]
    assert found(index, 31, 40) == []


def test_transactions_before_the_start_of_the_log_are_dropped() -> None:
    index = TransactionIndex()
    index.append(FIRST)
    index.append(SECOND)
    index.drop_before(20)
    assert len(index) == 2
    index.drop_before(21)
    assert found(index, 0, 40) == [SECOND]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=40), st.data())
def test_the_index_finds_what_a_search_of_all_finds(
    steps: list[tuple[int, bool]], data: st.DataObject
) -> None:
    """Producers write and end in any order, one offset a step."""
    index, aborted = TransactionIndex(), []
    opened: dict[int, int] = {}
    for offset, (producer_id, ends) in enumerate(steps):
        if ends and producer_id in opened:
            first = opened.pop(producer_id)
            stable = min(opened.values(), default=offset + 1)
            aborted.append(AbortedTransaction(producer_id, first, offset, stable))
            index.append(aborted[-1])
        else:
            opened.setdefault(producer_id, offset)
    last_stable = min(opened.values(), default=len(steps))
    first = data.draw(st.integers(0, len(steps)))
    end = data.draw(st.integers(min(first, last_stable), max(last_stable, first)))
    expected = [
        transaction
        for transaction in aborted
        if transaction.last_offset >= first and transaction.first_offset < end
    ]
    assert found(index, first, end) == expected
