"""The offsets of an OffsetCommit or TxnOffsetCommit, and the order of its response.

The response names first what the group's coordinator is not asked for: unknown topics and
partitions, and topics that the client may not read. The offsets that it stores or refuses follow. A
topic with both is there once.

Sources: Kafka's `KafkaApis.handleOffsetCommitRequest` and `OffsetCommitResponse.Builder`.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from broker.authorization.checks import READ_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.groups.requests import OffsetToCommit, new_offset
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced, paced_elements

PartitionErrors: TypeAlias = list[tuple[int, ErrorCode]]
"""Partition indexes, each with its error code."""


class RequestedOffsets(NamedTuple):
    """What a request commits; topics are given by name, or by id if the request names them so."""

    offsets: list[OffsetToCommit]
    """Of the partitions that exist."""
    known: list[tuple[Any, list[int]]]
    """Topics, and the partition indexes of their offsets; none without such a partition."""
    missing: dict[Any, PartitionErrors]
    """Topics and partitions that do not exist, or that the client may not read."""


_new_requested: Callable[[Any], RequestedOffsets] = partial(tuple.__new__, RequestedOffsets)


@may_pause
def requested_offsets(
    context: RequestContext, cluster: Cluster, topics: Sequence[Any], *, uses_topic_ids: bool
) -> RequestedOffsets:
    """Return which partitions exist, and the offsets for them; `topics` is as in the request.

    An OffsetCommit names topics by id from version 10 on, a TxnOffsetCommit from version 6 on.
    Offsets have the ids of their topics then, and from Kafka 4.3 on always.
    """
    offsets: list[OffsetToCommit] = []
    known: list[tuple[Any, list[int]]] = []
    missing: dict[Any, PartitionErrors] = {}
    table, authorizer = cluster.topics, cluster.authorizer
    has_topic_ids = uses_topic_ids or cluster.group_log.has_topic_ids
    for requested in paced(topics):
        if uses_topic_ids:
            key = requested.topic_id
            topic = table.get_by_id(key)
        else:
            key = requested.name
            topic = table.get(key)
        error_code = ErrorCode.NONE
        if topic is None or authorizer is not None:
            error_code = _topic_error(context, cluster, topic, key)
        if topic is None or error_code is not ErrorCode.NONE:
            errors = missing.setdefault(key, [])
            errors += [(part.partition_index, error_code) for part in requested.partitions]
            continue
        topic_id = topic.topic_id if has_topic_ids else None
        indexes, partition_count = [], len(topic.partitions)
        for part in paced(requested.partitions):
            index = part.partition_index
            if index < 0 or index >= partition_count:
                error = index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                missing.setdefault(key, []).append(error)
                continue
            indexes.append(index)
            # fmt: off
            offsets.append(new_offset((
                topic.name, index, part.committed_offset, part.committed_leader_epoch,
                part.committed_metadata, topic_id,
            )))
            # fmt: on
        if indexes:
            known.append((key, indexes))
    return _new_requested((offsets, known, missing))


def _topic_error(
    context: RequestContext, cluster: Cluster, topic: Topic | None, key: str | UUID | None
) -> ErrorCode:
    """Return the error of a topic, or NONE; one that does not exist has a name, or an id."""
    name = key if topic is None else topic.name
    if not isinstance(name, str):
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not is_allowed(context, cluster, READ_TOPIC, name):
        return READ_TOPIC.error_code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else ErrorCode.NONE


@may_pause
def refused_topics(
    topics: Sequence[Any], error_code: ErrorCode, *, uses_topic_ids: bool
) -> list[tuple[Any, PartitionErrors]]:
    """Return the topics of the response to a request that is refused as a whole."""
    return [
        (
            topic.topic_id if uses_topic_ids else topic.name,
            [(part.partition_index, error_code) for part in topic.partitions],
        )
        for topic in paced(topics)
    ]


@may_pause
def response_topics(
    requested: RequestedOffsets, error_codes: Iterable[ErrorCode]
) -> list[tuple[Any, PartitionErrors]]:
    """Return the topics of the response; `error_codes` has one for each offset."""
    remaining = iter(error_codes)
    # The indexes come first, so a topic takes no error code of the next one.
    answered = [
        (key, list(zip(indexes, remaining, strict=False)))
        for key, indexes in paced_elements(requested.known)
    ]
    if not requested.missing:
        return answered
    merged = dict(requested.missing)
    for key, errors in paced_elements(answered):
        merged[key] = [*merged.get(key, ()), *errors]
    return list(merged.items())
