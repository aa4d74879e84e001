"""Dead letters and the queue of their group."""

from typing import Any

import pytest

from broker.fetch.dead_letter_queue import BACKOFF_MAX_MS, BACKOFF_MS, RECORDS_PER_STEP, backoff_ms
from protocol.errors import ErrorCode
from protocol.records import COMPRESSION_NAMES, Record, read_header, read_records
from tests.broker.cluster_builder import NOW_MS
from tests.broker.share_driver import (
    ACCEPT,
    GROUP,
    LOCK_MS,
    REJECT,
    RELEASE,
    TOPIC,
    ShareDriver,
)

QUEUE = "dlq.t"


def dead_driver(*, has_queue: bool = True, **overrides: Any) -> ShareDriver:
    """Return a driver whose group has a dead letter queue of two partitions."""
    driver = ShareDriver(**overrides)
    driver.configure("errors.deadletterqueue.topic.name", QUEUE)
    if has_queue:
        create_queue(driver)
    driver.join(1)
    return driver


def create_queue(driver: ShareDriver, **config: str) -> None:
    enabled = {"errors.deadletterqueue.group.enable": "true"}
    driver.cluster.create_topic(QUEUE, [(1,), (1,)], enabled | config)


def queued(driver: ShareDriver, partition_index: int = 0) -> list[Record]:
    topic = driver.cluster.topics.get(QUEUE)
    if topic is None:
        return []
    log = topic.partitions[partition_index].log
    batches = log.read(0, 1 << 20, at_least_one=True) if log.log_end_offset else []
    return [record for batch in batches for record in read_records(batch)]


def offsets(driver: ShareDriver, partition_index: int = 0) -> list[int]:
    return [
        int(dict(record.headers)["__dlq.errors.offset"] or b"")
        for record in queued(driver, partition_index)
    ]


def reject(driver: ShareDriver, *values: bytes) -> None:
    driver.produce(*values)
    ((first, last, _count),) = driver.acquire(1)
    assert driver.acknowledge_code(1, (first, last, [REJECT])) == ErrorCode.NONE
    take_steps(driver)


def take_steps(driver: ShareDriver) -> None:
    for _ in range(5):
        driver.advance(1)


def start(driver: ShareDriver) -> int:
    (led,) = driver.cluster.share.leaders[1].partitions.values()
    return led.share_partition.start_offset


def test_a_rejected_record_is_written_with_headers_and_then_archived() -> None:
    driver = dead_driver()
    driver.produce(b"a", b"b")
    driver.acquire(1)
    driver.acknowledge(1, (0, 1, [REJECT, ACCEPT]))
    assert start(driver) == 0

    take_steps(driver)

    (record,) = queued(driver)
    assert (record.key, record.value, record.timestamp) == (None, None, NOW_MS + 1)
    assert list(record.headers) == [
        ("__dlq.errors.topic", TOPIC.encode()),
        ("__dlq.errors.partition", b"0"),
        ("__dlq.errors.offset", b"0"),
        ("__dlq.errors.group", GROUP.encode()),
        ("__dlq.errors.delivery.count", b"1"),
        ("__dlq.errors.message", b"Offset rejected by client."),
    ]
    assert start(driver) == 2


def test_a_record_after_its_last_delivery_is_a_dead_letter() -> None:
    driver = dead_driver()
    driver.configure("share.delivery.count.limit", "2")
    driver.produce(b"a")
    driver.acquire(1)
    driver.acknowledge(1, (0, 0, [RELEASE]))
    driver.acquire(1)
    driver.advance(LOCK_MS)
    take_steps(driver)

    (record,) = queued(driver)
    assert dict(record.headers)["__dlq.errors.delivery.count"] == b"2"
    assert dict(record.headers)["__dlq.errors.message"] == (
        b"Offset delivery count exceeded the threshold."
    )
    assert driver.acquire(1) == []


@pytest.mark.parametrize("name", COMPRESSION_NAMES[1:])
def test_dead_letters_are_compressed_as_their_queue_asks(name: str) -> None:
    driver = dead_driver(has_queue=False)
    create_queue(driver, **{"compression.type": name})
    driver.configure("errors.deadletterqueue.copy.record.enable", "true")

    reject(driver, b"a" * 1000, b"b" * 1000)

    topic = driver.cluster.topics.get(QUEUE)
    assert topic is not None
    (batch,) = topic.partitions[0].log.rewind()
    assert COMPRESSION_NAMES[read_header(batch, 0).attributes & 7] == name
    assert len(batch) < 1000
    assert [record.value for record in queued(driver)] == [b"a" * 1000, b"b" * 1000]


@pytest.mark.parametrize("is_copied", [False, True])
def test_a_group_may_have_copies_of_its_dead_letters(is_copied: bool) -> None:
    driver = dead_driver()
    driver.configure("errors.deadletterqueue.copy.record.enable", str(is_copied).lower())

    reject(driver, b"a", b"b")

    copied = [b"a", b"b"] if is_copied else [None, None]
    assert [record.value for record in queued(driver)] == copied


def test_a_record_that_is_too_large_for_the_queue_is_not_copied() -> None:
    driver = dead_driver(has_queue=False)
    create_queue(driver, **{"max.message.bytes": "1000"})
    driver.configure("errors.deadletterqueue.copy.record.enable", "true")

    reject(driver, b"x" * 2000)

    assert [record.value for record in queued(driver)] == [None]


def test_partitions_of_the_queue_are_those_of_the_topic_modulo_their_number() -> None:
    driver = dead_driver(partition_count=4)
    driver.produce(b"v", partition_index=3)
    driver.acquire(1, partitions=[0, 1, 2, 3])
    driver.fetch(1, partitions=[3], acknowledge=[(0, 0, [REJECT])])
    take_steps(driver)

    assert [len(queued(driver, index)) for index in (0, 1)] == [0, 1]


def test_many_dead_letters_are_written_in_steps() -> None:
    driver = dead_driver()
    count = 2 * RECORDS_PER_STEP + 1

    reject(driver, *[b"v"] * count)

    assert offsets(driver) == list(range(count))
    assert start(driver) == count


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("dlq.missing", {}),
        ("other", {}),
        (QUEUE, {"errors.deadletterqueue.group.enable": "false"}),
    ],
)
def test_without_a_valid_topic_dead_letters_are_archived(name: str, config: dict[str, str]) -> None:
    driver = dead_driver(has_queue=False)
    create_queue(driver, **config)
    driver.configure("errors.deadletterqueue.topic.name", name)

    reject(driver, b"a")

    assert queued(driver) == []
    assert start(driver) == 1


def test_the_queue_is_created_if_the_brokers_may() -> None:
    driver = dead_driver(has_queue=False, errors_deadletterqueue_auto_create_topics_enable="true")

    reject(driver, b"a")

    assert offsets(driver) == [0]
    topic = driver.cluster.topics.get(QUEUE)
    assert topic is not None
    assert topic.config.overrides == {
        "errors.deadletterqueue.group.enable": "true",
        "message.timestamp.type": "CreateTime",
    }


def test_a_queue_without_a_leader_is_tried_again() -> None:
    driver = dead_driver()
    topic = driver.cluster.topics.get(QUEUE)
    assert topic is not None
    topic.partitions[0].leader_id = -1
    reject(driver, b"a")
    assert start(driver) == 0

    topic.partitions[0].leader_id = 1
    driver.advance(BACKOFF_MS)
    take_steps(driver)
    assert start(driver) == 0
    driver.advance(2 * BACKOFF_MS)
    take_steps(driver)

    assert offsets(driver) == [0]
    assert start(driver) == 1


def test_after_five_attempts_dead_letters_are_archived_in_any_case() -> None:
    driver = dead_driver()
    topic = driver.cluster.topics.get(QUEUE)
    assert topic is not None
    topic.partitions[0].leader_id = -1
    reject(driver, b"a")

    for exponent in (1, 2, 3, 4):
        assert start(driver) == 0
        driver.advance((BACKOFF_MS << exponent) * 6 // 5)
        take_steps(driver)

    assert start(driver) == 1


def test_the_time_until_the_next_attempt_varies_by_a_fifth_up_and_down() -> None:
    assert [backoff_ms(1, random) for random in (0, 400, 799, 800)] == [1600, 2000, 2399, 1600]
    assert (backoff_ms(4, 0), backoff_ms(4, 6399)) == (12_800, 19_199)
    assert backoff_ms(6, 0) == BACKOFF_MAX_MS


def test_two_queues_do_not_wait_equally_long() -> None:
    def waited_ms(partition_index: int) -> int:
        driver = dead_driver()
        for _ in range(partition_index):
            driver.cluster.new_uuid()
        topic = driver.cluster.topics.get(QUEUE)
        assert topic is not None
        topic.partitions[0].leader_id = -1
        reject(driver, b"a")
        topic.partitions[0].leader_id = 1
        begin_ms = driver.now_ms
        while start(driver) == 0:
            driver.advance(1)
        return driver.now_ms - begin_ms

    assert waited_ms(0) != waited_ms(1)


def test_a_new_leader_goes_on_with_dead_letters() -> None:
    driver = dead_driver()
    driver.produce(b"a", b"b")
    driver.acquire(1)
    driver.acknowledge(1, (0, 0, [REJECT]))
    leader = driver.cluster.share.leaders[1]
    driver.cluster.timers.clear()
    leader.clear(driver.now_ms)

    driver.acquire(1, epoch=0)
    take_steps(driver)

    assert offsets(driver) == [0]


@pytest.mark.parametrize("release", ["4.3", "4.4"])
def test_before_share_version_2_there_is_no_queue(release: str) -> None:
    driver = dead_driver(cluster_features="share.version=1", broker_api_versions=release)

    reject(driver, b"a")

    assert queued(driver) == []
    assert start(driver) == 1
