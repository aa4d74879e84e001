"""What a cluster makes of a broker that goes down or comes back: in-sync replicas and leaders.

Sources: Kafka's `ReplicationControlManager.handleBrokerFenced`, `handleBrokerUnfenced` and
`PartitionChangeBuilder`.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from broker.cluster.replicas import complete_reassignment
from broker.cluster.topics import NO_LEADER, Partition, Topic

if TYPE_CHECKING:
    from broker.cluster.cluster import Broker, Cluster


def coordinator_of(
    key: str,
    brokers: Mapping[int, "Broker"],
    first_node_ids: Sequence[int],
    moved: Mapping[str, int],
) -> int | None:
    """The broker to coordinate a group or transactional id: moved there, or the key's own.

    That is one of those there were from the start: a broker that is added takes nothing from the
    others. When it is down it is the next, so that what others coordinate stays; None if none is
    up.
    """
    first = zlib.crc32(key.encode()) % len(first_node_ids)
    in_turn = (*first_node_ids[first:], *first_node_ids[:first], *brokers)
    if key in moved:
        in_turn = (moved[key], *in_turn)
    return next((n for n in in_turn if n in brokers and brokers[n].is_alive), None)


def take_away(cluster: "Cluster", node_id: int, now_ms: int) -> None:
    """Have the others notice that a broker is gone: it leaves ISRs, and what it led is led anew.

    It stays in those ISRs that it is the last of, whose partitions wait for it without a leader.
    """
    cluster.brokers[node_id].is_alive = False
    if cluster.controller_id == node_id:
        cluster.controller_id = next(iter(cluster.alive_broker_ids()), NO_LEADER)
    for topic, partition in _partitions(cluster):
        rest = tuple(n for n in partition.isr if n != node_id)
        partition.isr = rest or partition.isr
        if partition.leader_id == node_id:
            _elect(cluster, topic, partition, now_ms)


def bring_back(cluster: "Cluster", node_id: int, now_ms: int) -> None:
    """Take a broker in again: in sync at once, since replicas share their log."""
    cluster.brokers[node_id].is_alive = True
    if cluster.controller_id == NO_LEADER:
        cluster.controller_id = node_id
    for topic, partition in _partitions(cluster):
        if node_id not in partition.replicas:
            continue
        partition.isr = partition.isr or (node_id,)
        if partition.leader_id == NO_LEADER:
            _elect(cluster, topic, partition, now_ms)
        if partition.leader_id != NO_LEADER:
            partition.isr = tuple(filter(cluster.is_alive, partition.replicas))
        complete_reassignment(cluster, partition, now_ms)


def _elect(cluster: "Cluster", topic: Topic, partition: Partition, now_ms: int) -> None:
    """Have the first replica lead that is up and in sync; or, where topics may, just up."""
    alive = list(filter(cluster.is_alive, partition.replicas))
    leader_id = next((n for n in alive if n in partition.isr), NO_LEADER)
    if leader_id == NO_LEADER and alive and topic.config["unclean.leader.election.enable"]:
        leader_id = alive[0]
        partition.isr = (leader_id,)
    cluster.set_leader(partition, leader_id, now_ms)


def _partitions(cluster: "Cluster") -> Iterator[tuple[Topic, Partition]]:
    for topic in cluster.topics.all():
        for partition in topic.partitions:
            yield topic, partition
