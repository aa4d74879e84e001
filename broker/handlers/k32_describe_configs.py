"""DescribeConfigs: v1-4.

Behaviour:
    - Describes topics, brokers, broker loggers, client metrics and groups, each with its own
      result. A null or empty list of keys means all; unknown names are left out.
    - A broker resource without a name describes the dynamic default of all brokers. With a name it
      must be the requested broker, else INVALID_REQUEST.
    - A broker shows every key of Apache Kafka 4.4, its own id, addresses, rack and directory, and
      the keys that only a plug-in knows, as secrets of unknown type. Keys come in Kafka's order.
    - A topic is described with the defaults of the broker that is asked.
    - The documentation of a key that Kafka does not have begins with "mock-kafka: ".
    - Synonyms list every place that sets a key, in order of precedence. The value of a sensitive
      key is null. Type and documentation are included from v3 on.
    - With an authorizer the client needs DESCRIBE_CONFIGS: on the topic or group, and on the
      cluster for the others, else the type's own error, such as TOPIC_AUTHORIZATION_FAILED. It
      comes before all other errors but that of an unknown type, and its results come last.
    - A missing topic gets UNKNOWN_TOPIC_OR_PARTITION, an invalid name INVALID_TOPIC_EXCEPTION.
      Groups and client metrics need not exist. An unknown type of resource fails the request.

    - A broker that emulates a release (broker.api.versions) lists the keys and defaults of that
      release, of those that this broker knows.

Gaps:
    - A broker logger has an empty list of keys: Kafka's loggers are classes of Java.
    - Many keys have no documentation, and the texts of the others differ from Kafka's.
"""

from collections.abc import Hashable

from broker.administration.broker_alteration import parse_node_id
from broker.administration.config_authorization import DESCRIBE_CONFIGS, deny_configs
from broker.administration.config_description import (
    ConfigEntry,
    describe_broker,
    describe_broker_defaults,
    describe_resource,
    describe_topic,
)
from broker.cluster.cluster import Cluster
from broker.cluster.topics import topic_name_problem
from broker.config.api_versions import release_of
from broker.config.described_order import HAS_JAVA_MAPS_SINCE, in_described_order
from broker.config.hash_order import in_hash_order
from broker.config.release_keys import (
    CLIENT_METRICS_DEFAULTS_SINCE,
    GROUP_RESOURCES_SINCE,
)
from broker.errors import INVALID_REQUEST_MESSAGE, Refusal
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.configs import ConfigSource, ResourceType
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced
from protocol.releases import Release

_Result = messages.DescribeConfigsResponse.DescribeConfigsResult
_Entry = _Result.DescribeConfigsResourceResult
_Synonym = _Entry.DescribeConfigsSynonym

_Described = dict[Hashable, list[_Entry] | Refusal]
"""What the results of one request have in common, by what decides it."""

_KNOWN_TYPES = frozenset(ResourceType)
_INVALID_REQUEST = Refusal(ErrorCode.INVALID_REQUEST, INVALID_REQUEST_MESSAGE)
"""The error of all resources of a request that names an unknown type."""


@handles(ApiKey.DESCRIBE_CONFIGS, checks=DESCRIBE_CONFIGS)
@may_pause
def handle_describe_configs(
    context: RequestContext, request: "messages.DescribeConfigsRequest", cluster: Cluster
) -> "messages.DescribeConfigsResponse":
    """Kafka's `ConfigHelper.handleDescribeConfigsRequest`."""
    release = release_of(cluster.config.for_broker(context.broker_id))
    types = {resource.resource_type for resource in paced(request.resources)}
    if not types <= _KNOWN_TYPES or (
        release < GROUP_RESOURCES_SINCE and ResourceType.GROUP in types
    ):
        return messages.DescribeConfigsResponse(
            version=context.api_version,
            throttle_time_ms=0,
            results=[_refused(resource, _INVALID_REQUEST) for resource in paced(request.resources)],
        )
    described: _Described = {}
    results, denied = [], []
    for resource in paced(request.resources):
        denial = deny_configs(
            context, cluster, DESCRIBE_CONFIGS, resource.resource_type, resource.resource_name
        )
        if denial is None:
            results.append(_result(cluster, context.broker_id, resource, request, described))
        else:
            denied.append(_refused(resource, denial))
    return messages.DescribeConfigsResponse(
        version=context.api_version, throttle_time_ms=0, results=results + denied
    )


def _refused(
    resource: "messages.DescribeConfigsRequest.DescribeConfigsResource", refusal: Refusal
) -> _Result:
    return _Result(
        error_code=refusal.error_code,
        error_message=refusal.error_message or "",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[],
    )


@may_pause
def _result(
    cluster: Cluster,
    broker_id: int,
    resource: "messages.DescribeConfigsRequest.DescribeConfigsResource",
    request: "messages.DescribeConfigsRequest",
    described: _Described,
) -> _Result:
    """Return the result of one resource; results with the same keys and values share them."""
    result = _Result(
        error_code=ErrorCode.NONE,
        error_message="",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[],
    )
    key = _settings(cluster, resource), tuple(resource.configuration_keys or ())
    if key not in described:
        described[key] = _entries(cluster, broker_id, resource, request)
    found = described[key]
    if isinstance(found, Refusal):
        result.error_code = found.error_code
        result.error_message = found.error_message or ""
    else:
        result.configs = found
    return result


def _settings(
    cluster: Cluster, resource: "messages.DescribeConfigsRequest.DescribeConfigsResource"
) -> Hashable:
    """Return what decides the entries of a resource: what is set for it, or else its name."""
    resource_type, name = resource.resource_type, resource.resource_name
    if resource_type == ResourceType.TOPIC:
        topic = cluster.topics.get(name)
        return resource_type, name if topic is None else tuple(topic.config.overrides.items())
    if name and resource_type in {ResourceType.GROUP, ResourceType.CLIENT_METRICS}:
        layer = cluster.config.resources.get((ResourceType(resource_type), name), {})
        return resource_type, tuple(layer.items())
    return resource_type, name


@may_pause
def _entries(
    cluster: Cluster,
    broker_id: int,
    resource: "messages.DescribeConfigsRequest.DescribeConfigsResource",
    request: "messages.DescribeConfigsRequest",
) -> list[_Entry] | Refusal:
    release = release_of(cluster.config.for_broker(broker_id))
    described = _describe(
        cluster, broker_id, resource.resource_type, resource.resource_name, release
    )
    if isinstance(described, Refusal):
        return described
    requested_keys = set(resource.configuration_keys or ())
    entries = {
        entry.key.name: entry
        for entry in described
        if not requested_keys or entry.key.name in requested_keys
    }
    if release < HAS_JAVA_MAPS_SINCE or not resource.resource_name:
        ordered = in_hash_order(entries)
    else:
        # As in Kafka the requested keys have the order that they have among all.
        names = [entry.key.name for entry in described]
        ordered = in_described_order(ResourceType(resource.resource_type), names)
    return [_to_wire(entries[name], request) for name in ordered if name in entries]


def _describe(
    cluster: Cluster, broker_id: int, resource_type: int, name: str, release: Release
) -> list[ConfigEntry] | Refusal:
    match resource_type:
        case ResourceType.TOPIC:
            return _describe_topic(cluster, broker_id, name)
        case ResourceType.BROKER if not name:
            return describe_broker_defaults(cluster.config, release)
        case ResourceType.BROKER:
            refusal = _broker_refusal(name, broker_id, f", expected {broker_id} or empty string,")
            return refusal or describe_broker(cluster.config, cluster.brokers[broker_id])
        case ResourceType.BROKER_LOGGER if not name:
            return Refusal(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
        case ResourceType.BROKER_LOGGER:
            return _broker_refusal(name, broker_id, f", expected {broker_id}") or []
        case ResourceType.GROUP if not name:
            return Refusal(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        case ResourceType.CLIENT_METRICS if not name:
            message = "Client metrics subscription name must not be empty"
            return Refusal(ErrorCode.INVALID_REQUEST, message)
        case ResourceType.CLIENT_METRICS if release < CLIENT_METRICS_DEFAULTS_SINCE:
            entries = describe_resource(cluster.config, ResourceType.CLIENT_METRICS, name, release)
            return [entry for entry in entries if entry.source != ConfigSource.DEFAULT_CONFIG]
        case _:
            return describe_resource(cluster.config, ResourceType(resource_type), name, release)


def _broker_refusal(name: str, broker_id: int, expected: str) -> Refusal | None:
    """Refuse a name that is not the id of the requested broker."""
    node_id = parse_node_id(name)
    if node_id is None:
        message = f"Broker id must be an integer, but it is: {name}"
    elif node_id != broker_id:
        message = f"Unexpected broker id{expected} but received {name}"
    else:
        return None
    return Refusal(ErrorCode.INVALID_REQUEST, message)


def _describe_topic(cluster: Cluster, broker_id: int, name: str) -> list[ConfigEntry] | Refusal:
    problem = topic_name_problem(name)
    if problem is not None:
        return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    topic = cluster.topics.get(name)
    if topic is None:
        # Without a message, as in Kafka: clients print the standard text of the code.
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
    return describe_topic(cluster.config, broker_id, topic.config.overrides)


def _to_wire(entry: ConfigEntry, request: "messages.DescribeConfigsRequest") -> _Entry:
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
        documentation=entry.key.documentation if request.include_documentation else None,
    )
