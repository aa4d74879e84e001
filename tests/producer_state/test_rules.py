"""The rules as pure decisions: tables of states, batches and expected decisions."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producer_state.rules import (
    APPEND,
    NO_OFFSET,
    OLD_DUPLICATE,
    OUT_OF_ORDER,
    OUTSIDE_TRANSACTION,
    SEQUENCE_MAX,
    STALE_EPOCH,
    WINDOW_MAX,
    Append,
    Batch,
    Decision,
    Duplicate,
    Entry,
    RuleSet,
    decide,
    floor_after,
    sequence_after,
)
from protocol.errors import ErrorCode

MAX = SEQUENCE_MAX
WINDOW_DEFAULT = 10_000_000
KAFKA = RuleSet(batches=5, window=WINDOW_DEFAULT)
KIP_758 = RuleSet(batches=1, window=WINDOW_DEFAULT)
BOTH = [pytest.param(KAFKA, id="kafka"), pytest.param(KIP_758, id="kip-758")]

OFFSET = 2000
TIMESTAMP_MS = 1_700_000_000_000
NEWEST_AGAIN = Duplicate(ErrorCode.DUPLICATE_SEQUENCE_NUMBER, OFFSET, TIMESTAMP_MS)


def entry_of(
    *batches: tuple[int, int],
    epoch: int = 0,
    open_at: int = NO_OFFSET,
    floor: int | None = None,
) -> Entry:
    """A producer that wrote batches (first, last sequence), newest first; the newest at OFFSET.

    Without a floor it wrote so much that no window reaches back to its first batch.
    """
    if floor is None:
        floor = sequence_after(batches[0][1], 1 - WINDOW_MAX) if batches else 0
    return Entry(
        epoch,
        tuple(
            Batch(first, last, OFFSET - age, TIMESTAMP_MS - age)
            for age, (first, last) in enumerate(batches)
        ),
        floor,
        current_txn_start_offset=open_at,
    )


def singles(newest: int, count: int) -> list[tuple[int, int]]:
    """Batches of one record each, newest first."""
    return [(newest - age, newest - age) for age in range(count)]


@pytest.mark.parametrize(
    ("sequence", "count", "expected"),
    [
        (5, 5, 10),
        (MAX, 1, 0),
        (MAX - 5, 10, 4),
        (5, -5, 0),
        (0, -1, MAX),
        (-1, 1, 0),
        (0, 0, 0),
        (MAX, -MAX, 0),
    ],
)
def test_sequence_after_wraps_to_0(sequence: int, count: int, expected: int) -> None:
    assert sequence_after(sequence, count) == expected


@pytest.mark.parametrize("batches", [-1, 0, 2, 4, 6])
def test_only_1_and_5_batches_are_accepted(batches: int) -> None:
    with pytest.raises(ValueError, match=f"not {batches}"):
        RuleSet(batches, WINDOW_DEFAULT)


@pytest.mark.parametrize("window", [-1, 0, WINDOW_MAX + 1])
def test_a_window_above_half_of_the_sequence_numbers_is_refused(window: int) -> None:
    with pytest.raises(ValueError, match=f"not {window}"):
        RuleSet(1, window)


@pytest.mark.parametrize("window", [1, WINDOW_DEFAULT, WINDOW_MAX])
def test_windows_up_to_half_of_the_sequence_numbers_are_accepted(window: int) -> None:
    assert RuleSet(1, window).window == window


def test_a_rule_set_is_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        KAFKA.batches = 1  # type: ignore[misc]


@pytest.mark.parametrize("rules", BOTH)
@pytest.mark.parametrize("epoch", [0, 1, 32767])
@pytest.mark.parametrize("sequence", [0, 1, 17, MAX])
@pytest.mark.parametrize("is_transactional", [False, True])
def test_an_unknown_producer_is_appended_at_any_sequence(
    rules: RuleSet, epoch: int, sequence: int, is_transactional: bool
) -> None:
    assert decide(rules, None, epoch, sequence, 3, is_transactional=is_transactional) == APPEND


@pytest.mark.parametrize("rules", BOTH)
@pytest.mark.parametrize(
    ("entry", "epoch", "sequence", "expected"),
    [
        # The stored epoch: one sequence is next, whatever there was before.
        (entry_of((0, 0)), 0, 1, APPEND),
        (entry_of((0, 1)), 0, 2, APPEND),
        (entry_of((1, 1), (0, 0)), 0, 5, OUT_OF_ORDER),
        (entry_of((1, 1), (0, 0)), 0, 3, OUT_OF_ORDER),
        (entry_of((7, 7), epoch=5), 5, 8, APPEND),
        # A newer epoch starts at 0, also if epochs are skipped.
        (entry_of((0, 0)), 1, 0, APPEND),
        (entry_of((0, 0)), 2, 0, APPEND),
        (entry_of((0, 0)), 2, 2, OUT_OF_ORDER),
        (entry_of((0, 0)), 1, 2, OUT_OF_ORDER),
        (entry_of((0, 0)), 1, 1, OUT_OF_ORDER),
        (entry_of((0, 0)), 32767, 0, APPEND),
        # The batch of the old epoch's newest numbers is another one under a new epoch.
        (entry_of((4, 9)), 1, 4, OUT_OF_ORDER),
        # An older epoch, also with a batch that the newer epoch has.
        (entry_of((0, 0), epoch=1), 0, 0, STALE_EPOCH),
        (entry_of((0, 0), epoch=1), 0, 1, STALE_EPOCH),
        (entry_of((0, 0), epoch=32767), 32766, 0, STALE_EPOCH),
        # Only a marker was seen in this epoch.
        (entry_of(epoch=2), 0, 0, STALE_EPOCH),
        (entry_of(epoch=2), 2, 17, OUT_OF_ORDER),
        (entry_of(epoch=2), 2, MAX, OUT_OF_ORDER),
        (entry_of(epoch=2), 2, 0, APPEND),
        (entry_of(epoch=2), 3, 0, APPEND),
        # Wraparound: after the last number comes 0 and nothing else.
        (entry_of((MAX, MAX), epoch=15), 15, 0, APPEND),
        (entry_of((MAX, MAX), epoch=15), 15, 1, OUT_OF_ORDER),
        (entry_of((MAX - 10, 9)), 0, 10, APPEND),
        (entry_of((MAX - 10, 9)), 0, 11, OUT_OF_ORDER),
        (entry_of((MAX - 3, MAX - 1)), 0, MAX, APPEND),
    ],
)
def test_epochs_and_the_next_sequence_are_the_same_under_both_rules(
    rules: RuleSet, entry: Entry, epoch: int, sequence: int, expected: Decision
) -> None:
    assert decide(rules, entry, epoch, sequence, 0) == expected


@pytest.mark.parametrize("rules", BOTH)
def test_sequences_may_wrap_within_a_batch(rules: RuleSet) -> None:
    assert decide(rules, entry_of((0, MAX - 2)), 0, MAX - 1, 9) == APPEND


def test_refused_batches_have_kafkas_error_codes() -> None:
    refusals = (OUT_OF_ORDER, STALE_EPOCH, OUTSIDE_TRANSACTION)
    assert [int(refusal.error_code) for refusal in refusals] == [45, 47, 48]
    assert [int(value) for value in OLD_DUPLICATE] == [46, -1, -1]


@pytest.mark.parametrize("rules", BOTH)
@pytest.mark.parametrize(
    ("epoch", "sequence", "is_transactional", "expected"),
    [
        (0, 1, True, APPEND),
        (0, 1, False, OUTSIDE_TRANSACTION),
        (1, 0, False, OUTSIDE_TRANSACTION),
        # The sequence is checked before the transaction, and a duplicate before both.
        (0, 9, False, OUT_OF_ORDER),
        (0, 9, True, OUT_OF_ORDER),
    ],
)
def test_an_open_transaction_accepts_only_transactional_batches(
    rules: RuleSet, epoch: int, sequence: int, is_transactional: bool, expected: Decision
) -> None:
    entry = entry_of((0, 0), open_at=OFFSET)

    decision = decide(rules, entry, epoch, sequence, 0, is_transactional=is_transactional)

    assert decision == expected


def duplicate(age: int) -> Duplicate:
    return Duplicate(ErrorCode.NONE, OFFSET - age, TIMESTAMP_MS - age)


# Single records 1 to 5 and a batch 6-8: of the first, only 2 to 5 are among the newest five.
SIX_THEN_THREE = ((6, 8), *singles(5, 4))


@pytest.mark.parametrize(
    ("batches", "sequence", "count", "expected"),
    [
        (SIX_THEN_THREE, 6, 3, duplicate(0)),
        (SIX_THEN_THREE, 5, 1, duplicate(1)),
        (SIX_THEN_THREE, 4, 1, duplicate(2)),
        (SIX_THEN_THREE, 3, 1, duplicate(3)),
        (SIX_THEN_THREE, 2, 1, duplicate(4)),
        (SIX_THEN_THREE, 1, 1, OUT_OF_ORDER),
        (SIX_THEN_THREE, 0, 1, OUT_OF_ORDER),
        (SIX_THEN_THREE, 7, 2, OUT_OF_ORDER),
        (SIX_THEN_THREE, 6, 2, OUT_OF_ORDER),
        (SIX_THEN_THREE, 6, 4, OUT_OF_ORDER),
        (SIX_THEN_THREE, 5, 4, OUT_OF_ORDER),
        (SIX_THEN_THREE, 4, 2, OUT_OF_ORDER),
        (SIX_THEN_THREE, 9, 1, APPEND),
        (SIX_THEN_THREE, 10, 1, OUT_OF_ORDER),
        (((0, 0),), 0, 1, duplicate(0)),
        (((1, 1), (0, 0)), 1, 1, duplicate(0)),
        (((1, 1), (0, 0)), 0, 1, duplicate(1)),
        (((MAX - 10, 9),), MAX - 10, 21, duplicate(0)),
        (((MAX - 10, 9),), MAX - 10, 20, OUT_OF_ORDER),
        (((0, 4), (MAX, MAX)), MAX, 1, duplicate(1)),
        (((0, 4), (MAX, MAX)), MAX, 6, OUT_OF_ORDER),
    ],
)
def test_under_kafkas_rule_exactly_the_five_newest_batches_are_duplicates(
    batches: tuple[tuple[int, int], ...], sequence: int, count: int, expected: Decision
) -> None:
    assert decide(KAFKA, entry_of(*batches), 0, sequence, count - 1) == expected


# Newest batch (first, last), window, then batches as (first sequence, count) by what they get.
WINDOW_VECTORS: list[tuple[tuple[int, int], int, dict[Decision, list[tuple[int, int]]]]] = [
    (
        (10, 19),
        WINDOW_DEFAULT,
        {
            APPEND: [(20, 1), (20, 5)],
            NEWEST_AGAIN: [(10, 10)],
            OLD_DUPLICATE: [
                (10, 5),
                (15, 5),
                (12, 3),
                (5, 15),
                (0, 10),
                (9, 1),
                (19, 1),
                (5, 10),
            ],
            OUT_OF_ORDER: [(19, 2), (15, 10), (21, 1), (25, 1)],
        },
    ),
    (
        (2147483637, 9),
        WINDOW_DEFAULT,
        {
            APPEND: [(10, 1)],
            NEWEST_AGAIN: [(2147483637, 21)],
            OLD_DUPLICATE: [
                (2147483637, 11),
                (0, 10),
                (2147483647, 1),
                (2147483647, 11),
                (5, 5),
                (9, 1),
                (2147483627, 10),
                (2147483627, 25),
            ],
            OUT_OF_ORDER: [(5, 8), (11, 1)],
        },
    ),
    (
        (2147483647, 2147483647),
        WINDOW_DEFAULT,
        {
            APPEND: [(0, 1), (0, 3)],
            NEWEST_AGAIN: [(2147483647, 1)],
            OLD_DUPLICATE: [(2147483646, 1), (2147483646, 2)],
            OUT_OF_ORDER: [(1, 1), (2147483647, 2)],
        },
    ),
    (
        (9, 9),
        WINDOW_DEFAULT,
        {
            OLD_DUPLICATE: [(2137483658, 1), (0, 1), (0, 10)],
            OUT_OF_ORDER: [(2137483657, 1), (0, 11)],
        },
    ),
    (
        (20000000, 20000000),
        WINDOW_DEFAULT,
        {
            APPEND: [(20000001, 1)],
            OLD_DUPLICATE: [(10000001, 1)],
            OUT_OF_ORDER: [(10000000, 1), (9999999, 1), (20000002, 1)],
        },
    ),
    (
        (0, 0),
        WINDOW_MAX,
        {
            APPEND: [(1, 1)],
            OLD_DUPLICATE: [(1073741825, 1), (2147483647, 1)],
            OUT_OF_ORDER: [(1073741824, 1), (1073741823, 1)],
        },
    ),
    (
        (10, 14),
        5,
        {
            APPEND: [(15, 1)],
            NEWEST_AGAIN: [(10, 5)],
            OLD_DUPLICATE: [(11, 4), (10, 4), (13, 2)],
            OUT_OF_ORDER: [(9, 1), (9, 6), (13, 3)],
        },
    ),
    (
        (9, 9),
        1,
        {APPEND: [(10, 1)], NEWEST_AGAIN: [(9, 1)], OUT_OF_ORDER: [(8, 1)]},
    ),
    # A window of 1 still holds the newest record of a longer batch, and that batch as a whole.
    (
        (7, 9),
        1,
        {NEWEST_AGAIN: [(7, 3)], OLD_DUPLICATE: [(9, 1)], OUT_OF_ORDER: [(8, 2), (8, 1)]},
    ),
    (
        (0, 5),
        WINDOW_DEFAULT,
        {
            OLD_DUPLICATE: [(2147483647, 1), (2137483654, 1)],
            OUT_OF_ORDER: [(2137483653, 1)],
        },
    ),
]


@pytest.mark.parametrize(
    ("newest", "window", "sequence", "count", "expected"),
    [
        pytest.param(
            newest, window, sequence, count, expected, id=f"{newest}-{window}-{sequence}x{count}"
        )
        for newest, window, by_decision in WINDOW_VECTORS
        for expected, vectors in by_decision.items()
        for sequence, count in vectors
    ],
)
def test_kip_758_duplicates_are_batches_completely_inside_the_window(
    newest: tuple[int, int], window: int, sequence: int, count: int, expected: Decision
) -> None:
    rules = RuleSet(1, window)

    assert decide(rules, entry_of(newest), 0, sequence, count - 1) == expected


# Floor, newest batch, then batches as (first sequence, count) by what they get.
FLOOR_VECTORS: list[tuple[int, tuple[int, int], dict[Decision, list[tuple[int, int]]]]] = [
    (
        5,
        (10, 19),
        {
            APPEND: [(20, 1)],
            NEWEST_AGAIN: [(10, 10)],
            OLD_DUPLICATE: [(5, 1), (5, 15), (6, 4), (19, 1)],
            OUT_OF_ORDER: [(4, 1), (4, 2), (0, 20), (0, 1), (MAX, 1), (MAX, 25), (5, 16)],
        },
    ),
    # The producer began with its newest batch.
    (2, (2, 2), {APPEND: [(3, 1)], NEWEST_AGAIN: [(2, 1)], OUT_OF_ORDER: [(0, 2), (1, 2), (1, 1)]}),
    # An epoch begins with 0: no number before it was used, 2^31 - 1 least of all.
    (
        0,
        (0, 1),
        {OLD_DUPLICATE: [(0, 1), (1, 1)], OUT_OF_ORDER: [(MAX, 1), (MAX, 2), (MAX - 9_999_998, 1)]},
    ),
    # The numbers started over between the floor and the newest batch.
    (
        MAX - 1,
        (3, 4),
        {
            OLD_DUPLICATE: [(MAX - 1, 1), (MAX - 1, 7), (MAX, 3), (0, 5)],
            OUT_OF_ORDER: [(MAX - 2, 1), (MAX - 2, 2), (5000, 1)],
        },
    ),
]


@pytest.mark.parametrize(
    ("floor", "newest", "sequence", "count", "expected"),
    [
        pytest.param(floor, newest, sequence, count, expected, id=f"{floor}-{sequence}x{count}")
        for floor, newest, by_decision in FLOOR_VECTORS
        for expected, vectors in by_decision.items()
        for sequence, count in vectors
    ],
)
def test_under_kip_758_a_batch_before_the_floor_is_out_of_order(
    floor: int, newest: tuple[int, int], sequence: int, count: int, expected: Decision
) -> None:
    entry = entry_of(newest, floor=floor)

    assert decide(KIP_758, entry, 0, sequence, count - 1) == expected


@pytest.mark.parametrize("floor", [0, 5, 11])
def test_kafkas_rule_ignores_the_floor(floor: int) -> None:
    entry = entry_of((10, 19), (8, 9), floor=floor)

    assert decide(KAFKA, entry, 0, 8, 1) == duplicate(1)
    assert decide(KAFKA, entry, 0, 7, 0) == OUT_OF_ORDER


@pytest.mark.parametrize(
    ("floor", "base_sequence", "last_offset_delta", "expected"),
    [
        (0, 0, 0, 0),
        (7, 7, 99, 7),
        (0, WINDOW_MAX - 1, 0, 0),
        (0, WINDOW_MAX - 1, 1, 1),
        (0, WINDOW_MAX, 9, 10),
        (MAX, 5, WINDOW_MAX - 6, 0),
        (3, 3, MAX, 3 + WINDOW_MAX),
        (3, WINDOW_MAX + 2, MAX, 2),
    ],
)
def test_the_floor_follows_the_newest_number_at_the_largest_window(
    floor: int, base_sequence: int, last_offset_delta: int, expected: int
) -> None:
    assert floor_after(floor, base_sequence, last_offset_delta) == expected


sequences = st.integers(0, MAX) | st.integers(0, 20) | st.integers(MAX - 20, MAX)
deltas = st.integers(0, MAX) | st.integers(0, 30)


@given(last=sequences, delta=deltas, window=st.integers(1, WINDOW_MAX), ahead=st.data())
def test_no_batch_ahead_of_the_newest_is_ever_a_duplicate(
    last: int, delta: int, window: int, ahead: st.DataObject
) -> None:
    """Batches in flight, up to a window of sequences, are never duplicates."""
    entry = entry_of((sequence_after(last, -delta), last))
    start = ahead.draw(st.integers(1, window))
    count = ahead.draw(st.integers(1, 2**20))

    decision = decide(RuleSet(1, window), entry, 0, sequence_after(last, start), count - 1)

    assert decision == (APPEND if start == 1 else OUT_OF_ORDER)


@given(rules=st.sampled_from([KAFKA, KIP_758]), last=sequences, delta=deltas, shift=sequences)
def test_shifting_all_sequences_changes_no_decision(
    rules: RuleSet, last: int, delta: int, shift: int
) -> None:
    """Moving the state and the batch by the same count of numbers changes no decision."""
    here = decide(rules, entry_of((10, 19)), 0, last, delta)
    there = decide(
        rules,
        entry_of((sequence_after(10, shift), sequence_after(19, shift))),
        0,
        sequence_after(last, shift),
        delta,
    )

    assert here == there


def test_append_is_one_shared_object() -> None:
    assert decide(KIP_758, entry_of((0, 0)), 0, 1, 0) is APPEND
    assert isinstance(APPEND, Append)
