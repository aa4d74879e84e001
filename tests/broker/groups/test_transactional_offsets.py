"""Pending offsets: which commit wins, and what a marker moves."""

from collections.abc import Callable

import pytest

from broker.groups.results import CommittedOffset
from broker.groups.transactional_offsets import TransactionalOffsets
from protocol.pacing import LOOK_EVERY
from tests.broker.interleaving import run_with_pauses

NOW_MS = 1_700_000_000_000
PARTITION, A, B = 7, 1, 2
KEY = ("g", "t", 0)


def committed(offset: int) -> CommittedOffset:
    return CommittedOffset(offset, -1, "", NOW_MS)


def complete(offsets: TransactionalOffsets, producer_id: int) -> list[int]:
    return [found.offset for _, found in offsets.complete(PARTITION, producer_id)]


def test_offsets_are_pending_until_their_transaction_ends() -> None:
    offsets = TransactionalOffsets()
    offsets.add(PARTITION, A, KEY, committed(3))
    offsets.add(PARTITION, A, KEY, committed(4))
    assert offsets.is_pending(*KEY)
    assert not offsets.is_pending("g", "t", 1)
    assert (offsets.has_pending("g"), offsets.has_pending("h")) == (True, False)
    assert complete(offsets, B) == []
    assert complete(offsets, A) == [4]
    assert not offsets.is_pending(*KEY)
    assert complete(offsets, A) == []


def test_the_latest_commit_wins_in_whatever_order_transactions_end() -> None:
    offsets = TransactionalOffsets()
    offsets.add(PARTITION, A, KEY, committed(3))
    offsets.add(PARTITION, B, KEY, committed(5))
    assert complete(offsets, B) == [5]
    assert offsets.is_pending(*KEY)
    assert complete(offsets, A) == []
    offsets.add(PARTITION, A, KEY, committed(6))
    offsets.replace(KEY)  # a commit without a transaction
    assert offsets.is_pending(*KEY)
    assert complete(offsets, A) == []


def test_deleted_offsets_and_groups_are_not_pending() -> None:
    offsets = TransactionalOffsets()
    for group, topic in (("g", "t"), ("g", "u"), ("h", "t")):
        offsets.add(PARTITION, A, (group, topic, 0), committed(1))
    offsets.remove_topic("t")
    assert offsets.has_pending("g")
    assert not offsets.has_pending("h")
    offsets.remove_group("g")
    assert not offsets.has_pending("g")
    assert complete(offsets, A) == []


def test_a_group_that_is_created_again_has_no_offsets_of_transactions_before() -> None:
    offsets = TransactionalOffsets()
    offsets.add(PARTITION, A, KEY, committed(1))
    offsets.remove_group("g")
    offsets.add(PARTITION, B, KEY, committed(2))
    assert complete(offsets, A) == []
    assert offsets.is_pending(*KEY)
    assert complete(offsets, B) == [2]
    offsets.add(PARTITION, A, KEY, committed(3))
    offsets.remove_topic("t")
    offsets.add(PARTITION, A, KEY, committed(4))
    assert complete(offsets, A) == [4]
    assert len(offsets) == 0


COUNT = 2 * LOOK_EVERY


def complete_with_pauses(
    change: Callable[[TransactionalOffsets], object],
) -> tuple[TransactionalOffsets, list[int], list[int]]:
    """Complete many offsets, with a change in the second pause.

    Returns the offsets that become valid, and how many were pending in each pause.
    """
    offsets = TransactionalOffsets()
    for number in range(COUNT):
        offsets.add(PARTITION, A, ("g", "t", number), committed(number))
    counts: list[int] = []

    def pause() -> None:
        counts.append(offsets.pending_count(PARTITION, A))
        if len(counts) == 2:
            change(offsets)

    return offsets, run_with_pauses(lambda: complete(offsets, A), pause), counts


def test_many_offsets_become_valid_with_pauses() -> None:
    offsets, found, counts = complete_with_pauses(lambda _offsets: None)
    assert found == list(range(COUNT))
    assert counts == [COUNT, LOOK_EVERY]
    assert len(offsets) == 0


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        (lambda offsets: offsets.replace(("g", "t", COUNT - 1)), COUNT - 1),
        (lambda offsets: offsets.remove(("g", "t", COUNT - 1)), COUNT - 1),
        (lambda offsets: offsets.remove_topic("t"), LOOK_EVERY),
        (lambda offsets: offsets.remove_group("g"), LOOK_EVERY),
        (lambda offsets: offsets.replace(("g", "t", 0)), COUNT),
        (lambda offsets: complete(offsets, A), LOOK_EVERY),
    ],
)
def test_what_comes_in_a_pause_wins(
    change: Callable[[TransactionalOffsets], object], kept: int
) -> None:
    offsets, found, _counts = complete_with_pauses(change)
    assert found == list(range(kept))
    assert len(offsets) == 0
    assert not offsets.has_pending("g")
