"""The logs of a fetch session with many partitions, most of which have nothing new (KIP-227).

A request of such a session looks at all partitions. To find the log of each of them, and whether
this client may read it, takes longer than to see that the log has not changed. So the session
remembers the logs. What has changed is read in the ordinary way.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import CachedPartition, FetchSession
from broker.cluster.partition_log import PartitionLog
from broker.fetch.fetch_params import CONSUMER_REPLICA_ID
from broker.fetch.partition_read import FetchParams, checked_partition
from broker.fetch.read_authorization import denied_topics
from broker.request.context import RequestContext
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced_elements

PARTITIONS_MIN = 17
"""With fewer partitions it takes no longer to look at all of them in the ordinary way."""


@dataclass(frozen=True, slots=True, eq=False)
class SessionLogs:
    """The logs of the partitions of a session that a consumer may read.

    It is good while `Cluster.generation` and `FetchSession.change_count` stay.
    """

    generation: int
    change_count: int
    requires_leader: bool
    client: tuple[str, str] | None
    """The user and the host that may read; None without an authorizer."""
    logs: dict[CachedPartition, PartitionLog]
    others: list[CachedPartition]
    """All other partitions: each request looks at them in the ordinary way."""

    def is_good(self, session: FetchSession, cluster: Cluster) -> bool:
        """Whether nothing but offsets and logs has changed since it was made."""
        return self.change_count == session.change_count and self.generation == cluster.generation

    @may_pause
    def changed(self, partitions: Sequence[CachedPartition]) -> list[CachedPartition]:
        """Return the partitions, in their order, without those of which there is nothing to say.

        A response leaves out a partition that is read to its end and whose offsets were sent.
        """
        log_of = self.logs.get
        changed = []
        for cached in paced_elements(partitions):
            log = log_of(cached)
            if log is not None:
                high_watermark = log.high_watermark
                if (
                    cached.fetch_offset == high_watermark
                    and cached.high_watermark == high_watermark
                    and cached.log_start_offset == log.log_start_offset
                ):
                    continue
            changed.append(cached)
        return changed


@may_pause
def logs_of_session(
    session: FetchSession | None, params: FetchParams, context: RequestContext, cluster: Cluster
) -> SessionLogs | None:
    """Return what a session with many partitions remembers of its logs, in loops that pause.

    None for few partitions, for an unusual request, and if something has changed during a pause.
    """
    if (
        session is None
        or len(session.partitions) < PARTITIONS_MIN
        or params.replica_id != CONSUMER_REPLICA_ID
        or params.rack_id
        or params.bytes_max < 0
    ):
        return None
    known = remembered_logs(session, cluster)
    if (
        known is None
        or known.requires_leader != params.requires_leader
        or (known.client is not None and known.client != _client(context))
    ):
        session.logs = _find_logs(session, params, context, cluster)
    return remembered_logs(session, cluster)


def remembered_logs(session: FetchSession, cluster: Cluster) -> SessionLogs | None:
    """Return what a session remembers of its logs if that is still good."""
    known = session.logs
    return known if isinstance(known, SessionLogs) and known.is_good(session, cluster) else None


@may_pause
def _find_logs(
    session: FetchSession, params: FetchParams, context: RequestContext, cluster: Cluster
) -> SessionLogs:
    generation, change_count = cluster.generation, session.change_count
    logs: dict[CachedPartition, PartitionLog] = {}
    others: list[CachedPartition] = []
    partitions = list(session.partitions.values())
    denied = denied_topics(context, cluster, partitions, is_from_follower=False, is_noted=False)
    for cached in paced_elements(partitions):
        name = cached.topic_name
        partition = (
            None if name is None or name in denied else checked_partition(cluster, params, cached)
        )
        if partition is None or isinstance(partition, ErrorCode) or cached.last_fetched_epoch >= 0:
            others.append(cached)
        else:
            logs[cached] = partition.log
    client = None if cluster.authorizer is None else _client(context)
    return SessionLogs(generation, change_count, params.requires_leader, client, logs, others)


def _client(context: RequestContext) -> tuple[str, str]:
    return context.principal, context.client_host
