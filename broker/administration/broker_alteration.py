"""Check changes of a broker's keys at run time.

Sources: Kafka's `ConfigAdminManager.validateBrokerConfigChange` and
`DynamicBrokerConfig.validateConfigs`. Bad keys and values are INVALID_REQUEST.
"""

import re
from collections.abc import Mapping, Sequence
from copy import copy

from broker.administration.config_operations import Alteration, Operation, change_list
from broker.administration.listener_alteration import listener_problem
from broker.cluster.cluster import Cluster
from broker.config.api_versions import release_of
from broker.config.broker_config import (
    BROKER_KEYS,
    RENAMED_KEYS,
    BrokerConfig,
    shared_key_message,
    unknown_key_message,
)
from broker.config.broker_requirements import change_problem
from broker.config.config_providers import resolved, without_providers
from broker.config.hash_order import in_hash_order
from broker.config.keys import (
    ConfigError,
    ConfigKey,
    ConfigType,
    ListRule,
    UpdateMode,
    shortened,
)
from broker.config.listener_values import ADVERTISED_LISTENERS
from broker.config.release_keys import DYNAMIC_KEYS_IN_JAVA_SINCE, is_known, key_in
from broker.config.security_keys import STORE_KEYS
from broker.config.synonyms import LISTENER_KEY
from broker.config.values import elements_of, format_value, parse_value, split_list
from broker.errors import Refusal
from protocol.configs import ConfigOperation
from protocol.errors import ErrorCode
from protocol.pacing import may_pause
from protocol.releases import Release

_NODE_ID = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_SET_CLASS_SIZE_MAX = 4
"""Scala has separate classes for sets up to this size, which print as `Set`."""

REPETITIONS_REFUSED_SINCE: Release = (4, 4)
"""First release that refuses a list that repeats elements at run time; at the start it warns."""

_CLUSTER_LEVELLISTENER_KEYS = frozenset(
    {"max.connections", "max.connection.creation.rate", "num.network.threads"}
)


@may_pause
def check_broker_alteration(
    cluster: Cluster, broker_id: int, alteration: Alteration
) -> BrokerConfig | Refusal:
    """Return the configuration after a change of one broker, or without a name of all."""
    target = None
    if alteration.resource_name:
        node_id = parse_node_id(alteration.resource_name)
        if node_id is None:
            return _refuse(f"Node id must be an integer, but it is: {alteration.resource_name}")
        if node_id != broker_id:
            name = alteration.resource_name
            return _refuse(f"Unexpected broker id, expected {broker_id}, but received {name}")
        target = broker_id
    config = cluster.config
    layer = {} if alteration.is_replacement else config.dynamic_layer(target)
    release = release_of(config.for_broker(broker_id))
    changed = _apply(layer, alteration.operations, release)
    if isinstance(changed, Refusal):
        return changed
    try:
        problem = _layer_problem(changed, release, is_one_broker=target is not None)
        if problem is not None:
            return _refuse(problem)
        new_config = config.with_dynamic(target, changed)
    except ConfigError as error:
        return _refuse(str(error))
    problem = change_problem(config.for_broker(broker_id), new_config.for_broker(broker_id))
    if problem is None:
        problem = listener_problem(cluster, broker_id, new_config)
    if problem is not None:
        return _refuse(_invalid_change(problem))
    if target is not None:
        problem = _own_value_problem(cluster, alteration.operations, changed, target)
    return new_config if problem is None else _refuse(problem)


def parse_node_id(name: str) -> int | None:
    """Return a node id as Java's `Integer.parseInt` reads it, or None."""
    return int(name) if _NODE_ID.fullmatch(name) and -(1 << 31) <= int(name) < 1 << 31 else None


def _apply(
    layer: Mapping[str, str], operations: Sequence[Operation], release: Release
) -> dict[str, str] | Refusal:
    """Return the layer after the operations, with the errors of Kafka's `ConfigAdminManager`."""
    for operation in operations:
        if operation.kind not in frozenset(ConfigOperation):
            return _refuse(f"Unknown operations type {operation.kind}")
    changed = dict(layer)
    for operation in operations:
        name, text = operation.name, operation.text or ""
        if operation.kind == ConfigOperation.SET:
            changed[name] = text
        elif operation.kind == ConfigOperation.DELETE:
            changed.pop(name, None)
        else:
            key = BROKER_KEYS.get(name)
            if key is None or not is_known(name, release):
                return _unknown_list(name, release)
            if key_in(key, release).config_type is not ConfigType.LIST:
                kind = ConfigOperation(operation.kind).name.lower()
                message = f"Config value {kind} is not allowed for config key: {name}"
                return Refusal(ErrorCode.INVALID_CONFIG, message)
            before = changed.get(name, format_value(key.default) or "")
            changed[name] = change_list(before, operation.kind, text)
    return changed


def _unknown_list(name: str, release: Release) -> Refusal:
    """Refuse to append to a key that only a plug-in knows, or to subtract from it."""
    if release < DYNAMIC_KEYS_IN_JAVA_SINCE:
        return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, None)
    return Refusal(ErrorCode.INVALID_CONFIG, f"Unknown config name: {name}")


@may_pause
def _layer_problem(
    layer: Mapping[str, str], release: Release, *, is_one_broker: bool
) -> str | None:
    """Return why keys cannot be set at this level, or None; ConfigError for an invalid value."""
    names = in_hash_order(layer)
    renamed = [name for name in names if name in RENAMED_KEYS]
    if renamed:
        return unknown_key_message(renamed[0], BROKER_KEYS)
    values = without_providers(resolved(layer))
    known = [name for name in names if name in BROKER_KEYS and is_known(name, release)]
    fixed = [name for name in known if not BROKER_KEYS[name].is_dynamic]
    if fixed:
        return f"Cannot update these configs dynamically: {_shown_set(fixed, release)}"
    secured = [name for name in names if name in STORE_KEYS]
    if secured:
        return (
            "These security configs can be dynamically updated only per-listener using the listener"
            f" prefix: {_shown_set(secured, release, is_always_hash_set=True)}"
        )
    for name in (name for name in names if name in values):
        match = LISTENER_KEY.fullmatch(name)
        key = BROKER_KEYS.get(match[1] if match else name)
        if key is not None and key.is_dynamic:
            problem = _repetition_problem(key, values[name], release)
            if problem is not None:
                return problem
            try:
                parse_value(key_in(key, release), values[name])
            except ConfigError:
                if values[name] == layer[name]:
                    raise
                return f"Invalid value {shortened(layer[name])} for configuration {name}"
    own = [name for name in names if _needs_broker_id(name)]
    if own and not is_one_broker:
        return (
            "Cannot update these configs at default cluster level, broker id must be specified:"
            f" {_shown_set(own, release)}"
        )
    return None


def _repetition_problem(key: ConfigKey, text: str, release: Release) -> str | None:
    """Refuse a list that repeats elements, as Kafka does at run time from 4.4 on."""
    if release < REPETITIONS_REFUSED_SINCE or not isinstance(key.check, ListRule):
        return None
    elements = split_list(text)
    if len(set(elements)) == len(elements):
        return None
    return f"Configuration '{key.name}' values must not be duplicated."


def _needs_broker_id(name: str) -> bool:
    match = LISTENER_KEY.fullmatch(name)
    if match is not None:
        return match[1] not in _CLUSTER_LEVELLISTENER_KEYS
    own_modes = {UpdateMode.ONE_BROKER, UpdateMode.ONE_BROKER_OF_MOCK}
    return name in BROKER_KEYS and BROKER_KEYS[name].update_mode in own_modes


def _own_value_problem(
    cluster: Cluster, operations: Sequence[Operation], layer: Mapping[str, str], broker_id: int
) -> str | None:
    """Return why this broker cannot have these values for itself, or None."""
    before = cluster.config.for_broker(broker_id)
    if "listeners" in layer and split_list(layer["listeners"]) != elements_of(before["listeners"]):
        return "listeners are bound at the start and cannot be changed"
    if ADVERTISED_LISTENERS in layer:
        try:
            copy(cluster.brokers[broker_id]).alter_endpoints(layer[ADVERTISED_LISTENERS])
        except ValueError as error:
            return f"{ADVERTISED_LISTENERS}: {error}"
    if len(cluster.brokers) > 1:
        for operation in operations:
            key = BROKER_KEYS.get(operation.name)
            if operation.kind == ConfigOperation.DELETE or key is None:
                continue
            if key.update_mode is UpdateMode.CLUSTER_WIDE and key.is_enforced:
                return f"{shared_key_message(operation.name)}; set it without a broker id"
    return None


def _shown_set(names: Sequence[str], release: Release, *, is_always_hash_set: bool = False) -> str:
    """Return names as Scala prints a set of them, or Java in newer releases."""
    if release >= DYNAMIC_KEYS_IN_JAVA_SINCE:
        return f"[{', '.join(names)}]"
    is_small = len(names) <= _SET_CLASS_SIZE_MAX and not is_always_hash_set
    prefix = "Set" if is_small else "HashSet"
    return f"{prefix}({', '.join(names)})"


def _invalid_change(problem: str) -> str:
    return (
        f"Invalid value org.apache.kafka.common.config.ConfigException: {problem} for configuration"
        " Invalid dynamic configuration"
    )


def _refuse(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, message)
