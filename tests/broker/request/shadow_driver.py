"""Quotas in shadow mode: the counters of a cluster, and requests for topics."""

from broker.cluster.cluster import Cluster
from protocol import messages
from quotas.shadow import ShadowCounter
from tests.broker.connection_driver import NOW_MS, request_frame

SHADOW = {"client.quota.shadow": "true"}


def counters(cluster: Cluster, now_ms: int = NOW_MS) -> dict[str, ShadowCounter]:
    """Return the counters of the only scope and broker by quota key."""
    rows = list(cluster.quotas.shadow.rows(now_ms))
    assert len({key.quota for key, _counter in rows}) == len(rows)
    return {key.quota: counter for key, counter in rows}


def create_frame(correlation_id: int, *partition_counts: int, version: int = 6) -> bytes:
    topic_class = messages.CreateTopicsRequest.CreatableTopic
    request = messages.CreateTopicsRequest(
        version=version,
        topics=[
            topic_class(
                name=f"t{correlation_id}-{index}",
                num_partitions=partitions,
                replication_factor=1,
                assignments=[],
                configs=[],
            )
            for index, partitions in enumerate(partition_counts)
        ],
        timeout_ms=1000,
        validate_only=False,
    )
    return request_frame(request, version, correlation_id)
