"""What a rule does to the cluster: leaders and coordinators that move, brokers that go."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from broker.faults.rule import CLUSTER_ACTIONS, NEXT, NONE, SELF, FaultRule

if TYPE_CHECKING:
    from broker.cluster import Cluster
    from broker.topics import Partition


def check_brokers(rule: FaultRule, cluster: "Cluster") -> None:
    """Whether every broker that a rule names is there.

    Raises:
        ValueError: it names the field, and the brokers there are.
    """
    for name in ("broker", *CLUSTER_ACTIONS):
        node_id = getattr(rule, name)
        if isinstance(node_id, int) and node_id not in cluster.brokers:
            known = ", ".join(map(str, cluster.brokers))
            raise ValueError(f"{name}: there is no broker {node_id}, only {known}")


def act(rule: FaultRule, cluster: "Cluster", broker_id: int | None, now_ms: int) -> None:
    """Do what a rule says to the cluster; `broker_id` is the broker that was asked.

    What can't be done as things are (a leader on a broker that is down, anything with one that was
    decommissioned) is left.
    """
    if rule.leader is not None:
        for partition in _partitions(rule, cluster):
            _move_leader(rule.leader, partition, cluster, now_ms)
    if rule.coordinator is not None:
        for key in (rule.group, rule.transactional_id):
            if key is not None:
                _move_coordinator(rule.coordinator, key, cluster, now_ms)
    if rule.stop_broker is not None:
        stop = partial(cluster.stop_broker, elect=rule.elect is not False)
        _take(rule, rule.stop_broker, cluster, broker_id, now_ms, stop)
    if rule.cut_off_broker is not None:
        cut_off = partial(cluster.cut_off_broker, elect=rule.elect is True)
        _take(rule, rule.cut_off_broker, cluster, broker_id, now_ms, cut_off)
    if rule.fence_broker is not None:
        _take(rule, rule.fence_broker, cluster, broker_id, now_ms, cluster.fence_broker)
    if rule.start_broker is not None:
        _start(rule.start_broker, cluster, now_ms)


def _start(node_id: int, cluster: "Cluster", now_ms: int) -> None:
    with suppress(ValueError):
        cluster.start_broker(node_id, now_ms)


def _take(
    rule: FaultRule,
    wanted: int | str,
    cluster: "Cluster",
    broker_id: int | None,
    now_ms: int,
    take: Callable[[int, int], None],
) -> None:
    asked_id = broker_id if wanted == SELF else int(wanted)
    assert asked_id is not None, "a rule that is at once names its broker"
    node_id: int = asked_id
    with suppress(ValueError):
        take(node_id, now_ms)
    if rule.restart_after_ms is not None:
        cluster.timers.schedule(
            now_ms + rule.restart_after_ms, lambda now_ms: _start(node_id, cluster, now_ms)
        )


def _partitions(rule: FaultRule, cluster: "Cluster") -> Iterator["Partition"]:
    topic = cluster.topics.get(rule.topic or "")
    if topic is not None:
        for partition in topic.partitions:
            if rule.partition is None or partition.partition_index == rule.partition:
                yield partition


def _move_leader(
    wanted: int | str, partition: "Partition", cluster: "Cluster", now_ms: int
) -> None:
    if wanted == NONE:
        cluster.take_leader_away(partition, now_ms)
        return
    leader_id: int | None
    if wanted == NEXT:
        leader_id = _next(partition.leader_id, partition.replicas, cluster)
        if leader_id is None:
            leader_id = _next(partition.leader_id, tuple(cluster.brokers), cluster)
    else:
        leader_id = int(wanted)
    if leader_id is not None:
        with suppress(ValueError):
            cluster.move_leader(partition, leader_id, now_ms)


def _move_coordinator(wanted: int | str, key: str, cluster: "Cluster", now_ms: int) -> None:
    node_id: int | None
    if wanted == NEXT:
        node_id = _next(cluster.coordinator_id(key), tuple(cluster.brokers), cluster)
    else:
        node_id = int(wanted)
    if node_id is not None:
        with suppress(ValueError):
            cluster.move_coordinator(key, node_id, now_ms)


def _next(current_id: int | None, among: Sequence[int], cluster: "Cluster") -> int | None:
    """The next broker after this one that is up, in turn; None when there is no other."""
    start = among.index(current_id) + 1 if current_id in among else 0
    in_turn = (*among[start:], *among[:start])
    return next((n for n in in_turn if n != current_id and cluster.is_alive(n)), None)
