"""Alter configurations at run time, for AlterConfigs and IncrementalAlterConfigs.

Each resource is changed completely or not at all, and has its own error. Sources: Kafka's
`ConfigAdminManager` (shape of the request, brokers) and `ConfigurationControlManager` with
`ControllerConfigurationValidator` (topics, groups, client metrics).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from broker.administration.broker_alteration import check_broker_alteration, parse_node_id
from broker.administration.config_authorization import ALTER_CONFIGS, deny_configs
from broker.administration.config_operations import (
    UNKNOWN_OPERATION,
    Alteration,
    Operation,
    apply_operations,
)
from broker.cluster.cluster import Cluster
from broker.cluster.topics import topic_name_problem
from broker.config.api_versions import release_of
from broker.config.broker_config import BROKER_KEYS, BrokerConfig
from broker.config.key_warnings import warn_of_keys
from broker.config.release_keys import GROUP_RESOURCES_SINCE
from broker.config.resource_keys import RESOURCE_KEYS, client_metrics_refusal, group_problem
from broker.config.synthetic_keys import fixed_key_problem
from broker.config.topic_config import validate_topic_overrides
from broker.config.topic_keys import TOPIC_KEYS
from broker.errors import Refusal
from broker.request.context import RequestContext
from protocol.configs import ConfigOperation, ResourceType
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_KINDS = frozenset(ConfigOperation)
_NAMES_RECEIVED_NODE_SINCE = (4, 1)
"""Older brokers name themselves twice in the message about another broker's loggers."""
VALUE_CHARACTERS_MAX = 32_767

Change = Callable[[], None]
"""Carries out a checked alteration."""

Deny = Callable[[Alteration], Refusal | None]
"""Returns why the client may not make an alteration, or None."""


@may_pause
def alter_requested_configs(
    context: RequestContext,
    cluster: Cluster,
    request: Any,
    new_result: Callable[..., Any],
    *,
    is_replacement: bool,
) -> list[Any]:
    """Carry out a request; return one `new_result(...)` for each of its resources.

    With `is_replacement` it is an AlterConfigs request, else an IncrementalAlterConfigs request.
    """
    alterations = [
        Alteration(
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            operations=tuple(
                Operation(
                    config.name,
                    ConfigOperation.SET if is_replacement else config.config_operation,
                    config.value,
                )
                for config in paced(resource.configs)
            ),
            is_replacement=is_replacement,
        )
        for resource in paced(request.resources)
    ]
    refusals = alter_configs(
        cluster,
        context.broker_id,
        alterations,
        validate_only=request.validate_only,
        deny=lambda alteration: deny_configs(
            context, cluster, ALTER_CONFIGS, alteration.resource_type, alteration.resource_name
        ),
    )
    return [
        new_result(
            error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
            error_message=None if refusal is None else refusal.error_message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        for resource, refusal in paced(zip(request.resources, refusals, strict=True))
    ]


@may_pause
def alter_configs(
    cluster: Cluster,
    broker_id: int,
    alterations: Sequence[Alteration],
    *,
    validate_only: bool,
    deny: Deny = lambda _alteration: None,
) -> list[Refusal | None]:
    """Change resources in request order; return a refusal for each, or None if it was changed.

    `broker_id` is the broker that serves the request; it changes no other broker's configuration.
    With `validate_only` nothing is changed. An unknown operation fails all resources that the
    broker does not refuse itself, as it fails Kafka's controller.
    """
    counts = Counter((a.resource_type, a.resource_name) for a in alterations)
    results: list[Refusal | None] = []
    for alteration in paced(alterations):
        if counts[alteration.resource_type, alteration.resource_name] > 1:
            results.append(_invalid_request("Each resource must appear at most once."))
        else:
            results.append(_preprocess(cluster, broker_id, alteration, deny))
    of_controller = [
        index
        for index, refusal in enumerate(results)
        if refusal is None and alterations[index].resource_type != ResourceType.BROKER_LOGGER
    ]
    for index in paced(of_controller):
        if alterations[index].resource_type != ResourceType.BROKER:  # those are allowed already
            results[index] = deny(alterations[index])
    allowed = [index for index in of_controller if results[index] is None]
    if any(_meets_unknown_operation(alterations[index]) for index in paced(allowed)):
        for index in of_controller:
            results[index] = UNKNOWN_OPERATION
        return results
    for index in paced(allowed):
        change = _check_current(cluster, broker_id, alterations[index])
        if isinstance(change, Refusal):
            results[index] = change
        elif not validate_only:
            _warn(cluster, alterations[index])
            change()
    return results


def _warn(cluster: Cluster, alteration: Alteration) -> None:
    """Write lines for repeated elements, and for keys without an effect."""
    resource_type = ResourceType(alteration.resource_type)
    keys = {**RESOURCE_KEYS, ResourceType.BROKER: BROKER_KEYS, ResourceType.TOPIC: TOPIC_KEYS}
    set_texts = {
        operation.name: operation.text or ""
        for operation in alteration.operations
        if operation.kind == ConfigOperation.SET
    }
    release = release_of(cluster.shared_config)
    warn_of_keys(keys[resource_type], set_texts, release)


@may_pause
def _preprocess(
    cluster: Cluster, broker_id: int, alteration: Alteration, deny: Deny
) -> Refusal | None:
    """Check what Kafka's broker checks before it forwards the request to the controller."""
    names = Counter(operation.name for operation in paced(alteration.operations))
    if len(names) < len(alteration.operations):
        return _invalid_request("Error due to duplicate config keys")
    nulls = [
        operation.name
        for operation in paced(alteration.operations)
        if operation.text is None and operation.kind != ConfigOperation.DELETE
    ]
    if nulls:
        return _invalid_request(f"Null value not supported for : {', '.join(nulls)}")
    match alteration.resource_type:
        case ResourceType.BROKER:
            if deny(alteration) is not None:
                return Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
            changed = check_broker_alteration(cluster, broker_id, alteration)
            return changed if isinstance(changed, Refusal) else None
        case ResourceType.BROKER_LOGGER if not alteration.is_replacement:
            if deny(alteration) is not None:
                return Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
            return _check_logger(cluster, broker_id, alteration)
        case ResourceType.GROUP if release_of(cluster.shared_config) >= GROUP_RESOURCES_SINCE:
            return None
        case ResourceType.TOPIC | ResourceType.CLIENT_METRICS:
            return None
        case _:
            return _invalid_request(f"Unknown resource type {alteration.resource_type}")


@may_pause
def _meets_unknown_operation(alteration: Alteration) -> bool:
    """Whether Kafka's controller comes to an unknown operation before it refuses the resource."""
    is_topic = alteration.resource_type == ResourceType.TOPIC
    keys = TOPIC_KEYS if is_topic else {}
    applied = apply_operations({}, alteration.operations, keys, has_lists=is_topic)
    return applied is UNKNOWN_OPERATION


@may_pause
def _check_current(cluster: Cluster, broker_id: int, alteration: Alteration) -> Change | Refusal:
    """Check one resource; check it again if another request changed something during a pause."""
    while True:
        config = cluster.config
        topic = cluster.topics.get(alteration.resource_name)
        topic_config = None if topic is None else topic.config
        change = _check(cluster, broker_id, alteration)
        if (
            cluster.config is config
            and cluster.topics.get(alteration.resource_name) is topic
            and (topic is None or topic.config is topic_config)
        ):
            return change


@may_pause
def _check(cluster: Cluster, broker_id: int, alteration: Alteration) -> Change | Refusal:
    """Return the change of one resource, or why Kafka's controller refuses it."""
    too_long = any(len(o.text or "") > VALUE_CHARACTERS_MAX for o in paced(alteration.operations))
    if too_long:
        message = (
            "The configuration value cannot be added because it exceeds the maximum value size of"
            f" {VALUE_CHARACTERS_MAX} bytes."
        )
        return Refusal(ErrorCode.INVALID_CONFIG, message)
    match alteration.resource_type:
        case ResourceType.TOPIC:
            return _check_topic(cluster, alteration)
        case ResourceType.BROKER:
            return _check_broker(cluster, broker_id, alteration)
        case _:
            return _check_resource(cluster, alteration)


@may_pause
def _check_topic(cluster: Cluster, alteration: Alteration) -> Change | Refusal:
    """As in Kafka, bad keys and values come before a missing topic."""
    name = alteration.resource_name
    topic = cluster.topics.get(name)
    layer = {} if topic is None or alteration.is_replacement else topic.config.overrides
    changed = apply_operations(layer, alteration.operations, TOPIC_KEYS)
    if isinstance(changed, Refusal):
        return changed
    if not name:
        return _invalid_request("Default topic resources are not allowed.")
    problem = topic_name_problem(name)
    if problem is not None:
        return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    problem = validate_topic_overrides(changed, release_of(cluster.shared_config))
    if problem is not None:
        return Refusal(ErrorCode.INVALID_CONFIG, problem)
    if topic is None:
        message = f"The topic '{name}' does not exist."
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    problem = fixed_key_problem(topic.config.overrides, changed)
    if problem is not None:
        return Refusal(ErrorCode.INVALID_CONFIG, problem)
    return lambda: cluster.alter_topic_config(topic, changed)


@may_pause
def _check_broker(cluster: Cluster, broker_id: int, alteration: Alteration) -> Change | Refusal:
    """Check again: another resource of the request may have changed the brokers."""
    config = check_broker_alteration(cluster, broker_id, alteration)
    if isinstance(config, Refusal):
        return config
    if cluster.features.has_eligible_leader_replicas:
        before = cluster.config.dynamic_layer(None if not alteration.resource_name else broker_id)
        refusal = _min_isr_refusal(alteration, before)
        if refusal is not None:
            return refusal
    return partial(_adopt, cluster, config, broker_id if alteration.resource_name else None)


@may_pause
def _adopt(cluster: Cluster, config: BrokerConfig, broker_id: int | None) -> None:
    cluster.set_config(config)
    if broker_id is not None and cluster.certificates is not None:
        cluster.certificates.reload(broker_id)


@may_pause
def _min_isr_refusal(alteration: Alteration, layer: Mapping[str, str]) -> Refusal | None:
    """Refuse `min.insync.replicas` of one broker, and its removal from all (KIP-966)."""
    name = "min.insync.replicas"
    operations = {operation.name: operation.kind for operation in paced(alteration.operations)}
    is_removed = operations.get(name) == ConfigOperation.DELETE or (
        alteration.is_replacement and name in layer and name not in operations
    )
    if alteration.resource_name and (name in operations or is_removed):
        message = f"Broker-level {name} cannot be altered while ELR is enabled."
        return Refusal(ErrorCode.INVALID_CONFIG, message)
    if is_removed:
        message = f"Cluster-level {name} cannot be removed while ELR is enabled."
        return Refusal(ErrorCode.INVALID_CONFIG, message)
    return None


@may_pause
def _check_logger(cluster: Cluster, broker_id: int, alteration: Alteration) -> Refusal | None:
    """Refuse every change: there is one logger, `root`, and its level cannot be set."""
    node_id = parse_node_id(alteration.resource_name)
    if node_id is None:
        message = f"Node id must be an integer, but it is: {alteration.resource_name}"
        return _invalid_request(message)
    if node_id != broker_id:
        if release_of(cluster.shared_config) < _NAMES_RECEIVED_NODE_SINCE:
            node_id = broker_id
        return _invalid_request(f"Unexpected node id. Expected {broker_id}, but received {node_id}")
    for operation in paced(alteration.operations):
        refusal = _logger_refusal(operation)
        if refusal is not None:
            return refusal
    return None


def _logger_refusal(operation: Operation) -> Refusal | None:
    if operation.kind in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT):
        kind = ConfigOperation(operation.kind).name
        return _invalid_request(f"{kind} operation is not allowed for the BROKER_LOGGER resource")
    if operation.kind not in _KINDS:
        return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, None)
    return Refusal(ErrorCode.INVALID_CONFIG, f"Logger {operation.name} does not exist!")


@may_pause
def _check_resource(cluster: Cluster, alteration: Alteration) -> Change | Refusal:
    """Check a group or client metrics."""
    resource_type = ResourceType(alteration.resource_type)
    name = (resource_type, alteration.resource_name)
    changed = apply_operations(
        {} if alteration.is_replacement else cluster.config.resources.get(name, {}),
        alteration.operations,
        RESOURCE_KEYS[resource_type],
        has_lists=False,
    )
    if isinstance(changed, Refusal):
        return changed
    refusal = _resource_refusal(cluster, name, changed)
    if refusal is not None:
        return refusal
    return lambda: cluster.set_config(cluster.config.with_resource(name, changed))


@may_pause
def _resource_refusal(
    cluster: Cluster, name: tuple[ResourceType, str], layer: Mapping[str, str]
) -> Refusal | None:
    resource_type, resource_name = name
    if resource_type is ResourceType.CLIENT_METRICS:
        if not resource_name:
            return _invalid_request("Subscription name can't be empty")
        return client_metrics_refusal(layer, release_of(cluster.shared_config))
    if not resource_name:
        return _invalid_request("Default group resources are not allowed.")
    problem = group_problem(layer, cluster.config)
    return None if problem is None else Refusal(ErrorCode.INVALID_CONFIG, problem)


def _invalid_request(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, message)
