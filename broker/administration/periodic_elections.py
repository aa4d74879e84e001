"""Elections that the controller begins by itself: of preferred leaders, and unclean ones.

Sources: Kafka's `QuorumController.registerElectPreferred` and `registerElectUnclean`,
`ReplicationControlManager.maybeBalancePartitionLeaders` and `maybeElectUncleanLeaders`. Without
KRaft a share of partitions was tolerated (`leader.imbalance.per.broker.percentage`); KRaft moves
every leader.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from broker.administration.election import ElectionType, elect_leader
from broker.cluster.cluster import Cluster
from broker.cluster.controller_queue import ControllerEvent
from broker.cluster.eligible_leaders import clean_leader
from broker.cluster.topics import NO_LEADER, Partition, Topic
from broker.timers import PeriodicTask
from protocol.pacing import may_pause

ELECTIONS_PER_TURN = 500
"""To elect this many leaders takes a few milliseconds."""

IsDue = Callable[[Cluster, Topic, Partition], bool]


class _Task(NamedTuple):
    """The periodic elections of one type; `is_due` says whether a partition may get a leader."""

    name: str
    election_type: ElectionType
    is_due: IsDue


def start_periodic_elections(cluster: Cluster, now_ms: int) -> None:
    """Start the tasks, which repeat until the cluster's timers are cleared."""
    config = cluster.config
    if config["auto.leader.rebalance.enable"]:
        preferred = _Task("electPreferred", ElectionType.PREFERRED, _can_rebalance)
        _start(cluster, preferred, config["leader.imbalance.check.interval.seconds"] * 1000, now_ms)
    unclean = _Task("electUnclean", ElectionType.UNCLEAN, _may_be_unclean)
    _start(cluster, unclean, config["unclean.leader.election.interval.ms"], now_ms)


def _start(cluster: Cluster, task: _Task, interval_ms: int, now_ms: int) -> None:
    PeriodicTask(
        cluster.timers,
        interval_ms,
        lambda now_ms: _turns(cluster, task, now_ms),
        lambda: 0 if next(_due(cluster, task.is_due), None) else None,
    ).start(now_ms + interval_ms)


def _can_rebalance(cluster: Cluster, _topic: Topic, partition: Partition) -> bool:
    """Return whether the first replica could lead in place of another.

    A partition without a leader gets one with the broker that could be it, unless a test has taken
    its leader away, which stays so.
    """
    if partition.leader_id in {partition.replicas[0], NO_LEADER}:
        return False
    return clean_leader(partition, partition.replicas[:1], cluster.is_alive) != NO_LEADER


def _may_be_unclean(cluster: Cluster, topic: Topic, partition: Partition) -> bool:
    """Return whether a replica could become leader that may not have every record."""
    return (
        partition.leader_id == NO_LEADER
        and topic.config["unclean.leader.election.enable"]
        and any(map(cluster.is_alive, partition.replicas))
        and clean_leader(partition, partition.replicas, cluster.is_alive) == NO_LEADER
    )


def _due(cluster: Cluster, is_due: IsDue) -> Iterator[tuple[str, int]]:
    """Yield the partitions whose leader can change, by their names."""
    for topic in cluster.topics.all():
        for partition in topic.partitions:
            if is_due(cluster, topic, partition):
                yield topic.name, partition.partition_index


@may_pause
def _turns(cluster: Cluster, task: _Task, begun_ms: int) -> Iterator[None]:
    found = list(_due(cluster, task.is_due))
    for start in range(0, len(found), ELECTIONS_PER_TURN):
        some = found[start : start + ELECTIONS_PER_TURN]
        elect = partial(_elect, cluster, some, task.election_type)
        cluster.controller_queue.submit(ControllerEvent(task.name, elect), begun_ms)
        yield


@may_pause
def _elect(
    cluster: Cluster,
    partitions: Sequence[tuple[str, int]],
    election_type: ElectionType,
    now_ms: int,
) -> None:
    for topic_name, partition_index in partitions:
        elect_leader(cluster, topic_name, partition_index, election_type, now_ms)
