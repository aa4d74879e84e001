"""DescribeConfigs: v1-4.

Behaviour:
    - Describes topics, brokers, broker loggers, client metrics and groups, each with its own
      result. Keys are sorted by name. A null or empty list of keys means all; unknown names are
      left out.
    - A broker resource without a name describes the dynamic default of all brokers. With a name it
      must be the requested broker, else INVALID_REQUEST.
    - Synonyms list every place that sets a key, in order of precedence. The value of a sensitive
      key is null. Type and documentation are included from v3 on.
    - A missing topic gets UNKNOWN_TOPIC_OR_PARTITION, an invalid name INVALID_TOPIC_EXCEPTION.
      Groups and client metrics need not exist.

Gaps:
    - A resource type that Kafka does not know fails alone; Kafka fails the whole request.
    - A broker logger has an empty list of keys: no logger can be configured.
    - Brokers share their topics. A value that a single broker set for itself is no longer a topic's
      default once there are more brokers.
    - Keys that this broker does not know are missing, and documentation texts differ from Kafka's.
"""

from typing import Any

from broker.administration.config_alteration import check_broker_name
from broker.administration.config_description import (
    ConfigEntry,
    describe_broker,
    describe_broker_defaults,
    describe_resource,
    describe_topic,
)
from broker.cluster.cluster import Cluster
from broker.cluster.topics import topic_name_problem
from broker.errors import Refusal
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.configs import ResourceType
from protocol.errors import ErrorCode

_Result = messages.DescribeConfigsResponse.DescribeConfigsResult
_Entry = _Result.DescribeConfigsResourceResult
_Synonym = _Entry.DescribeConfigsSynonym


@handles(ApiKey.DESCRIBE_CONFIGS, versions=(1, 4))
def handle_describe_configs(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    """Kafka's `ConfigHelper.handleDescribeConfigsRequest`."""
    return messages.DescribeConfigsResponse(
        version=context.api_version,
        throttle_time_ms=0,
        results=[
            _result(cluster, context.broker_id, resource, request) for resource in request.resources
        ],
    )


def _result(cluster: Cluster, broker_id: int, resource: Any, request: Any) -> Any:
    described = _describe(cluster, broker_id, resource.resource_type, resource.resource_name)
    result = _Result(
        error_code=ErrorCode.NONE,
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[],
    )
    if isinstance(described, Refusal):
        result.error_code = described.error_code
        result.error_message = described.error_message
        return result
    requested_keys = set(resource.configuration_keys or ())
    for entry in described:
        if not requested_keys or entry.key.name in requested_keys:
            result.configs.append(_to_wire(entry, request))
    return result


def _describe(
    cluster: Cluster, broker_id: int, resource_type: int, name: str
) -> list[ConfigEntry] | Refusal:
    match resource_type:
        case ResourceType.TOPIC:
            return _describe_topic(cluster, name)
        case ResourceType.BROKER if not name:
            return describe_broker_defaults(cluster.config)
        case ResourceType.BROKER:
            refusal = check_broker_name(name, broker_id, allowed=" or empty string")
            return refusal or describe_broker(cluster.config, cluster.brokers[broker_id])
        case ResourceType.BROKER_LOGGER if not name:
            return Refusal(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
        case ResourceType.BROKER_LOGGER:
            return check_broker_name(name, broker_id) or []
        case ResourceType.GROUP | ResourceType.CLIENT_METRICS:
            kind = ResourceType(resource_type)
            if not name:
                message = f"A {kind.name} resource must have a name."
                return Refusal(ErrorCode.INVALID_REQUEST, message)
            return describe_resource(cluster.config, kind, name)
        case _:
            message = f"Unexpected resource type {resource_type} for resource {name}"
            return Refusal(ErrorCode.INVALID_REQUEST, message)


def _describe_topic(cluster: Cluster, name: str) -> list[ConfigEntry] | Refusal:
    problem = topic_name_problem(name)
    if problem is not None:
        return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    topic = cluster.topics.get(name)
    if topic is None:
        # Without a message, as in Kafka: clients print the standard text of the code.
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
    only_broker_id = next(iter(cluster.brokers)) if len(cluster.brokers) == 1 else None
    return describe_topic(cluster.config, only_broker_id, topic.config)


def _to_wire(entry: ConfigEntry, request: Any) -> Any:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return _Entry(
        name=entry.key.name,
        value=entry.text,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.key.is_sensitive,
        synonyms=[
            _Synonym(name=synonym.name, value=synonym.text, source=synonym.source)
            for synonym in synonyms
        ],
        config_type=entry.key.config_type,
        documentation=entry.key.doc if request.include_documentation else None,
    )
