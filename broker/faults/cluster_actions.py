"""What a rule does to the cluster: leaders and coordinators that move, brokers that go."""

from collections.abc import Callable, Sequence
from functools import partial

from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition
from broker.faults.rule import CLUSTER_ACTIONS, NEXT, NONE, SELF, FaultRule

_NO_OTHER = "no other broker is up"


def check_cluster(rule: FaultRule, cluster: Cluster) -> None:
    """Whether the cluster has what a rule names: brokers, APIs, and for `at_once` the topic.

    Raises:
        ValueError: it names the field, and what there is.
    """
    for name in ("broker", *CLUSTER_ACTIONS):
        node_id = getattr(rule, name)
        if isinstance(node_id, int) and node_id not in cluster.brokers:
            known = ", ".join(map(str, cluster.brokers))
            raise ValueError(f"{name}: there is no broker {node_id}, only {known}")
    if rule.api_key is not None:
        _check_api(rule, cluster, rule.api_key)
    if rule.at_once and rule.leader is not None and not _partitions(rule, cluster):
        raise ValueError(f"topic: {_absence(rule, cluster)} yet, and at_once waits for none")


def _check_api(rule: FaultRule, cluster: Cluster, api_key: int) -> None:
    """Whether the rule's broker, or any where it names none, serves its API and versions."""
    node_ids = cluster.brokers if rule.broker is None else (rule.broker,)
    routes = [cluster.routes[node_id].get(api_key) for node_id in node_ids]
    served = [route for route in routes if route is not None]
    who = "this cluster" if rule.broker is None else f"broker {rule.broker}"
    if not served:
        raise ValueError(f"api: {who} has no {rule.api}")
    version_min = min(route.version_min for route in served)
    version_max = max(route.version_max for route in served)
    has_versions = f"{who} has {rule.api} {version_min} to {version_max}"
    if rule.version_min is not None and rule.version_min > version_max:
        raise ValueError(f"version_min: {has_versions}")
    if rule.version_max is not None and rule.version_max < version_min:
        raise ValueError(f"version_max: {has_versions}")


def act(rule: FaultRule, cluster: Cluster, broker_id: int | None, now_ms: int) -> str | None:
    """Do what a rule says to the cluster; `broker_id` is the broker that was asked.

    What can't be done as things are (a leader on a broker that is down, anything with one that was
    decommissioned) is left. Returns why, when nothing at all could be done.
    """
    obstacles: list[str | None] = []
    if rule.leader is not None:
        partitions = _partitions(rule, cluster)
        obstacles += [_move_leader(rule.leader, each, cluster, now_ms) for each in partitions]
        if not partitions:
            obstacles.append(_absence(rule, cluster))
    if rule.coordinator is not None:
        keys = [key for key in (rule.group, rule.transactional_id) if key is not None]
        obstacles += [_move_coordinator(rule.coordinator, each, cluster, now_ms) for each in keys]
    if rule.stop_broker is not None:
        stop = partial(failover.stop_broker, cluster, elect=rule.elect is not False)
        obstacles.append(_take(rule, rule.stop_broker, cluster, broker_id, now_ms, stop))
    if rule.isolate_broker is not None:
        cut_off = partial(failover.isolate_broker, cluster, elect=rule.elect is True)
        obstacles.append(_take(rule, rule.isolate_broker, cluster, broker_id, now_ms, cut_off))
    if rule.fence_broker is not None:
        obstacles.append(
            _take(
                rule,
                rule.fence_broker,
                cluster,
                broker_id,
                now_ms,
                partial(failover.fence_broker, cluster),
            )
        )
    if rule.start_broker is not None:
        obstacles.append(_obstacle(failover.start_broker, cluster, rule.start_broker, now_ms))
    return None if None in obstacles else obstacles[0]


def _obstacle(do: Callable[..., None], *arguments: object) -> str | None:
    """Do something to the cluster; returns why it could not be done, or None."""
    try:
        do(*arguments)
    except ValueError as error:
        return str(error)
    return None


def _take(
    rule: FaultRule,
    wanted: int | str,
    cluster: Cluster,
    broker_id: int | None,
    now_ms: int,
    take: Callable[[int, int], None],
) -> str | None:
    asked_id = broker_id if wanted == SELF else int(wanted)
    assert asked_id is not None, "a rule that is at once names its broker"
    node_id: int = asked_id
    obstacle = _obstacle(take, node_id, now_ms)
    if obstacle is None and rule.restart_after_ms is not None:

        def start(now_ms: int) -> None:
            _obstacle(failover.start_broker, cluster, node_id, now_ms)

        cluster.timers.schedule(now_ms + rule.restart_after_ms, start)
    return obstacle


def _partitions(rule: FaultRule, cluster: Cluster) -> list[Partition]:
    topic = cluster.topics.get(rule.topic or "")
    return [
        partition
        for partition in (() if topic is None else topic.partitions)
        if rule.partition is None or partition.partition_index == rule.partition
    ]


def _absence(rule: FaultRule, cluster: Cluster) -> str:
    if cluster.topics.get(rule.topic or "") is None:
        return f"there is no topic {rule.topic}"
    return f"{rule.topic} has no partition {rule.partition}"


def _move_leader(
    wanted: int | str, partition: Partition, cluster: Cluster, now_ms: int
) -> str | None:
    if wanted == NONE:
        cluster.take_leader_away(partition, now_ms)
        return None
    leader_id: int | None
    if wanted == NEXT:
        leader_id = _next(partition.leader_id, partition.replicas, cluster)
        if leader_id is None:
            leader_id = _next(partition.leader_id, tuple(cluster.brokers), cluster)
    else:
        leader_id = int(wanted)
    if leader_id is None:
        return _NO_OTHER
    return _obstacle(cluster.move_leader, partition, leader_id, now_ms)


def _move_coordinator(wanted: int | str, key: str, cluster: Cluster, now_ms: int) -> str | None:
    node_id: int | None
    if wanted == NEXT:
        node_id = _next(cluster.coordinator_id(key), tuple(cluster.brokers), cluster)
    else:
        node_id = int(wanted)
    if node_id is None:
        return _NO_OTHER
    return _obstacle(cluster.move_coordinator, key, node_id, now_ms)


def _next(current_id: int | None, among: Sequence[int], cluster: Cluster) -> int | None:
    """The next broker after this one that is up, in turn; None when there is no other."""
    start = among.index(current_id) + 1 if current_id in among else 0
    in_turn = (*among[start:], *among[:start])
    return next((n for n in in_turn if n != current_id and cluster.is_alive(n)), None)
