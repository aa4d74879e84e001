"""ShareFetch: what is read, and how long it waits."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from broker.cluster import partition_log
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.cluster.transaction_index import AbortedTransaction
from broker.fetch import partition_read, share_fetch
from broker.produce.append import append_batch
from broker.share_groups.share_partition import SharePartition
from protocol import messages, pacing
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import LOOK_EVERY
from tests.batches import make_batch
from tests.broker.cluster_builder import make_context
from tests.broker.interleaving import at_pause, run_with_pauses
from tests.broker.share_driver import (
    ACCEPT,
    GROUP,
    LOCK_MS,
    RELEASE,
    ShareDriver,
    acquired,
    member_id,
    part,
    values,
)

HOUR_MS = 3_600_000


def test_a_fetch_waits_for_new_records() -> None:
    driver = ShareDriver()
    driver.join(1)
    received = driver.fetch(1, max_wait_ms=500)
    assert received == []

    driver.produce(b"a")

    assert acquired(received[0]) == [(0, 0, 1)]
    assert values(received[0]) == [b"a"]


def test_a_fetch_ends_without_records_after_its_time() -> None:
    driver = ShareDriver()
    driver.join(1)
    received = driver.fetch(1, max_wait_ms=500)
    driver.advance(499)
    assert received == []

    driver.advance(1)

    assert (received[0].error_code, acquired(received[0])) == (ErrorCode.NONE, [])


def test_of_two_members_that_wait_one_gets_the_record_and_the_other_waits_on() -> None:
    driver = ShareDriver()
    driver.join(1)
    first, second = driver.fetch(1, max_wait_ms=500), driver.fetch(2, max_wait_ms=500)

    driver.produce(b"a")

    assert acquired(first[0]) == [(0, 0, 1)]
    assert second == []
    driver.produce(b"b")
    assert acquired(second[0]) == [(1, 1, 1)]


def test_released_records_wake_a_fetch() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a", b"b")
    driver.acquire(1)
    received = driver.fetch(2, max_wait_ms=500)
    assert received == []

    driver.acknowledge(1, (0, 1, [ACCEPT, RELEASE]))

    assert acquired(received[0]) == [(1, 1, 2)]


def test_an_expired_lock_wakes_a_fetch() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a")
    driver.acquire(1)
    received = driver.fetch(2, max_wait_ms=LOCK_MS * 2)

    driver.advance(LOCK_MS)

    assert acquired(received[0]) == [(0, 0, 2)]


def test_a_moved_leader_ends_the_wait() -> None:
    driver = ShareDriver(broker_count=2)
    driver.join(1)
    received = driver.fetch(1, max_wait_ms=500)

    driver.cluster.move_leader(driver.topic.partitions[0], 2, driver.now_ms)
    driver.advance(0)

    assert part(received[0]).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_only_the_batches_with_acquired_records_are_sent() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a", b"b")
    driver.produce(b"c")
    driver.produce(b"d")

    (response,) = driver.fetch(1, max_records=3)

    assert (acquired(response), values(response)) == ([(0, 2, 1)], [b"a", b"b", b"c"])


def test_very_many_batches_are_acquired_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (partition_log, partition_read):
        monkeypatch.setattr(module, "SHORT_BATCHES_MAX", 1)
    monkeypatch.setattr(partition_log, "RUN_BATCHES", 1)
    driver = ShareDriver()
    driver.join(1)
    for value in (b"a", b"b", b"c"):
        driver.produce(value)

    (response,) = driver.fetch(1)

    assert acquired(response) == [(0, 2, 1)]
    assert values(response) == [b"a", b"b", b"c"]


def test_deleted_records_are_skipped() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a")
    driver.produce(b"b")
    driver.acquire(1, max_records=1)
    driver.acknowledge(1, (0, 0, [RELEASE]))
    driver.cluster.delete_records_before(driver.topic.partitions[0], 1, driver.now_ms)

    (response,) = driver.fetch(1)

    assert (part(response).error_code if response.responses else 0, acquired(response)) == (0, [])
    assert driver.acquire(1) == [(1, 1, 1)]


def test_records_of_aborted_transactions_are_not_delivered_to_read_committed_groups() -> None:
    driver = ShareDriver()
    driver.configure("share.isolation.level", "read_committed")
    driver.join(1)
    log = driver.log
    driver.produce(b"x", b"y")
    driver.produce(b"a")
    batches = list(log.rewind())
    log.transaction_index.append(AbortedTransaction(7, 0, 1, 3))
    aborted = bytearray(batches[0])
    aborted[43:51] = (7).to_bytes(8)
    aborted[22] |= 0x10
    log.replace_batches([bytes(aborted), batches[1]], log.log_end_offset, 0)

    assert driver.acquire(1) == [(2, 2, 1)]
    assert driver.acknowledge_code(1, (0, 1, [ACCEPT])) == ErrorCode.INVALID_RECORD_STATE


def test_partitions_are_read_in_an_order_that_rotates() -> None:
    driver = ShareDriver(partition_count=2)
    driver.join(1)
    for index in (0, 1):
        driver.produce(b"a", partition_index=index)
        driver.produce(b"b", partition_index=index)

    def indexes(**fields: object) -> list[int]:
        (response,) = driver.fetch(1, max_records=1, **fields)  # type: ignore[arg-type]
        return [
            entry.partition_index
            for topic in response.responses
            for entry in topic.partitions
            if entry.acquired_records
        ]

    assert indexes(partitions=[0, 1]) == [0]
    assert indexes() == [1]


def test_a_fetch_acquires_nothing_when_its_connection_is_lost_while_it_reads() -> None:
    """The group has no session then, so the leader reads the state again for the next fetch."""
    driver = ShareDriver(partition_count=LOOK_EVERY + 1)
    driver.join(1)
    driver.produce(b"a", b"b")
    leader = driver.cluster.share.leaders[1]

    def lose_when_loaded() -> None:
        if leader.partitions:
            leader.disconnect(1, driver.now_ms)

    indexes = list(range(LOOK_EVERY + 1))
    (response,) = run_with_pauses(lambda: driver.fetch(1, partitions=indexes), lose_when_loaded)
    assert acquired(response) == []
    assert driver.acquire(2) == [(0, 1, 1)]
    driver.fetch(2, acknowledge=[(0, 1, [ACCEPT])])

    driver.advance(LOCK_MS + 1)  # no lock of the first fetch expires, which would release records
    assert driver.acquire(2) == []


def two_topics_request(*topics: Topic) -> Any:
    topic_class: Any = messages.ShareFetchRequest.FetchTopic
    partition_class = topic_class.FetchPartition
    return messages.ShareFetchRequest(
        group_id=GROUP,
        member_id=member_id(1),
        share_session_epoch=0,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1_000_000,
        max_records=100,
        batch_size=100,
        topics=[
            topic_class(
                topic_id=topic.topic_id,
                partitions=[partition_class(partition_index=0, acknowledgement_batches=[])],
            )
            for topic in topics
        ],
        forgotten_topics_data=[],
    )


def delete(cluster: Cluster, topic: Topic, now_ms: int) -> None:
    cluster.delete_topic(topic, now_ms)


def move(cluster: Cluster, topic: Topic, now_ms: int) -> None:
    cluster.move_leader(topic.partitions[0], 2, now_ms)


@pytest.mark.parametrize("change", [delete, move])
@pytest.mark.parametrize("other_age_ms", [0, 2 * HOUR_MS])
def test_a_topic_that_changes_while_another_one_is_loaded(
    change: Callable[[Cluster, Topic, int], None], other_age_ms: int
) -> None:
    """Finding the first record of a long log takes turns with other requests."""
    driver = ShareDriver(broker_count=2)
    driver.configure("share.auto.offset.reset", "by_duration:PT1H")
    cluster, now_ms = driver.cluster, driver.now_ms
    other = cluster.create_topic("u", [(1,)], {})
    first = driver.heartbeat(1, 0, [driver.topic.name, other.name])
    driver.heartbeat(1, first.member_epoch)
    driver.produce(b"x", timestamps=[now_ms])
    context = make_context(ApiKey.PRODUCE, 9, now_ms=now_ms)
    old = make_batch(b"v", timestamps=[now_ms - 2 * HOUR_MS])
    newest = make_batch(b"v", timestamps=[now_ms - other_age_ms])
    for batch in [old] * (64 * LOOK_EVERY) + [newest]:
        append_batch(context, cluster, other, other.partitions[0], batch, 0, len(batch))

    # The first two looks at the time are for the batch and the record of the first partition.
    (response,) = run_with_pauses(
        lambda: driver.send(two_topics_request(driver.topic, other)),
        at_pause(3, lambda: change(cluster, driver.topic, now_ms)),
    )

    assert response.error_code == ErrorCode.NONE
    found = {topic.topic_id: topic.partitions[0] for topic in response.responses}
    changed, unchanged = found[driver.topic.topic_id], found[other.topic_id]
    # Without records the response does not wait, and the deleted topic is not looked at again.
    is_unknown = change is delete and not other_age_ms
    assert changed.error_code == (ErrorCode.UNKNOWN_TOPIC_ID if is_unknown else ErrorCode.NONE)
    assert changed.acquired_records == []
    expected = ErrorCode.OFFSET_NOT_AVAILABLE if other_age_ms else ErrorCode.NONE
    assert (unchanged.error_code, len(unchanged.acquired_records)) == (
        expected,
        0 if other_age_ms else 1,
    )


class Looks:
    """Counts looks at share partitions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        can_acquire = SharePartition.can_acquire

        def counted(share_partition: SharePartition) -> bool:
            self.count += 1
            return can_acquire(share_partition)

        monkeypatch.setattr(SharePartition, "can_acquire", counted)


def test_an_append_costs_a_fetch_that_waits_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = ShareDriver(partition_count=50)
    driver.join(1)
    size_bytes = len(make_batch(b"a"))
    indexes = list(range(50))
    received = driver.fetch(1, partitions=indexes, max_wait_ms=500, min_bytes=10 * size_bytes)
    looks = Looks(monkeypatch)

    for index in range(9):
        driver.produce(b"a", partition_index=index % 3)

    assert received == []
    assert looks.count == 9
    driver.produce(b"a", partition_index=7)
    assert len(values(received[0])) >= 1


def test_records_that_another_member_has_taken_do_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = ShareDriver(partition_count=3)
    driver.join(1)
    size_bytes = len(make_batch(b"a"))
    received = driver.fetch(1, partitions=[0, 1, 2], max_wait_ms=500, min_bytes=4 * size_bytes)
    driver.produce(b"a", partition_index=0)
    driver.produce(b"a", partition_index=0)
    driver.fetch(2, partitions=[0])  # takes both
    looks, counts = Looks(monkeypatch), []

    for _ in range(4):
        driver.produce(b"a", partition_index=1)
        counts.append(looks.count)
        assert bool(received) == (len(counts) == 4)

    # At the second record there seemed to be enough: it looked at all partitions.
    assert counts[0] == 1
    assert counts[1] > 1 + 3
    assert counts[2] == counts[1] + 1


PAUSES = range(1, 25)


def waiting_fetch(bytes_min: int) -> tuple[ShareDriver, list[Any]]:
    """Return a fetch that waits at so many partitions that each loop over them pauses."""
    driver = ShareDriver(partition_count=2 * LOOK_EVERY)
    driver.join(1)
    indexes = list(range(2 * LOOK_EVERY))
    return driver, driver.fetch(1, partitions=indexes, max_wait_ms=500, min_bytes=bytes_min)


@pytest.mark.parametrize("number", PAUSES)
def test_what_changes_while_all_partitions_are_looked_at_counts(number: int) -> None:
    driver, received = waiting_fetch(2 * len(make_batch(b"a")))
    driver.produce(b"a", partition_index=0)
    driver.fetch(2, partitions=[0])  # takes it

    change = at_pause(number, lambda: driver.produce(b"a", partition_index=2))
    run_with_pauses(lambda: driver.produce(b"a", partition_index=1), change)
    driver.produce(b"a", partition_index=LOOK_EVERY + 1)

    assert received


@pytest.mark.parametrize("number", PAUSES)
def test_a_topic_that_is_deleted_while_the_wait_ends_hurts_nobody(number: int) -> None:
    driver, received = waiting_fetch(1)

    change = at_pause(number, partial(delete, driver.cluster, driver.topic, driver.now_ms))
    run_with_pauses(lambda: driver.produce(b"a", partition_index=1), change)
    driver.advance(0)

    assert received[0].error_code in {ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR}


def test_a_partition_of_very_many_batches_is_acquired_in_several_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(share_fetch, "BATCHES_MAX", 2)
    driver = ShareDriver()
    driver.join(1)
    for value in (b"a", b"b", b"c"):
        driver.produce(value)

    first, second = driver.fetch(1)[0], driver.fetch(1)[0]

    assert (acquired(first), values(first)) == ([(0, 1, 1)], [b"a", b"b"])
    assert (acquired(second), values(second)) == ([(2, 2, 1)], [b"c"])


def test_a_member_whose_session_ends_while_it_reads_acquires_nothing() -> None:
    """Another member has a session, so that the records in flight stay."""
    driver = ShareDriver(partition_count=LOOK_EVERY + 1)
    driver.join(1)
    driver.fetch(2, partitions=[0], connection_id=2)
    driver.produce(b"a", b"b")
    leader = driver.cluster.share.leaders[1]

    indexes = list(range(LOOK_EVERY + 1))
    (response,) = run_with_pauses(
        lambda: driver.fetch(1, partitions=indexes), lambda: leader.disconnect(1, driver.now_ms)
    )

    assert acquired(response) == []
    assert driver.acquire(2) == [(0, 1, 1)]


def test_a_record_that_another_member_finishes_while_a_fetch_pauses_is_delivered_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pacing, "LOOK_EVERY", 1)
    pause_count = 0

    def fetch_beside_another(number: int) -> list[int]:
        """Return the offsets that both got; the other one fetches in one of the pauses."""
        driver = ShareDriver(partition_count=2)
        driver.join(1)
        driver.fetch(2, partitions=[0])
        driver.produce(b"a")
        found: list[tuple[int, int, int]] = []

        def finish_all() -> None:
            driver.produce(b"b", b"c")
            found.extend(driver.acquire(2))
            first, last = found[0][0], found[-1][1]
            driver.fetch(2, acknowledge=[(first, last, [ACCEPT])])

        finish = at_pause(number, finish_all)

        def pause() -> None:
            nonlocal pause_count
            pause_count += number == 1
            finish()

        (response,) = run_with_pauses(lambda: driver.fetch(1, partitions=[0, 1]), pause)
        found += acquired(response)
        return sorted(offset for first, last, _ in found for offset in range(first, last + 1))

    assert fetch_beside_another(1) == [0, 1, 2]
    assert pause_count > 10
    for number in range(2, pause_count + 1):
        assert fetch_beside_another(number) == [0, 1, 2]


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_records_are_acquired_when_enough_replicas_have_them(reset: str) -> None:
    driver = ShareDriver(2)
    (partition,) = driver.topic.partitions
    driver.cluster.alter_topic_config(driver.topic, {"min.insync.replicas": "2"})
    driver.cluster.assign(partition, (1, 2), driver.now_ms)
    driver.configure("share.auto.offset.reset", reset)
    driver.join(1)
    assert driver.acquire(1) == []
    driver.produce(b"v")

    waiting = driver.fetch(1, max_wait_ms=500)
    assert waiting == []
    driver.cluster.set_isr(partition, (1, 2), driver.now_ms)
    driver.advance(0)
    assert acquired(waiting[0]) == [(0, 0, 1)]
