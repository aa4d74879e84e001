"""A Fetch of a consumer, without a session."""

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import CachedPartition
from broker.fetch.fetch_context import FetchContext
from broker.fetch.fetch_response import Fetch
from broker.fetch.partition_read import FetchParams
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import make_context


def make_fetch(
    cluster: Cluster,
    *indexes: int,
    version: int = 12,
    max_wait_ms: int = 100,
    is_short: bool = True,
) -> Fetch:
    """Return a fetch of partitions of the topic "t" from offset 0."""
    topic = cluster.topics.get("t")
    assert topic is not None
    topic_id = topic.topic_id if version >= 13 else None
    partitions = [CachedPartition("t", topic_id, index, 0, 10_000) for index in indexes]
    return Fetch(
        make_context(ApiKey.FETCH, version),
        cluster,
        FetchParams(broker_id=1, bytes_max=10_000, bytes_min=1),
        FetchContext(partitions),
        partitions,
        [],
        max_wait_ms=100,
        is_short=is_short,
    )
