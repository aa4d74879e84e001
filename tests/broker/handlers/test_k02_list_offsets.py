"""ListOffsets: latest, earliest, by time, and timestamps that a version lacks."""

import pytest

from broker.cluster.cluster import Cluster
from broker.produce.append import append_batch
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import LOOK_EVERY
from tests.batches import altered, make_batch
from tests.broker.cluster_builder import NOW_MS, call, make_cluster, make_context
from tests.broker.interleaving import run_with_pauses

VERSIONS = range(1, 12)
_Topic = messages.ListOffsetsRequest.ListOffsetsTopic


@pytest.fixture(params=["none", "gzip"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """Offsets 0 to 5 with the times 10, 20, 50, 40, 50, 30 in three batches."""
    made = make_cluster(1)
    topic = made.create_topic("t", [(1,), (1,)], {})
    partition = topic.partitions[0]
    context = make_context(ApiKey.PRODUCE, 9)
    for times in ([10, 20], [50, 40], [50, 30]):
        batch = make_batch(b"x" * 99, b"x" * 99, timestamps=times, codec=request.param)
        append_batch(context, made, topic, partition, batch, 0, len(batch))
    return made


def ask(
    cluster: Cluster, *timestamps: int, version: int = 7, partition: int = 0, epoch: int = -1
) -> list[tuple[int, int, int]]:
    request = messages.ListOffsetsRequest(
        version=version,
        replica_id=-1,
        topics=[
            _Topic(
                version=version,
                name="t",
                partitions=[
                    _Topic.ListOffsetsPartition(
                        version=version,
                        partition_index=partition + index,
                        current_leader_epoch=epoch,
                        timestamp=timestamp,
                    )
                    for index, timestamp in enumerate(timestamps)
                ],
            )
        ],
    )
    (topic,) = call(cluster, request, version).topics
    return [(part.error_code, part.offset, part.timestamp) for part in topic.partitions]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_finds_latest_earliest_and_offsets_by_time(
    cluster: Cluster, version: int
) -> None:
    assert ask(cluster, -1, -1, version=version) == [(0, 6, -1), (0, 0, -1)]
    assert ask(cluster, -2, -2, version=version) == [(0, 0, -1), (0, 0, -1)]
    assert ask(cluster, 20, version=version) == [(0, 1, 20)]
    assert ask(cluster, 21, version=version) == [(0, 2, 50)]
    assert ask(cluster, 51, version=version) == [(0, -1, -1)]


@pytest.mark.parametrize(
    ("timestamp", "version_min", "response"),
    [(-3, 7, (0, 2, 50)), (-4, 8, (0, 0, -1)), (-5, 9, (0, -1, -1)), (-6, 11, (0, -1, -1))],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_special_timestamps_begin_with_their_version(
    cluster: Cluster, version: int, timestamp: int, version_min: int, response: tuple[int, int, int]
) -> None:
    expected = response if version >= version_min else (ErrorCode.UNSUPPORTED_VERSION, -1, -1)
    assert ask(cluster, timestamp, version=version) == [expected]


def test_any_other_negative_timestamp_is_unsupported(cluster: Cluster) -> None:
    assert ask(cluster, -7, version=11) == [(ErrorCode.UNSUPPORTED_VERSION, -1, -1)]


def test_a_batch_that_cannot_be_decompressed_counts_as_its_last_record(cluster: Cluster) -> None:
    topic = cluster.topics.get("t")
    assert topic is not None
    batch = make_batch(b"x" * 99, b"x" * 99, timestamps=[60, 70], codec="gzip")
    damaged = altered(batch, 70, ">q", 12345)
    topic.partitions[0].log.append(altered(damaged, 0, ">q", 6), 2, 0)

    assert ask(cluster, 60) == ask(cluster, -3) == [(0, 7, 70)]
    assert ask(cluster, 50) == [(0, 2, 50)]


def test_a_compressed_record_above_the_limit_ends_a_search_by_time() -> None:
    cluster = make_cluster(1, **{"broker.api.versions": "4.4"})
    topic = cluster.create_topic("t", [(1,)], {})
    batch = make_batch(b"x" * 9, b"x" * 99, b"x", timestamps=[60, 70, 65], codec="gzip")
    context = make_context(ApiKey.PRODUCE, 9)
    append_batch(context, cluster, topic, topic.partitions[0], batch, 0, len(batch))
    assert ask(cluster, 70) == ask(cluster, -3) == [(0, 1, 70)]

    cluster.alter_topic_config(topic, {"max.decompressed.message.bytes": "50"})

    assert ask(cluster, 60) == [(0, 0, 60)]
    assert ask(cluster, 70) == ask(cluster, -3) == [(ErrorCode.INVALID_RECORD, -1, -1)]


def test_deleted_records_are_not_found_by_time(cluster: Cluster) -> None:
    topic = cluster.topics.get("t")
    assert topic is not None
    cluster.delete_records_before(topic.partitions[0], 3, NOW_MS)

    assert ask(cluster, -2) == [(0, 3, -1)]
    assert ask(cluster, 0) == [(0, 3, 40)]
    # As with Kafka the latest one is found until its segment goes.
    assert ask(cluster, -3) == [(0, 2, 50)]


def test_records_without_a_time_end_the_search_in_their_segment() -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("t", [(1,)], {"segment.ms": "1000"})
    context = make_context(ApiKey.PRODUCE, 9)
    found = []
    for times in ([-5], [-1], [NOW_MS - 9000], [NOW_MS]):
        batch = make_batch(b"x", timestamps=times)
        append_batch(context, cluster, topic, topic.partitions[0], batch, 0, len(batch))
        found.append((*ask(cluster, -3), *ask(cluster, NOW_MS - 9000), *ask(cluster, NOW_MS)))
    none, early, late = (0, -1, -1), (0, 2, NOW_MS - 9000), (0, 3, NOW_MS)
    # The first three are in one segment.
    assert found == [(none,) * 3, (none,) * 3, (early, early, none), (late, early, late)]


def test_a_record_with_the_time_minus_one_is_the_latest_of_its_kind() -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("t", [(1,)], {"segment.ms": "1000"})
    batch = make_batch(b"x", b"x", timestamps=[-5, -1])
    context = make_context(ApiKey.PRODUCE, 9)
    append_batch(context, cluster, topic, topic.partitions[0], batch, 0, len(batch))
    assert ask(cluster, -3) == [(0, 1, -1)]


def test_unknown_partitions_and_foreign_epochs_get_kafkas_errors(cluster: Cluster) -> None:
    assert ask(cluster, -1, partition=7) == [(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)]
    assert ask(cluster, -1, epoch=3) == [(ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)]


def test_a_duplicate_partition_gets_one_invalid_request(cluster: Cluster) -> None:
    part = _Topic.ListOffsetsPartition(
        version=7, partition_index=0, current_leader_epoch=-1, timestamp=-1
    )
    request = messages.ListOffsetsRequest(
        version=7, replica_id=-1, topics=[_Topic(version=7, name="t", partitions=[part, part])]
    )
    (topic,) = call(cluster, request, 7).topics
    assert [p.error_code for p in topic.partitions] == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize("timestamp", [-1, -2, -4])
def test_an_empty_partition_has_the_epoch_of_its_leader(timestamp: int) -> None:
    cluster = make_cluster(1)
    cluster.create_topic("t", [(1,)], {}).partitions[0].leader_epoch = 7
    requested = _Topic.ListOffsetsPartition(version=8, timestamp=timestamp)
    request = messages.ListOffsetsRequest(
        version=8, replica_id=-1, topics=[_Topic(version=8, name="t", partitions=[requested])]
    )
    ((partition,),) = [topic.partitions for topic in call(cluster, request, 8).topics]
    assert (partition.offset, partition.leader_epoch) == (0, 7)


@pytest.mark.parametrize("timestamp", [1 << 40, -3])
def test_a_search_pauses_within_a_batch_of_many_records(timestamp: int) -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("t", [(1,)], {})
    times = [*range(999), 1 << 40]
    batch = make_batch(*[b"x"] * 1000, timestamps=times)
    append_batch(
        make_context(ApiKey.PRODUCE, 9), cluster, topic, topic.partitions[0], batch, 0, len(batch)
    )
    pauses: list[None] = []
    found = run_with_pauses(lambda: ask(cluster, timestamp), lambda: pauses.append(None))
    assert found == [(0, 999, 1 << 40)]
    assert len(pauses) > 1000 // LOOK_EVERY


def test_batches_that_are_deleted_during_a_pause_do_not_confuse_a_search(cluster: Cluster) -> None:
    topic = cluster.topics.get("t")
    assert topic is not None
    log = topic.partitions[0].log
    found = run_with_pauses(
        lambda: [ask(cluster, timestamp) for timestamp in (25, -3)], lambda: log.advance_start(6)
    )
    assert [error_code for ((error_code, _, _),) in found] == [0, 0]
