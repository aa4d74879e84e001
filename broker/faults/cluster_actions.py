"""A rule's actions on the cluster: move leaders and coordinators, stop and start brokers."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import (
    ensure_internal_topic,
    move_coordinator,
    move_transaction_coordinator,
)
from broker.cluster.internal_topics import GROUP_METADATA, TRANSACTION_STATE
from broker.cluster.topics import NO_LEADER, Partition
from broker.config.api_versions import API_VERSIONS_KEY
from broker.faults.actions import (
    NEXT,
    NONE,
    SELF,
    BrokerAction,
    DisturbMembers,
    FenceBroker,
    IsolateBroker,
    MoveClock,
    MoveCoordinator,
    MoveLeader,
    SetApiVersions,
    StartBroker,
    StopBroker,
    field_name_of,
)
from broker.faults.group_actions import disturb_members
from broker.faults.match import Match
from broker.faults.rule import FaultRule
from protocol.pacing import may_pause

_NO_OTHER = "no other broker is up"


def check_cluster(rule: FaultRule, cluster: Cluster) -> None:
    """Check that the cluster has what a rule names: brokers, APIs, and for `at_once` the topic.

    Raises:
        ValueError: the cluster lacks it. The message names the field and what exists.
    """
    node_ids = {"broker": rule.match.broker}
    for action in rule.actions:
        if isinstance(action, BrokerAction | MoveLeader | MoveCoordinator):
            node_ids[field_name_of(action)] = getattr(action, field_name_of(action))
    for name, node_id in node_ids.items():
        if isinstance(node_id, int) and node_id not in cluster.brokers:
            known = ", ".join(map(str, cluster.brokers))
            raise ValueError(f"{name}: there is no broker {node_id}, only {known}")
    match = rule.match
    if match.api_key is not None:
        _check_api(match, cluster, match.api_key)
    if rule.trigger.at_once and rule.has_action(MoveLeader) and not _partitions(match, cluster):
        raise ValueError(f"topic: {_absence(match, cluster)} yet, and at_once waits for none")


def _check_api(match: Match, cluster: Cluster, api_key: int) -> None:
    """Check that the rule's broker, or any if it names none, serves its API and versions."""
    node_ids = cluster.brokers if match.broker is None else (match.broker,)
    routes = [cluster.routes[node_id].get(api_key) for node_id in node_ids]
    served = [route for route in routes if route is not None]
    where = "this cluster" if match.broker is None else f"broker {match.broker}"
    if not served:
        raise ValueError(f"api: {where} has no {match.api}")
    version_min = min(route.version_min for route in served)
    version_max = max(route.version_max for route in served)
    has_versions = f"{where} has {match.api} {version_min} to {version_max}"
    if match.version_min is not None and match.version_min > version_max:
        raise ValueError(f"version_min: {has_versions}")
    if match.version_max is not None and match.version_max < version_min:
        raise ValueError(f"version_max: {has_versions}")


@may_pause
def act(rule: FaultRule, cluster: Cluster, broker_id: int | None, now_ms: int) -> str | None:
    """Carry out a rule's actions; `broker_id` is the broker that received the request.

    Actions that the cluster's state does not allow (a leader on a broker that is down, anything
    with a decommissioned broker) are skipped. Return the reason if all were skipped, else None.
    """
    obstacles: list[str | None] = []
    for action in rule.actions:
        match action:
            case MoveLeader(leader):
                obstacles += _move_leaders(leader, rule.match, cluster, now_ms)
            case MoveCoordinator(coordinator):
                obstacles += _move_coordinators(coordinator, rule.match, cluster, now_ms)
            case StopBroker() | IsolateBroker() | FenceBroker():
                obstacles.append(_take_down(action, cluster, broker_id, now_ms))
            case StartBroker(node_id):
                obstacles.append(_obstacle(failover.start_broker, cluster, node_id, now_ms))
            case DisturbMembers(members):
                group_id = rule.match.group
                assert group_id is not None, "validation requires it"
                obstacles.append(_obstacle(disturb_members, cluster, group_id, members, now_ms))
            case SetApiVersions(api_versions):
                target_id = broker_id if rule.match.broker is None else rule.match.broker
                assert target_id is not None, "a rule with at_once names its broker"
                obstacles.append(_obstacle(_set_api_versions, cluster, target_id, api_versions))
            case MoveClock(duration_ms):
                obstacles.append(_obstacle(_move_clock, cluster, duration_ms))
            case _:
                pass
    return None if None in obstacles else obstacles[0]


@may_pause
def _obstacle(operation: Callable[..., None], *arguments: object) -> str | None:
    """Carry out one action; return why it could not be done, or None."""
    try:
        operation(*arguments)
    except ValueError as error:
        return str(error)
    return None


@may_pause
def _take_down(
    action: StopBroker | IsolateBroker | FenceBroker,
    cluster: Cluster,
    broker_id: int | None,
    now_ms: int,
) -> str | None:
    take_down: Callable[[int, int], None]
    match action:
        case StopBroker(stopped, elect):
            take_down = partial(failover.stop_broker, cluster, elect=elect is not False)
        case IsolateBroker(stopped, elect):
            take_down = partial(failover.isolate_broker, cluster, elect=elect is True)
        case FenceBroker(stopped):
            take_down = partial(failover.fence_broker, cluster)
    target_id = broker_id if stopped == SELF else int(stopped)
    assert target_id is not None, "a rule with at_once names its broker"
    node_id: int = target_id
    obstacle = _obstacle(take_down, node_id, now_ms)
    if obstacle is None and action.restart_after_ms is not None:

        def start(now_ms: int) -> None:
            _obstacle(failover.start_broker, cluster, node_id, now_ms)

        cluster.timers.schedule(now_ms + action.restart_after_ms, start)
    return obstacle


@may_pause
def _set_api_versions(cluster: Cluster, node_id: int, api_versions: str) -> None:
    config = cluster.config
    cluster.broker(node_id)
    if API_VERSIONS_KEY in config.dynamic_layer(node_id) or (
        API_VERSIONS_KEY in config.dynamic_default
    ):
        raise ValueError(f"{API_VERSIONS_KEY} was set at run time, and that value has precedence")
    cluster.set_config(config.with_overrides_of(node_id, {API_VERSIONS_KEY: api_versions}))


def _move_clock(cluster: Cluster, duration_ms: int) -> None:
    if cluster.timers.on_advance is None:
        raise ValueError("nothing moves the clock of this cluster")
    cluster.timers.on_advance(duration_ms)


def _partitions(match: Match, cluster: Cluster) -> list[Partition]:
    topic = cluster.topics.get(match.topic or "")
    return [
        partition
        for partition in (() if topic is None else topic.partitions)
        if match.partition is None or partition.partition_index == match.partition
    ]


def _absence(match: Match, cluster: Cluster) -> str:
    if cluster.topics.get(match.topic or "") is None:
        return f"there is no topic {match.topic}"
    return f"{match.topic} has no partition {match.partition}"


@may_pause
def _move_leaders(
    leader: int | str, match: Match, cluster: Cluster, now_ms: int
) -> list[str | None]:
    partitions = _partitions(match, cluster)
    if not partitions:
        return [_absence(match, cluster)]
    return [_move_leader(leader, partition, cluster, now_ms) for partition in partitions]


@may_pause
def _move_leader(
    leader: int | str, partition: Partition, cluster: Cluster, now_ms: int
) -> str | None:
    if leader == NONE:
        cluster.set_leader(partition, NO_LEADER, now_ms)
        return None
    leader_id: int | None
    if leader == NEXT:
        leader_id = _next(partition.leader_id, partition.replicas, cluster)
        if leader_id is None:
            leader_id = _next(partition.leader_id, tuple(cluster.brokers), cluster)
    else:
        leader_id = int(leader)
    if leader_id is None:
        return _NO_OTHER
    return _obstacle(cluster.move_leader, partition, leader_id, now_ms)


@may_pause
def _move_coordinators(
    coordinator: int | str, match: Match, cluster: Cluster, now_ms: int
) -> Iterator[str | None]:
    """Move the coordinators of the group and the transactional id that a rule names."""
    if match.group is not None:
        ensure_internal_topic(cluster, GROUP_METADATA)
        node_id = _new_coordinator(coordinator, cluster.coordinator_id(match.group), cluster)
        if node_id is None:
            yield _NO_OTHER
        else:
            yield _obstacle(move_coordinator, cluster, match.group, node_id, now_ms)
    if (key := match.transactional_id) is not None:
        ensure_internal_topic(cluster, TRANSACTION_STATE)
        node_id = _new_coordinator(coordinator, cluster.transaction_coordinator_id(key), cluster)
        if node_id is None:
            yield _NO_OTHER
        else:
            yield _obstacle(move_transaction_coordinator, cluster, key, node_id, now_ms)


def _new_coordinator(
    coordinator: int | str, current_id: int | None, cluster: Cluster
) -> int | None:
    if coordinator == NEXT:
        return _next(current_id, tuple(cluster.brokers), cluster)
    return int(coordinator)


def _next(current_id: int | None, node_ids: Sequence[int], cluster: Cluster) -> int | None:
    """Return the next broker after this one that is up, in turn; None if there is no other."""
    start = node_ids.index(current_id) + 1 if current_id in node_ids else 0
    in_turn = (*node_ids[start:], *node_ids[:start])
    return next((n for n in in_turn if n != current_id and cluster.is_alive(n)), None)
