"""A reassignment ends when every broker that it moves to is up."""

from broker.administration.reassignment import cancel_reassignment, start_reassignment
from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.cluster.replicas import complete_reassignment, is_reassigning
from broker.cluster.topics import Partition
from tests.broker.cluster.stored_records import append
from tests.broker.cluster_builder import NOW_MS, make_cluster


def test_a_partition_without_a_reassignment_does_not_change() -> None:
    cluster = make_cluster(3)
    [partition] = cluster.create_topic("t", [(1, 2)], {}).partitions
    assert not is_reassigning(partition)
    assert not complete_reassignment(cluster, partition, NOW_MS)
    assert (partition.replicas, partition.leader_epoch) == ((1, 2), 0)


def test_a_reassignment_waits_for_the_broker_that_is_down() -> None:
    cluster = make_cluster(3)
    [partition] = cluster.create_topic("t", [(1, 2)], {}).partitions
    failover.stop_broker(cluster, 3, NOW_MS)
    partition.replicas = (3, 1, 2)
    partition.adding_replicas, partition.removing_replicas = (3,), (1, 2)
    assert is_reassigning(partition)
    assert not complete_reassignment(cluster, partition, NOW_MS)

    cluster.brokers[3].is_alive = True
    assert complete_reassignment(cluster, partition, NOW_MS)
    assert list(partition.replicas) == list(partition.isr) == [3]
    assert partition.leader_id == 3
    assert not is_reassigning(partition)


class Move:
    """Partitions on broker 1 that are moved to broker 2, each with a number of bytes."""

    def __init__(self, *sizes_bytes: int, **rates: int) -> None:
        self.cluster: Cluster = make_cluster(3, **{"broker.2.replica.fetch.max.bytes": "1000"})
        self.topic = self.cluster.create_topic("t", [(1,)] * len(sizes_bytes), {})
        for index, size_bytes in enumerate(sizes_bytes):
            append(self.cluster, self.topic, size_bytes, partition=index)
        for side in ("leader", "follower"):
            self.throttle(**{f"{side}.replication.throttled.replicas": "*"})
        for side, broker_id in (("leader", 1), ("follower", 2)):
            if side in rates:
                self.limit(side, broker_id, rates[side])
        self.now_ms = NOW_MS

    def throttle(self, **keys: str) -> None:
        overrides = {**self.topic.config.overrides, **keys}
        self.cluster.alter_topic_config(self.topic, overrides)

    def limit(self, side: str, broker_id: int, bytes_per_s: int) -> None:
        layer = {f"{side}.replication.throttled.rate": str(bytes_per_s)}
        self.cluster.set_config(self.cluster.config.with_dynamic(broker_id, layer))

    def start(self, index: int = 0) -> Partition:
        assert start_reassignment(self.cluster, "t", index, [2], self.now_ms) is None
        return self.topic.partitions[index]

    def seconds_until_moved(self, *partitions: Partition) -> list[int]:
        seconds = [0] * len(partitions)
        for second in range(1, 1000):
            moving = [number for number, p in enumerate(partitions) if is_reassigning(p)]
            if not moving:
                return seconds
            self.now_ms += 1000
            self.cluster.timers.run_due(self.now_ms)
            for number in moving:
                seconds[number] = second
        raise AssertionError("it moves for ever")


def test_a_throttled_move_takes_the_time_that_its_bytes_need() -> None:
    move = Move(10_000, leader=500)
    partition = move.start()
    assert (partition.replicas, partition.adding_replicas, partition.isr) == ((2, 1), (2,), (1,))
    # The first 1000 bytes come at once, and each 1000 take 2 s.
    assert move.seconds_until_moved(partition) == [18]
    assert (partition.replicas, partition.isr, partition.leader_id) == ((2,), (2,), 2)
    assert not move.cluster.quotas.replication.copies


def test_the_lower_rate_of_both_brokers_counts() -> None:
    move = Move(10_000, leader=1000, follower=250)
    assert move.seconds_until_moved(move.start()) == [36]


def test_partitions_share_the_rate_of_a_broker() -> None:
    move = Move(3000, 3000, follower=1000)
    partitions = [move.start(0), move.start(1)]
    last = max(move.seconds_until_moved(*partitions))
    assert last == 5


def test_a_move_of_less_than_a_fetch_is_not_delayed() -> None:
    move = Move(1000, leader=1)
    assert not is_reassigning(move.start())


def test_only_throttled_replicas_are_delayed() -> None:
    move = Move(10_000, leader=1)
    move.throttle(**{"leader.replication.throttled.replicas": "0:2,1:1"})
    assert not is_reassigning(move.start())
    move = Move(10_000, leader=1)
    move.throttle(**{"leader.replication.throttled.replicas": "0:1"})
    assert is_reassigning(move.start())


def test_a_rate_that_is_removed_lets_the_move_end() -> None:
    move = Move(10_000, leader=1)
    partition = move.start()
    move.cluster.set_config(move.cluster.config.with_dynamic(1, {}))
    assert move.seconds_until_moved(partition) == [1]


def test_a_cancelled_copy_begins_again() -> None:
    move = Move(3000, leader=1000)
    partition = move.start()
    assert cancel_reassignment(move.cluster, "t", 0, move.now_ms) is None
    assert (partition.replicas, partition.isr) == ((1,), (1,))
    assert not move.cluster.quotas.replication.copies
    assert is_reassigning(move.start())
    # The 1000 bytes that the cancelled copy took are owed for a second.
    assert move.seconds_until_moved(partition) == [3]


def test_a_copy_of_a_deleted_topic_is_forgotten() -> None:
    move = Move(3000, leader=1)
    move.start()
    move.cluster.delete_topic(move.topic, NOW_MS)
    move.cluster.timers.run_due(NOW_MS + 1000)
    assert not move.cluster.quotas.replication.copies
