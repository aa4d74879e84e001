"""Which topics of a Fetch the client may not read.

Source: Kafka's `KafkaApis.handleFetchRequest`.
"""

from collections.abc import Collection, Sequence

from broker.authorization.checks import CLUSTER_ACTION_CLUSTER_BY_TOPIC, READ_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import CachedPartition
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from protocol.pacing import may_pause, paced, paced_elements

NOTHING_DENIED: Collection[str | None] = frozenset()


@may_pause
def denied_topics(
    context: RequestContext,
    cluster: Cluster,
    partitions: Sequence[CachedPartition],
    *,
    is_from_follower: bool,
    is_noted: bool = True,
) -> Collection[str | None]:
    """Return the names of topics, among those of partitions, that may not be read.

    A follower may read all of them or none. None is the name of a topic whose id is unknown: it is
    denied to followers only.
    """
    if cluster.authorizer is None:
        return NOTHING_DENIED
    names = dict.fromkeys(cached.topic_name for cached in paced_elements(partitions))
    if is_from_follower:
        check = CLUSTER_ACTION_CLUSTER_BY_TOPIC
        return () if is_allowed(context, cluster, check, is_noted=is_noted) else names
    return {
        name
        for name in paced(names)
        if name is not None
        and not is_allowed(context, cluster, READ_TOPIC, name, is_noted=is_noted)
    }
