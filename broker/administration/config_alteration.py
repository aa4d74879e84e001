"""Alter configurations at run time, for AlterConfigs and IncrementalAlterConfigs.

Each resource is changed completely or not at all, and has its own error. Sources: Kafka's
`ConfigAdminManager` (shape of the request, brokers) and `ConfigurationControlManager` with
`ControllerConfigurationValidator` (topics, groups, client metrics).
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.topics import topic_name_problem
from broker.config.broker_config import BROKER_KEYS, shared_key_message, unknown_key_message
from broker.config.keys import ConfigError, ConfigKey, ConfigType
from broker.config.resource_keys import RESOURCE_KEYS
from broker.config.topic_config import TopicConfig, validate_topic_overrides
from broker.config.topic_keys import TOPIC_KEYS
from broker.config.values import parse_value, split_list
from broker.errors import Refusal
from protocol.configs import ConfigOperation, ResourceType
from protocol.errors import ErrorCode

_BROKER_ID = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_KINDS = frozenset(ConfigOperation)
_LIST_KINDS = (ConfigOperation.APPEND, ConfigOperation.SUBTRACT)


@dataclass(frozen=True, slots=True)
class Operation:
    """One key to change. `kind` is as sent and may be an invalid ConfigOperation."""

    name: str
    kind: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Alteration:
    """Changes to one resource; a replacement first removes everything that was set."""

    resource_type: int
    resource_name: str
    operations: tuple[Operation, ...]
    is_replacement: bool


def alter_requested_configs(
    cluster: Cluster,
    broker_id: int,
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
                for config in resource.configs
            ),
            is_replacement=is_replacement,
        )
        for resource in request.resources
    ]
    refusals = alter_configs(cluster, broker_id, alterations, validate_only=request.validate_only)
    return [
        new_result(
            error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
            error_message=None if refusal is None else refusal.error_message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        for resource, refusal in zip(request.resources, refusals, strict=True)
    ]


def alter_configs(
    cluster: Cluster, broker_id: int, alterations: Sequence[Alteration], *, validate_only: bool
) -> list[Refusal | None]:
    """Change resources in request order; return a refusal for each, or None if it was changed.

    `broker_id` is the broker that serves the request; it changes no other broker's configuration.
    With `validate_only` nothing is changed.
    """
    named = [(alteration.resource_type, alteration.resource_name) for alteration in alterations]
    counts = Counter(named)
    results: list[Refusal | None] = []
    for name, alteration in zip(named, alterations, strict=True):
        if counts[name] > 1:
            results.append(_invalid_request("A resource may appear only once in a request."))
        else:
            refusal = _shape_problem(alteration)
            if refusal is None:
                refusal = _alter(cluster, broker_id, alteration, validate_only=validate_only)
            results.append(refusal)
    return results


def apply_operations(
    layer: Mapping[str, str],
    operations: Sequence[Operation],
    keys: Mapping[str, ConfigKey],
    values: Mapping[str, Any],
) -> dict[str, str] | Refusal:
    """Return the layer after the operations. APPEND and SUBTRACT start from `values` by default.

    Only lists can be appended to or subtracted from; an element occurs once.
    """
    changed = dict(layer)
    for operation in operations:
        name, text = operation.name, operation.text or ""
        if operation.kind == ConfigOperation.SET:
            changed[name] = text
        elif operation.kind == ConfigOperation.DELETE:
            changed.pop(name, None)
        else:
            key = keys.get(name)
            if key is None:
                return Refusal(ErrorCode.INVALID_CONFIG, unknown_key_message(name, keys))
            if key.config_type is not ConfigType.LIST:
                message = f"Cannot append to or subtract from {name}: its type is not LIST"
                return Refusal(ErrorCode.INVALID_CONFIG, message)
            elements = split_list(changed[name]) if name in changed else values[name] or ()
            changed[name] = ",".join(_changed_list(elements, operation.kind, split_list(text)))
    return changed


def _changed_list(
    elements: tuple[str, ...], kind: int, operands: tuple[str, ...]
) -> tuple[str, ...]:
    if kind == ConfigOperation.SUBTRACT:
        return tuple(element for element in elements if element not in operands)
    return tuple(dict.fromkeys(elements + operands))


def _shape_problem(alteration: Alteration) -> Refusal | None:
    """Check the request for a resource, before the resource itself."""
    names = Counter(operation.name for operation in alteration.operations)
    if any(count > 1 for count in names.values()):
        return _invalid_request("A configuration key may appear only once in a resource.")
    nulls = [
        operation.name
        for operation in alteration.operations
        if operation.text is None and operation.kind != ConfigOperation.DELETE
    ]
    if nulls:
        return _invalid_request(f"Null value not supported for: {', '.join(nulls)}")
    for operation in alteration.operations:
        if operation.kind not in _KINDS:
            return _invalid_request(f"Unknown operation type {operation.kind}")
    return None


def _alter(
    cluster: Cluster, broker_id: int, alteration: Alteration, *, validate_only: bool
) -> Refusal | None:
    match alteration.resource_type:
        case ResourceType.TOPIC:
            return _alter_topic(cluster, alteration, validate_only=validate_only)
        case ResourceType.BROKER:
            return _alter_broker(cluster, broker_id, alteration, validate_only=validate_only)
        case ResourceType.BROKER_LOGGER if not alteration.is_replacement:
            return _check_logger(broker_id, alteration)
        case ResourceType.GROUP | ResourceType.CLIENT_METRICS:
            return _alter_resource(cluster, alteration, validate_only=validate_only)
        case _:
            return _invalid_request(f"Unknown resource type {alteration.resource_type}")


def _alter_topic(
    cluster: Cluster, alteration: Alteration, *, validate_only: bool
) -> Refusal | None:
    """Change a topic. As in Kafka, bad keys and values come before a missing topic."""
    name = alteration.resource_name
    if not name:
        return _invalid_request("Default topic resources are not allowed.")
    problem = topic_name_problem(name)
    if problem is not None:
        return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    topic = cluster.topics.get(name)
    layer = {} if topic is None or alteration.is_replacement else topic.config.overrides
    changed = apply_operations(
        layer,
        alteration.operations,
        TOPIC_KEYS,
        TopicConfig(cluster.shared_config),
    )
    if isinstance(changed, Refusal):
        return changed
    problem = validate_topic_overrides(changed)
    if problem is not None:
        return Refusal(ErrorCode.INVALID_CONFIG, problem)
    if topic is None:
        message = f"The topic '{name}' does not exist."
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    if not validate_only:
        cluster.alter_topic_config(topic, changed)
    return None


def _alter_broker(
    cluster: Cluster, broker_id: int, alteration: Alteration, *, validate_only: bool
) -> Refusal | None:
    """Change a broker. Bad keys and values are INVALID_REQUEST, as in Kafka.

    So is a key that all brokers share, if it is set for one of several brokers.
    """
    target = None
    if alteration.resource_name:
        refusal = check_broker_name(alteration.resource_name, broker_id)
        if refusal is not None:
            return refusal
        target = broker_id
    config = cluster.config
    changed = apply_operations(
        {} if alteration.is_replacement else config.dynamic_layer(target),
        alteration.operations,
        BROKER_KEYS,
        config if target is None else config.for_broker(target),
    )
    if isinstance(changed, Refusal):
        return changed
    read_only = [
        name for name in changed if name in BROKER_KEYS if not BROKER_KEYS[name].is_dynamic
    ]
    if read_only:
        return _invalid_request(f"Cannot update these configs dynamically: {', '.join(read_only)}")
    if target is not None and len(cluster.brokers) > 1:
        for name in _set_names(alteration.operations):
            if name in BROKER_KEYS and not BROKER_KEYS[name].is_per_broker:
                return _invalid_request(f"{shared_key_message(name)}; set it without a broker id")
    try:
        new_config = config.with_dynamic(target, changed)
    except ConfigError as error:
        return _invalid_request(str(error))
    if not validate_only:
        cluster.set_config(new_config)
    return None


def _set_names(operations: Sequence[Operation]) -> list[str]:
    return [item.name for item in operations if item.kind != ConfigOperation.DELETE]


def check_broker_name(name: str, broker_id: int, allowed: str = "") -> Refusal | None:
    """Refuse another broker's id; `allowed` says what else would be accepted."""
    if not _BROKER_ID.fullmatch(name):
        return _invalid_request(f"Broker id must be an integer, but it is: {name}")
    if int(name) != broker_id:
        expected = f"{broker_id}{allowed}"
        return _invalid_request(f"Unexpected broker id, expected {expected}, but received {name}")
    return None


def _check_logger(broker_id: int, alteration: Alteration) -> Refusal | None:
    """Refuse every logger: none can be configured."""
    refusal = check_broker_name(alteration.resource_name, broker_id)
    if refusal is not None:
        return refusal
    for operation in alteration.operations:
        if operation.kind in _LIST_KINDS:
            kind = ConfigOperation(operation.kind).name
            return _invalid_request(f"{kind} is not allowed for the BROKER_LOGGER resource")
        return Refusal(ErrorCode.INVALID_CONFIG, f"Logger {operation.name} does not exist!")
    return None


def _alter_resource(
    cluster: Cluster, alteration: Alteration, *, validate_only: bool
) -> Refusal | None:
    resource_type = ResourceType(alteration.resource_type)
    if not alteration.resource_name:
        return _invalid_request(f"A {resource_type.name} resource must have a name.")
    name = (resource_type, alteration.resource_name)
    keys = RESOURCE_KEYS[resource_type]
    changed = apply_operations(
        {} if alteration.is_replacement else cluster.config.resources.get(name, {}),
        alteration.operations,
        keys,
        {key.name: key.default for key in keys.values()},
    )
    if isinstance(changed, Refusal):
        return changed
    # Kafka's errors: INVALID_CONFIG for groups, INVALID_REQUEST for client metrics.
    error_code = (
        ErrorCode.INVALID_CONFIG
        if resource_type is ResourceType.GROUP
        else ErrorCode.INVALID_REQUEST
    )
    for key_name, text in changed.items():
        key = keys.get(key_name)
        if key is None:
            return Refusal(error_code, unknown_key_message(key_name, keys))
        try:
            parse_value(key, text)
        except ConfigError as error:
            return Refusal(error_code, str(error))
    if not validate_only:
        cluster.set_config(cluster.config.with_resource(name, changed))
    return None


def _invalid_request(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, message)
