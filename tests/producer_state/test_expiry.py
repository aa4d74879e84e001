"""Producers expire by the timestamps of their batches and markers."""

import pytest

from producer_state import producer_state_manager
from producer_state.rules import APPEND, OUT_OF_ORDER, SEQUENCE_MAX
from protocol.pacing import LOOK_EVERY
from tests.broker.interleaving import at_pause, run_with_pauses
from tests.producer_state.counting_partition import NOW_MS, PRODUCER, Partition, both_rules


@both_rules
def test_a_producer_expires_exactly_after_expiration_ms(
    batches: int,
) -> None:
    partition = Partition(batches)
    partition.send(0, epoch=3)

    assert sum(partition.producers.expire_in_steps(NOW_MS + 100, 200)) == 0
    assert sum(partition.producers.expire_in_steps(NOW_MS + 199, 200)) == 0
    assert len(partition.producers) == 1
    assert sum(partition.producers.expire_in_steps(NOW_MS + 200, 200)) == 1
    assert len(partition.producers) == 0
    assert partition.producers.entry(PRODUCER) is None
    assert sum(partition.producers.expire_in_steps(NOW_MS + 10_000, 200)) == 0


@both_rules
@pytest.mark.parametrize("sequence", [1, 2, SEQUENCE_MAX])
def test_an_expired_producer_may_start_with_any_sequence_and_epoch(
    batches: int, sequence: int
) -> None:
    partition = Partition(batches)
    partition.send(0, epoch=3)
    sum(partition.producers.expire_in_steps(NOW_MS + 200, 200))

    assert partition.send(sequence, epoch=0) == APPEND


@both_rules
def test_the_age_counts_from_the_newest_batch(batches: int) -> None:
    partition = Partition(batches)
    partition.send(0, timestamp_ms=NOW_MS)
    partition.send(1, timestamp_ms=NOW_MS + 150)
    assert sum(partition.producers.expire_in_steps(NOW_MS + 200, 200)) == 0

    # An older timestamp, as CreateTime allows, makes the producer older.
    partition.send(2, timestamp_ms=NOW_MS - 150)
    assert sum(partition.producers.expire_in_steps(NOW_MS + 200, 200)) == 1


@both_rules
def test_a_producer_without_a_timestamp_expires_at_once(batches: int) -> None:
    partition = Partition(batches)
    partition.send(0, timestamp_ms=-1)
    assert sum(partition.producers.expire_in_steps(NOW_MS, 86_400_000)) == 1


@both_rules
def test_exactly_the_old_producers_of_many_expire(batches: int) -> None:
    partition = Partition(batches)
    for producer_id in range(1000):
        partition.send(0, producer_id=producer_id, timestamp_ms=NOW_MS + producer_id)

    assert sum(partition.producers.expire_in_steps(NOW_MS + 600, 1)) == 600
    assert [row.producer_id for row in partition.producers.describe()] == list(range(600, 1000))
    assert partition.producers.check(999, 0, 5, 0) == OUT_OF_ORDER
    assert partition.producers.check(599, 0, 5, 0) == APPEND


@both_rules
def test_expiry_checks_no_producer_if_none_can_be_due(
    batches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = Partition(batches)
    for producer_id in range(100):
        partition.send(0, producer_id=producer_id, timestamp_ms=NOW_MS + producer_id)
    assert sum(partition.producers.expire_in_steps(NOW_MS + 250, 200)) == 51

    monkeypatch.setattr(producer_state_manager, "remove_expired", None)
    assert sum(partition.producers.expire_in_steps(NOW_MS + 250, 200)) == 0
    with pytest.raises(TypeError):
        sum(partition.producers.expire_in_steps(NOW_MS + 251, 200))


@both_rules
def test_expiry_in_steps_may_be_interrupted_by_appends(batches: int) -> None:
    partition = Partition(batches)
    for producer_id in range(1000):
        partition.send(0, producer_id=producer_id)
    forgotten = 0
    for step, number in enumerate(partition.producers.expire_in_steps(NOW_MS + 200, 200)):
        forgotten += number
        partition.send(0, producer_id=5000 + step, timestamp_ms=NOW_MS + 100)

    kept = {row.producer_id for row in partition.producers.describe()}
    entries = list(partition.producers.entries())
    assert [known for known, _ in entries] == sorted(kept)
    assert entries == [(known, partition.producers.entry(known)) for known in sorted(kept)]
    assert forgotten == 1000
    assert kept == set(range(5000, 5000 + len(kept)))
    assert len(kept) > 10


@both_rules
def test_after_an_abandoned_round_all_due_producers_expire(batches: int) -> None:
    partition = Partition(batches)
    for producer_id in range(1000):
        partition.send(0, producer_id=producer_id)
    given_up = next(partition.producers.expire_in_steps(NOW_MS + 200, 200))

    assert 0 < given_up < 1000
    assert sum(partition.producers.expire_in_steps(NOW_MS + 200, 200)) == 1000 - given_up
    assert partition.producers.describe() == []


@both_rules
def test_an_open_transaction_keeps_its_producer(batches: int) -> None:
    partition = Partition(batches)
    partition.send(0, is_transactional=True)
    assert sum(partition.producers.expire_in_steps(NOW_MS + 200, 200)) == 0

    partition.mark(0, timestamp_ms=NOW_MS + 100)
    assert sum(partition.producers.expire_in_steps(NOW_MS + 200, 200)) == 0
    assert sum(partition.producers.expire_in_steps(NOW_MS + 300, 200)) == 1


@both_rules
def test_a_marker_is_the_newest_write_even_with_a_timestamp_behind_its_batches(
    batches: int,
) -> None:
    partition = Partition(batches)
    partition.send(0, timestamp_ms=NOW_MS + 5000, is_transactional=True)
    partition.mark(0, timestamp_ms=NOW_MS)

    assert partition.producers.describe()[0].last_timestamp == NOW_MS
    assert sum(partition.producers.expire_in_steps(NOW_MS + 200, 200)) == 1


@both_rules
def test_producers_that_expire_while_many_are_listed_are_left_out(batches: int) -> None:
    partition = Partition(batches)
    producers = partition.producers
    for producer_id in range(1000):
        partition.send(0, producer_id=producer_id, timestamp_ms=NOW_MS + producer_id)
    pauses: list[None] = []
    run_with_pauses(producers.describe, lambda: pauses.append(None))
    assert len(pauses) >= 2 * 1000 // LOOK_EVERY

    rows = run_with_pauses(
        producers.describe,
        at_pause(len(pauses) // 2, lambda: sum(producers.expire_in_steps(NOW_MS + 600, 1))),
    )
    assert [row.producer_id for row in rows] == list(range(600, 1000))
