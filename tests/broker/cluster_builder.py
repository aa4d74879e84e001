"""Clusters for tests: no sockets, no clock, and the same topic ids in every run."""

from collections.abc import Callable
from itertools import count
from typing import Any
from uuid import UUID

import broker.handlers  # noqa: F401 - registers all handlers
from broker.cluster.cluster import Cluster
from broker.cluster.producer_limit import limit_producer_ids
from broker.config.broker_config import BrokerConfig
from broker.request.context import RequestContext
from broker.routes import ROUTES
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.messages import API_NAMES

CLUSTER_ID = "test-cluster"
NOW_MS = 1_700_000_000_000
ALL_VERSIONS = {
    "broker.api.versions": ",".join(
        f"{API_NAMES[route.api_key]}={route.version_min}-{route.version_max}"
        for route in ROUTES.values()
    )
}
"""Every version that a handler serves; the default release has fewer."""


def make_cluster(broker_count: int = 3, /, **overrides: str) -> Cluster:
    """A cluster of brokers 1..n; keys have dots, so `make_cluster(**{"num.partitions": "3"})`."""
    cluster = Cluster(
        BrokerConfig.from_overrides(overrides),
        broker_count,
        cluster_id=CLUSTER_ID,
        new_uuid=counting_uuids(),
    )
    for added in cluster.brokers.values():
        added.host, added.port = "localhost", 9091 + added.node_id
    limit_producer_ids(cluster)
    return cluster


def counting_uuids() -> Callable[[], UUID]:
    """Ids 1, 2, 3, ..., none of them zero."""
    numbers = count(1)
    return lambda: UUID(int=next(numbers))


def make_context(
    api_key: ApiKey, version: int, *, broker_id: int = 1, now_ms: int = NOW_MS, **rest: Any
) -> RequestContext:
    """The context of a request to one broker; `rest` are other fields of RequestContext."""
    fields: dict[str, Any] = {
        "correlation_id": 1,
        "client_id": "test-client",
        "size_bytes": 100,
        "connection_id": 1,
        "client_host": "127.0.0.1",
    }
    fields |= rest
    return RequestContext(
        api_key=api_key, api_version=version, now_ms=now_ms, broker_id=broker_id, **fields
    )


def call(
    cluster: Cluster, request: Any, version: int, *, broker_id: int = 1, now_ms: int = NOW_MS
) -> Any:
    """Send a request to a broker; encode and decode both request and response."""
    api_key = ApiKey(request.API_KEY)
    context = make_context(api_key, version, broker_id=broker_id, now_ms=now_ms)
    body = bytes(request.encode(version=version))
    decoded = codec.decode_request(api_key, version, body, 0, len(body))
    response = ROUTES[api_key].handler(context, decoded, cluster)
    return type(response).decode(bytes(response.encode(version=version)), version=version)
