"""Descriptions of groups whose topics the client may not describe: an error takes their place.

Source: Kafka's `KafkaApis.handleConsumerGroupDescribe`, which checks topics behind the coordinator.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, TypeVar

from broker.authorization.checks import DESCRIBE_TOPIC
from broker.cluster.cluster import Cluster
from broker.errors import Refusal
from broker.request.authorization import denied_names
from broker.request.context import RequestContext
from protocol.pacing import may_pause, paced

HAS_HIDDEN_TOPICS = Refusal(
    DESCRIBE_TOPIC.error_code,
    "The group has described topic(s) that the client is not authorized to describe.",
)
_Group = TypeVar("_Group")


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
