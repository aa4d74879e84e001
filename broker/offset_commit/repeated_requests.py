"""Respond to OffsetCommits that a connection sends again with other offsets.

A consumer commits the same partitions again and again. A connection remembers the bytes around the
offsets of its requests, the records that they become, and the response (ADR 27). Each request that
differs, and each that gets an error, takes the ordinary path of the handler.
"""

from dataclasses import dataclass

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.cluster.internal_topics import GROUP_METADATA, append_built_batch, batch_bytes_max
from broker.cluster.topics import Partition, Topic
from broker.groups.commit_results import response_topics
from broker.groups.repeated_commit import RepeatedCommit
from broker.offset_commit.requested_offsets import commit_request, requested_offsets
from broker.request.context import RequestContext
from protocol.errors import ErrorCode
from protocol.offset_commit import (
    LEADER_EPOCH_VERSION_MIN,
    TOPIC_ID_VERSION_MIN,
    CommitLayout,
    encode_response,
    read_offset_commit,
)
from protocol.pacing import may_pause

SIZES_MAX = 64
"""Sizes of requests that one connection remembers, to bound memory."""


@dataclass(slots=True, eq=False)
class RepeatedRequest:
    """What equal requests have in common while `Cluster.generation` stays."""

    generation: int
    api_version: int
    layout: CommitLayout
    commit: RepeatedCommit
    bytes_max: int
    """The most bytes of the batch of the offsets."""
    topic: Topic
    """The group's log: `__consumer_offsets`, and its partition."""
    partition: Partition
    body: bytes
    """The response."""


@may_pause
def commit_again(
    context: RequestContext, frame: bytes | bytearray, start: int, end: int, cluster: Cluster
) -> bytes | None:
    """Return the body of a response, or None if the ordinary path has to take the request."""
    version = context.api_version
    requests = context.session.repeated_commits
    found = requests.get(end - start)
    if (
        not isinstance(found, RepeatedRequest)
        or found.generation != cluster.generation
        or found.api_version != version
        or not found.layout.fits(frame, start)
    ):
        found = _learn(context, frame, start, end, cluster)
        if found is None:
            return None
        if len(requests) >= SIZES_MAX:
            requests.clear()
        requests[end - start] = found
    topic, partition, commit, now_ms = found.topic, found.partition, found.commit, context.now_ms
    offsets = found.layout.offsets(frame, start)

    def append() -> ErrorCode:
        if topic.has_too_few_in_sync(partition) or found.bytes_max > topic.max_message_bytes:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        batch = commit.batch(offsets, partition.log.log_end_offset, partition.leader_epoch, now_ms)
        append_built_batch(topic, partition, batch, commit.records, now_ms)
        return ErrorCode.NONE

    return found.body if cluster.groups.commit_again(commit, offsets, append, now_ms) else None


@may_pause
def _learn(
    context: RequestContext, frame: bytes | bytearray, start: int, end: int, cluster: Cluster
) -> RepeatedRequest | None:
    """Return what requests like this one have in common; None if it is unusual."""
    version = context.api_version
    if version < LEADER_EPOCH_VERSION_MIN or cluster.config["offsets.topic.compression.codec"]:
        return None
    request = read_offset_commit(version, frame, start, end)
    if request is None or ownership_error(cluster, context.broker_id, request.group_id):
        return None
    topic = cluster.topics.get(GROUP_METADATA.name)
    partition = cluster.group_log.partition(request.group_id)
    split, offsets = requested_offsets(
        cluster, request.topics, uses_topic_ids=version >= TOPIC_ID_VERSION_MIN
    )
    metadata_max: int = cluster.config["offset.metadata.max.bytes"]
    if (
        topic is None
        or partition is None
        or not offsets
        or split.missing
        or any(len(offset.metadata or "") > metadata_max for offset in offsets)
    ):
        return None
    commit = RepeatedCommit.of(commit_request(version, request, offsets))
    body = encode_response(version, response_topics(split, [ErrorCode.NONE] * len(offsets)))
    if commit is None or body is None:
        return None
    return RepeatedRequest(
        cluster.generation,
        version,
        CommitLayout.of(request, frame, start, end),
        commit,
        batch_bytes_max(commit.records),
        topic,
        partition,
        body,
    )
