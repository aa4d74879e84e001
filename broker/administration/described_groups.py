"""Descriptions of groups of the newer protocols, as far as the client may describe them.

Sources: Kafka's `KafkaApis.handleConsumerGroupDescribe`, `handleShareGroupDescribe` and
`handleStreamsGroupDescribe`, which check topics behind the coordinator.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, TypeVar

from broker.administration.authorized_operations import GROUP_OPERATIONS, bit_field
from broker.authorization.checks import DESCRIBE_GROUP, DESCRIBE_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import behind_empty_ids
from broker.errors import Refusal
from broker.request.authorization import (
    authorized_operations,
    denied_names,
    partition_by_authorized,
)
from broker.request.context import RequestContext
from protocol.acls import ResourceType
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

HAS_HIDDEN_TOPICS = Refusal(
    DESCRIBE_TOPIC.error_code,
    "The group has described topic(s) that the client is not authorized to describe.",
)
_Group = TypeVar("_Group", bound=Any)


@may_pause
def described_groups(
    context: RequestContext,
    cluster: Cluster,
    request: Any,
    describe: Callable[[str], _Group],
    refused: Callable[[str, Refusal], _Group],
    topic_names: Callable[[_Group], Iterable[str]],
    has_hidden_topics: Refusal = HAS_HIDDEN_TOPICS,
) -> list[_Group]:
    """Return the groups of a request; those come first that the client may not describe.

    `describe` returns the group of an id, `refused` one with an error in place of a description,
    and `topic_names` the topics of a description. If some of them are hidden from the client the
    error is `has_hidden_topics`.
    """
    allowed, denied = partition_by_authorized(
        context, cluster, DESCRIBE_GROUP, request.group_ids, str
    )
    denial = Refusal(DESCRIBE_GROUP.error_code, None)
    groups = [refused(group_id, denial) for group_id in paced(denied)]
    for group_id in paced(behind_empty_ids(cluster, allowed)):
        group = describe(group_id)
        if request.include_authorized_operations and group.error_code == ErrorCode.NONE:
            operations = authorized_operations(
                context, cluster, ResourceType.GROUP, group_id, GROUP_OPERATIONS
            )
            group.authorized_operations = bit_field(operations)
        groups.append(group)
    return refuse_hidden_topics(
        context,
        cluster,
        groups,
        topic_names,
        lambda group: refused(group.group_id, has_hidden_topics),
    )


@may_pause
def refuse_hidden_topics(
    context: RequestContext,
    cluster: Cluster,
    groups: list[_Group],
    topic_names: Callable[[_Group], Iterable[str]],
    refused: Callable[[_Group], _Group],
) -> list[_Group]:
    """Return described groups; those with topics that the client may not describe as `refused`.

    `topic_names` returns the topics of a description.
    """
    if cluster.authorizer is None:
        return groups
    found = [frozenset(topic_names(group)) for group in paced(groups)]
    names = chain.from_iterable(found)
    denied = denied_names(context, cluster, DESCRIBE_TOPIC, names)
    return [
        group if denied.isdisjoint(named) else refused(group)
        for group, named in zip(groups, found, strict=True)
    ]


@may_pause
def assigned_topics(group: Any) -> Iterable[str]:
    """Return the names of the topics in the assignments of a consumer or a share group."""
    for member in paced(group.members):
        yield from (topic.topic_name for topic in member.assignment.topic_partitions)
        target = getattr(member, "target_assignment", None)
        if target is not None:
            yield from (topic.topic_name for topic in target.topic_partitions)
