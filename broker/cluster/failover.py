"""Failover: stop, isolate, fence and start brokers; update ISRs and elect leaders.

Sources: Kafka's `ReplicationControlManager.handleBrokerFenced`, `handleBrokerUnfenced`,
`handleBrokerInControlledShutdown`, `BrokerLifecycleManager` and `PartitionChangeBuilder`.
"""

from collections.abc import Iterator
from functools import partial

from broker.cluster.brokers import Availability, Broker
from broker.cluster.cluster import Cluster
from broker.cluster.controller_queue import ControllerEvent
from broker.cluster.eligible_leaders import clean_leader, last_known_leader
from broker.cluster.log_truncation import lead_out_of_sync
from broker.cluster.replicas import complete_reassignment
from broker.cluster.topics import NO_LEADER, Partition, Topic
from protocol.pacing import may_pause

CONTROLLED_SHUTDOWN_MS = 50
"""After this time Kafka's broker asks the controller again whether it may close its sockets."""


@may_pause
def stop_broker(cluster: Cluster, node_id: int, now_ms: int, *, elect: bool = True) -> None:
    """Stop a broker: close its connections and refuse new ones.

    With `elect` it is fenced: it leaves every ISR, and what it led, coordinated or controlled moves
    to brokers that are up. (The last member of an ISR stays in it before Kafka 4.1.) Its replicas
    end where they are: only an election of one of them that is not in sync loses records. Without
    `elect` Metadata still lists it; stop it again with `elect` to fence it later.
    The election is an event of `cluster.controller_queue`. It waits for mutations in the queue, and
    until then Metadata names the old leaders.

    Raises:
        ValueError: there is no such broker.
    """
    _take_offline(cluster, node_id, Availability.DOWN, now_ms, elect=elect)
    cluster.brokers[node_id].is_shutting_down = False
    quotas = cluster.quotas.brokers[node_id]
    quotas.producer_ids.forget()
    quotas.accept_rate.clear()
    cluster.fetch_sessions[node_id].clear()
    cluster.share.leaders[node_id].clear(now_ms)


@may_pause
def shut_down_broker(cluster: Cluster, node_id: int, now_ms: int) -> None:
    """Shut a broker down as SIGTERM does Kafka's: leaders move before its connections close.

    What it led, coordinated or controlled moves to brokers that are up. For the next
    `CONTROLLED_SHUTDOWN_MS` it refers clients to the new leaders, then it stops. To start it before
    that calls the shutdown off.

    With `controlled.shutdown.enable=false` it asks nobody: its connections close, and the
    controller fences it when its session has been over for `broker.session.timeout.ms`.

    Raises:
        ValueError: there is no such broker.
    """
    broker = cluster.broker(node_id)
    if not cluster.config.for_broker(node_id)["controlled.shutdown.enable"]:
        stop_broker(cluster, node_id, now_ms, elect=False)
        fence = partial(_end_session, cluster, broker, broker.start_count)
        cluster.timers.schedule(now_ms + cluster.config["broker.session.timeout.ms"], fence)
        return
    broker.is_shutting_down = True
    fence_broker(cluster, node_id, now_ms)
    event = ControllerEvent("controlledShutdown", partial(_schedule_stop, cluster, broker))
    cluster.controller_queue.submit(event, now_ms)


@may_pause
def isolate_broker(cluster: Cluster, node_id: int, now_ms: int, *, elect: bool = False) -> None:
    """Isolate a broker from its clients: connections stay open, and nothing passes through them.

    `elect` as in `stop_broker`. Requests that arrive are handled when the broker is started.

    Raises:
        ValueError: there is no such broker.
    """
    _take_offline(cluster, node_id, Availability.ISOLATED, now_ms, elect=elect)


@may_pause
def start_broker(cluster: Cluster, node_id: int, now_ms: int) -> None:
    """Start a broker again. It fetches what it lacks from the leaders at once, and is in sync.

    It leads only partitions that have no leader, until the controller elects preferred leaders.

    Raises:
        ValueError: there is no such broker.
    """
    broker = cluster.broker(node_id)
    broker.is_shutting_down = False
    event = ControllerEvent("unfenceBroker", partial(_unfence, cluster, broker))
    cluster.controller_queue.submit(event, now_ms)
    cluster.set_availability(broker, Availability.UP)
    if cluster.on_leaders_change is not None:
        cluster.on_leaders_change(now_ms)


@may_pause
def fence_broker(cluster: Cluster, node_id: int, now_ms: int) -> None:
    """Fence a broker that continues to serve its connections.

    It leaves Metadata, leads and coordinates nothing. `start_broker` unfences it.

    Raises:
        ValueError: there is no such broker.
    """
    _take_offline(cluster, node_id, cluster.broker(node_id).availability, now_ms, elect=True)


@may_pause
def _take_offline(
    cluster: Cluster, node_id: int, availability: Availability, now_ms: int, *, elect: bool
) -> None:
    broker = cluster.broker(node_id)
    if elect:
        # Also for a broker that is down: the event that unfences it may still be in the queue.
        event = ControllerEvent("fenceBroker", partial(_fence, cluster, broker))
        cluster.controller_queue.submit(event, now_ms)
    cluster.set_availability(broker, availability)


@may_pause
def _end_session(cluster: Cluster, broker: Broker, start_count: int, now_ms: int) -> None:
    """Fence a broker that has not been started since its session began to expire."""
    if cluster.brokers.get(broker.node_id) is broker and broker.start_count == start_count:
        fence_broker(cluster, broker.node_id, now_ms)


def _schedule_stop(cluster: Cluster, broker: Broker, now_ms: int) -> None:
    def stop(now_ms: int) -> None:
        if broker.is_shutting_down and cluster.brokers.get(broker.node_id) is broker:
            stop_broker(cluster, broker.node_id, now_ms, elect=False)

    cluster.timers.schedule(now_ms + CONTROLLED_SHUTDOWN_MS, stop)


@may_pause
def _fence(cluster: Cluster, broker: Broker, now_ms: int) -> None:
    if broker.is_alive and cluster.brokers.get(broker.node_id) is broker:
        _remove_from_isrs(cluster, broker.node_id, now_ms)


@may_pause
def _unfence(cluster: Cluster, broker: Broker, now_ms: int) -> None:
    if cluster.brokers.get(broker.node_id) is broker:
        _return_to_isrs(cluster, broker.node_id, now_ms)
        if cluster.on_leaders_change is not None:
            cluster.on_leaders_change(now_ms)


@may_pause
def _remove_from_isrs(cluster: Cluster, node_id: int, now_ms: int) -> None:
    """Remove a broker from ISRs and elect new leaders for its partitions."""
    cluster.brokers[node_id].is_alive = False
    if cluster.controller_id == node_id:
        cluster.controller_id = next(iter(cluster.alive_broker_ids()), NO_LEADER)
        cluster.controller_epoch += 1
    for topic, partition in _partitions(cluster):
        _leave_isr(cluster, partition, node_id, now_ms)
        if partition.leader_id == node_id:
            elect(cluster, topic, partition, now_ms)


@may_pause
def _leave_isr(cluster: Cluster, partition: Partition, node_id: int, now_ms: int) -> None:
    """Remove a broker from an ISR. Its last member stays, unless it can be an eligible leader."""
    rest = [n for n in partition.isr if n != node_id]
    if len(rest) == len(partition.isr):
        return
    if rest or cluster.features.has_eligible_leader_replicas:
        cluster.set_isr(partition, rest, now_ms)
    if not partition.isr:
        partition.last_known_leader_id = partition.leader_id


@may_pause
def _return_to_isrs(cluster: Cluster, node_id: int, now_ms: int) -> None:
    """Return a broker to ISRs: what the leaders have it fetches at once."""
    cluster.brokers[node_id].is_alive = True
    if cluster.controller_id == NO_LEADER:
        cluster.controller_id = node_id
        cluster.controller_epoch += 1
    for topic, partition in _partitions(cluster):
        if node_id not in partition.replicas:
            continue
        if partition.leader_id == NO_LEADER:
            elect(cluster, topic, partition, now_ms)
        if partition.leader_id != NO_LEADER:
            cluster.expand_isr(partition, now_ms)
        complete_reassignment(cluster, partition, now_ms)


@may_pause
def elect(cluster: Cluster, topic: Topic, partition: Partition, now_ms: int) -> None:
    """Elect the first replica that is up and in sync, or just up where the topic allows it.

    One that is not in sync has only what it fetched: the log ends there.
    """
    leader_id = clean_leader(partition, partition.replicas, cluster.is_alive)
    if leader_id != NO_LEADER and leader_id not in partition.isr:
        lead_out_of_sync(cluster, partition, leader_id, now_ms, is_clean=True)
    if leader_id == NO_LEADER:
        leader_id = last_known_leader(partition, cluster.is_alive)
        if leader_id == NO_LEADER and topic.config["unclean.leader.election.enable"]:
            leader_id = next(filter(cluster.is_alive, partition.replicas), NO_LEADER)
        if leader_id != NO_LEADER:
            lead_out_of_sync(cluster, partition, leader_id, now_ms, is_clean=False)
    cluster.set_leader(partition, leader_id, now_ms)


def _partitions(cluster: Cluster) -> Iterator[tuple[Topic, Partition]]:
    for topic in cluster.topics.all():
        for partition in topic.partitions:
            yield topic, partition
