"""Create the internal topics of a streams group, on behalf of a member.

Sources: Kafka's `KafkaApis.handleStreamsGroupHeartbeat`, and its
`AutoTopicCreationManager.createStreamsInternalTopics`, which keeps errors for two heartbeats and
does not try again before.
"""

from collections.abc import Mapping

from broker.administration.automatic_topics import create_automatically
from broker.administration.new_topic import BY_DEFAULT, NewTopic, check_size
from broker.authorization.checks import CREATE_CLUSTER_STATUS, CREATE_TOPIC_STATUS
from broker.cluster.cluster import Cluster
from broker.errors import Refusal
from broker.groups.streams.configured_topology import ConfiguredTopic
from broker.groups.streams.group import CreationError, StreamsGroup
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from protocol.hash_order import in_hash_order, string_hash
from protocol.pacing import may_pause, paced

_SHOWN_ERRORS_MAX = 3


@may_pause
def create_internal_topics(
    context: RequestContext,
    cluster: Cluster,
    group: StreamsGroup,
    missing: Mapping[str, ConfiguredTopic],
    retry_ms: int,
) -> str:
    """Create missing topics; return what to add to the status that they are missing.

    It has the errors of earlier attempts. A topic with an error is tried again after `retry_ms`.
    If the client may not create one of them, none is created.
    """
    denied = _denied(context, cluster, missing)
    if denied:
        return f"Unauthorized to CREATE on topics {', '.join(denied)}."
    errors = group.creation_errors
    known = {
        name: error.text
        for name in sorted(missing)
        if (error := errors.get(name)) is not None and context.now_ms < error.until_ms
    }
    topics = [_new_topic(topic) for name, topic in missing.items() if name not in known]
    too_large = check_size(cluster, topics)
    created: set[str] = set()
    for topic in paced(topics):
        refusal = too_large or create_automatically(context, cluster, topic, created)
        if refusal is not None:
            errors[topic.name] = CreationError(_text(refusal), context.now_ms + retry_ms)
    return _failures(known)


@may_pause
def _denied(context: RequestContext, cluster: Cluster, names: Mapping[str, object]) -> list[str]:
    """Return the topics that the client may not create."""
    if is_allowed(context, cluster, CREATE_CLUSTER_STATUS, is_noted=False):
        return []
    return [
        name
        for name in paced(in_hash_order(names, string_hash))
        if not is_allowed(context, cluster, CREATE_TOPIC_STATUS, name)
    ]


def _new_topic(topic: ConfiguredTopic) -> NewTopic:
    factor = topic.replication_factor
    return NewTopic(
        topic.name,
        topic.partition_count,
        BY_DEFAULT if factor is None else factor,
        overrides=topic.configs,
    )


def _text(refusal: Refusal) -> str:
    return refusal.message or refusal.error_code.name


def _failures(errors: Mapping[str, str]) -> str:
    if not errors:
        return ""
    shown = ", ".join(f"{name} ({text})" for name, text in list(errors.items())[:_SHOWN_ERRORS_MAX])
    more = len(errors) - _SHOWN_ERRORS_MAX
    return f"Creation failed: {shown}{f' and {more} more' if more > 0 else ''}."
