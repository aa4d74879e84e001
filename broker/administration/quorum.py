"""The controllers as a KRaft quorum: each broker of the start is a controller too.

Sources: Kafka's `KafkaRaftClient`, `RaftUtil` and `Endpoints`.
"""

from collections.abc import Iterable
from functools import lru_cache

from broker.addresses import Address
from broker.cluster.cluster import Cluster
from broker.config.values import elements_of
from broker.errors import Refusal
from protocol.errors import ErrorCode
from protocol.hash_order import in_hash_order, string_hash
from protocol.pacing import may_pause

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
IDLE_LOG_END_OFFSET = 100
"""End of the metadata log of a controller that appends nothing while it is idle."""


def voter_ids(cluster: Cluster) -> list[int]:
    """Return the voters that are registered, and the controller, ascending.

    They are the brokers in `controller.quorum.voters`, or those of the start if it names none.
    """
    named = _named_voters(cluster.config["controller.quorum.voters"]) & cluster.brokers.keys()
    voters = {*(named or cluster.first_node_ids), cluster.controller_id}
    return [node_id for node_id in cluster.brokers if node_id in voters]


@lru_cache(maxsize=8)
def _named_voters(entries: tuple[str, ...]) -> frozenset[int]:
    """Return the node ids of `ID@HOST:PORT` entries (`QuorumConfig.parseVoterConnections`)."""
    ids = (entry.partition("@")[0].strip() for entry in entries)
    return frozenset(int(node_id) for node_id in ids if node_id.isdecimal())


def observer_ids(cluster: Cluster) -> list[int]:
    """Return the other registered brokers, ascending."""
    voters = set(voter_ids(cluster))
    return [node_id for node_id in cluster.brokers if node_id not in voters]


def metadata_log_end_offset(cluster: Cluster, now_ms: int) -> int:
    """Return the end of the metadata log at a time.

    There is no such log. Its end grows as that of an idle controller, since 1970: by a record every
    `metadata.max.idle.interval.ms`, or not at all if that is 0.
    """
    interval_ms: int = cluster.config["metadata.max.idle.interval.ms"]
    return now_ms // interval_ms if interval_ms else IDLE_LOG_END_OFFSET


def controller_listener_name(cluster: Cluster) -> str:
    """Return the name of the controllers' listener."""
    names = elements_of(cluster.config["controller.listener.names"])
    return names[0] if names else "CONTROLLER"


def check_cluster_id(cluster: Cluster, cluster_id: str | None) -> Refusal | None:
    """Refuse the id of another cluster; None is any."""
    if cluster_id is None or cluster_id == cluster.cluster_id:
        return None
    return Refusal(
        ErrorCode.INCONSISTENT_CLUSTER_ID,
        f'The given id "{cluster_id}" doesn\'t match the cluster id "{cluster.cluster_id}"',
    )


@may_pause
def endpoints_text(addresses: Iterable[tuple[str, Address]]) -> str:
    """Return the endpoints of a voter, by the names of listeners, as Kafka's errors show them."""
    by_name = {name.upper(): address for name, address in addresses}
    texts = (
        f"ListenerName({name})={by_name[name].host}/<unresolved>:{by_name[name].port}"
        for name in in_hash_order(by_name, string_hash, capacity_min=1)
    )
    return f"Endpoints(endpoints={{{', '.join(texts)}}})"
