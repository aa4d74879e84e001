"""Freeing memory; `test_cluster` has the bound of all logs."""

from broker.cluster.log_memory import drop_from_largest
from tests.batches import filled_batch
from tests.broker.cluster.stored_records import append
from tests.broker.cluster_builder import make_cluster


def test_the_largest_partition_loses_its_oldest_batches_first() -> None:
    cluster = make_cluster(1)
    small = cluster.create_topic("small", [(1,)], {})
    large = cluster.create_topic("large", [(1,)], {})
    internal = cluster.create_topic("__consumer_offsets", [(1,)], {})
    for offset in range(4):
        large.partitions[0].log.append(filled_batch(offset, size_bytes=100), 1, 0)
        internal.partitions[0].log.append(filled_batch(offset, size_bytes=200), 1, 0)
    append(cluster, small, 100)
    append(cluster, small, 100)

    assert drop_from_largest(cluster.topics.all(), 150) == 200
    assert large.partitions[0].log.log_start_offset == 2
    assert drop_from_largest(cluster.topics.all(), 10_000) == 200
    assert internal.partitions[0].log.size_bytes == 800
