"""How a Fetch reads: the limits of its request, the configuration and the quotas."""

from typing import Any

from broker.cluster.cluster import Cluster
from broker.config.api_versions import release_of
from broker.fetch.partition_read import FetchParams
from broker.request.context import RequestContext
from broker.request.throttling import fetch_bytes_max, records_bytes_max
from protocol.fetch import RACK_VERSION_MIN, REPLICA_STATE_VERSION_MIN
from protocol.releases import Release

ZSTD_VERSION_MIN = 10
ZSTD_FOR_ALL_SINCE: Release = (4, 0)
"""Brokers of older releases convert batches for old clients, and have to refuse these."""
CONSUMER_REPLICA_ID = -1
READ_COMMITTED = 1
ISOLATION_LEVELS = frozenset({0, READ_COMMITTED})


def fetch_params(context: RequestContext, request: Any, cluster: Cluster) -> FetchParams:
    """Return how a request reads."""
    version, broker_id = context.api_version, context.broker_id
    replica_id: int = CONSUMER_REPLICA_ID
    if version < REPLICA_STATE_VERSION_MIN:
        replica_id = request.replica_id
    elif request.replica_state is not None:
        replica_id = request.replica_state.replica_id
    is_from_follower = replica_id >= 0
    if is_from_follower:
        bytes_max: int = records_bytes_max(cluster, request.max_bytes)
    else:
        bytes_max = fetch_bytes_max(context, cluster, request.max_bytes)
    rack_id = "" if is_from_follower or version < RACK_VERSION_MIN else request.rack_id
    if rack_id and not cluster.config.for_broker(broker_id)["replica.selector.class"]:
        rack_id = ""
    return FetchParams(
        broker_id=broker_id,
        bytes_max=bytes_max,
        bytes_min=min(request.min_bytes, bytes_max),
        replica_id=replica_id,
        rack_id=rack_id,
        requires_leader=is_from_follower
        or (replica_id == CONSUMER_REPLICA_ID and version < RACK_VERSION_MIN),
        reads_committed=not is_from_follower and request.isolation_level == READ_COMMITTED,
        supports_zstd=version >= ZSTD_VERSION_MIN
        or release_of(cluster.config.for_broker(broker_id)) >= ZSTD_FOR_ALL_SINCE,
    )
