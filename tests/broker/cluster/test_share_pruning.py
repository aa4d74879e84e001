"""Share coordinators prune their log, and write snapshots of cold states."""

from broker.cluster.background_tasks import start_background_tasks
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import SHARE_GROUP_STATE
from broker.cluster.share_pruning import COLD_KEY, PRUNE_KEY
from broker.cluster.topics import Partition
from broker.share_groups.share_state import SharePartitionKey
from protocol.coordinator_records import SHARE_RECORDS, decode_key
from protocol.records import read_records
from tests.broker.cluster_builder import NOW_MS, make_cluster

SECOND_MS = 1000


class Coordinator:
    """The states of two groups in one partition of the log."""

    def __init__(self, **overrides: str) -> None:
        config = {"share.coordinator.state.topic.num.partitions": "1", **overrides}
        self.cluster: Cluster = make_cluster(1, **config)
        topic = self.cluster.create_topic("t", [(1,)], {})
        internal = ensure_internal_topic(self.cluster, SHARE_GROUP_STATE)
        assert internal is not None
        self.partition: Partition = internal.partitions[0]
        self.keys = [SharePartitionKey(group_id, topic.topic_id, 0) for group_id in ("a", "b")]
        start_background_tasks(self.cluster, NOW_MS)

    def initialize(self, number: int, state_epoch: int, now_ms: int = NOW_MS) -> None:
        states = self.cluster.share.states
        assert states.initialize(self.keys[number], state_epoch, 0, now_ms) is None

    def write(self, number: int) -> None:
        refusal = self.cluster.share.states.write(
            self.keys[number],
            state_epoch=1,
            leader_epoch=0,
            start_offset=0,
            state_batches=(),
            now_ms=NOW_MS,
        )
        assert refusal is None

    def advance(self, seconds: int) -> None:
        self.cluster.timers.run_due(NOW_MS + seconds * SECOND_MS)

    @property
    def groups(self) -> list[tuple[int, str, str]]:
        """The offset, the type and the group of each record that can be read."""
        found = []
        for batch in self.partition.log.rewind():
            for record in read_records(batch):
                key = decode_key(SHARE_RECORDS, record.key or b"")
                name = type(key).__name__.removesuffix("Key").removeprefix("Share")
                found.append((record.offset, name, key.group_id))
        return found


def test_records_before_the_oldest_last_snapshot_are_pruned() -> None:
    coordinator = Coordinator(**{PRUNE_KEY: "5000", COLD_KEY: "1000000"})
    coordinator.initialize(0, 1)
    coordinator.initialize(1, 1)
    coordinator.write(1)
    coordinator.advance(5)
    assert coordinator.partition.log.log_start_offset == 0  # the first snapshot is still needed

    coordinator.initialize(0, 2)
    coordinator.advance(9)
    assert coordinator.partition.log.log_start_offset == 0
    coordinator.advance(10)

    assert coordinator.partition.log.log_start_offset == 1
    assert [offset for offset, _, _ in coordinator.groups] == [1, 2, 3]


def test_after_the_deletion_of_all_states_only_the_last_tombstone_stays() -> None:
    coordinator = Coordinator(**{PRUNE_KEY: "5000", COLD_KEY: "1000000"})
    for number in (0, 1):
        coordinator.initialize(number, 1)
    for number in (0, 1):
        coordinator.cluster.share.states.delete(coordinator.keys[number], NOW_MS)
    coordinator.advance(5)
    assert coordinator.groups == [(3, "Snapshot", "b")]


def test_a_cold_state_gets_a_snapshot_at_each_interval_until_all_are_cold() -> None:
    coordinator = Coordinator(**{PRUNE_KEY: "100000000", COLD_KEY: "5000"})
    coordinator.initialize(0, 1)
    coordinator.advance(4)
    assert len(coordinator.groups) == 1
    coordinator.advance(60)
    assert len(coordinator.groups) == 2

    coordinator.initialize(1, 1, NOW_MS + 61 * SECOND_MS)
    coordinator.advance(65)
    assert coordinator.groups[2:] == [(2, "Snapshot", "b"), (3, "Snapshot", "a")]
    coordinator.advance(70)
    assert coordinator.groups[4:] == [(4, "Snapshot", "a"), (5, "Snapshot", "b")]
    coordinator.advance(3600)
    assert len(coordinator.groups) == 6


def test_pruning_and_cold_snapshots_bound_the_log_together() -> None:
    coordinator = Coordinator(**{PRUNE_KEY: "5000", COLD_KEY: "5000"})
    for number in (0, 1):
        coordinator.initialize(number, 1)
    for _ in range(100):
        coordinator.write(0)
    coordinator.advance(5)
    coordinator.advance(10)
    assert coordinator.groups == [(102, "Snapshot", "a"), (103, "Snapshot", "b")]
