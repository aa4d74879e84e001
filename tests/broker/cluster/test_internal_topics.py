"""Keys have the partitions that Kafka gives them, and records become batches."""

import pytest

from broker.cluster import batch_filter, compaction
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA, append_records, partition_for
from protocol.coordinator_records import CoordinatorRecord
from protocol.records import read_header, read_records
from tests.broker.cluster_builder import NOW_MS, make_cluster


@pytest.mark.parametrize(
    ("key", "hash_code"),
    [
        ("", 0),
        ("a", 97),
        ("billing", -109829509),
        ("polygenelubricants", -(1 << 31)),
        ("grüße", 98768023),
        ("\U0001f600", 1772899),
    ],
)
def test_the_partition_of_a_key_is_the_absolute_hash_code_of_java(key: str, hash_code: int) -> None:
    # The codes are what Java prints. The smallest int has no absolute value, and Kafka takes 0.
    expected = 0 if hash_code == -(1 << 31) else abs(hash_code)
    for partition_count in (1, 50, 1 << 31):
        assert partition_for(key, partition_count) == expected % partition_count


@pytest.mark.parametrize("codec", range(5))
def test_records_are_batches_of_the_configured_codec_and_size(codec: int) -> None:
    cluster = make_cluster(1, **{"message.max.bytes": "500"})
    topic = ensure_internal_topic(cluster, GROUP_METADATA)
    assert topic is not None
    partition = topic.partitions[0]
    partition.leader_epoch = 4
    records: list[CoordinatorRecord] = [(b"key %d" % n, b"v" * 100) for n in range(10)]

    append_records(topic, partition, [*records, (b"key 0", None)], codec, NOW_MS)
    append_records(topic, partition, [(b"large", b"x" * 1000)], codec, NOW_MS + 1)

    batches = list(partition.log.rewind())
    assert len(batches) > 3
    found = [record for batch in batches for record in read_records(batch)]
    assert [(record.key, record.value) for record in found] == [
        *records,
        (b"key 0", None),
        (b"large", b"x" * 1000),
    ]
    assert [record.offset for record in found] == list(range(12))
    assert [record.timestamp for record in found] == [NOW_MS] * 11 + [NOW_MS + 1]
    for batch in batches[:-1]:
        header = read_header(batch, 0)
        assert len(batch) <= 500
        assert header.partition_leader_epoch == 4
        assert (header.producer_id, header.base_sequence) == (-1, 0)


def test_records_wake_fetches_that_wait_and_do_not_count_as_records_of_users() -> None:
    cluster = make_cluster(1)
    topic = ensure_internal_topic(cluster, GROUP_METADATA)
    assert topic is not None
    woken: list[int] = []
    topic.partitions[7].log.wait(woken.append)
    append_records(topic, topic.partitions[7], [(b"k", b"v")], 0, NOW_MS)
    assert woken == [NOW_MS]
    assert cluster.log_bytes == 0


def test_a_compaction_of_many_records_goes_on_in_short_steps_of_a_timer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (compaction, batch_filter):
        monkeypatch.setattr(module, "RECORDS_PER_STEP", 100)
    cluster = make_cluster(1)
    topic = ensure_internal_topic(cluster, GROUP_METADATA)
    assert topic is not None
    partition = topic.partitions[0]
    records: list[CoordinatorRecord] = [(b"key %d" % n, b"1") for n in range(2000)]
    append_records(topic, partition, records, 0, NOW_MS)
    append_records(topic, partition, records[:1200], 0, NOW_MS)
    assert not len(cluster.timers)

    append_records(topic, partition, records[:1200], 0, NOW_MS)
    now_ms = NOW_MS
    while (due_ms := cluster.timers.next_due_ms()) is not None:
        assert due_ms == now_ms + 1
        now_ms = due_ms
        # What comes between two steps stays, and begins no other compaction.
        append_records(topic, partition, [(b"key 1999", b"%d" % now_ms)], 0, now_ms)
        assert len(cluster.timers) == 1
        cluster.timers.run_due(now_ms)

    steps = now_ms - NOW_MS
    assert steps >= (2000 + 800) // 100
    found = [record for batch in partition.log.rewind() for record in read_records(batch)]
    assert len(found) == 1999 + steps
    assert {record.key: record.value for record in found} == {
        **dict(records),
        b"key 1999": b"%d" % now_ms,
    }
