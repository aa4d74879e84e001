# ruff: noqa: E501
"""The keys of groups and of client metrics (Kafka's `GroupConfig` and `ClientMetricsConfigs`).

Those of groups are read by the coordinators, those of client metrics by GetTelemetrySubscriptions.

Sources of the messages: Kafka's `GroupConfig.validate` and `ClientMetricsConfigs.validate`.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from broker.config.api_versions import release_of
from broker.config.broker_config import BrokerConfig
from broker.config.effects import (
    THREADS,
    UNUSED_BY_KAFKA,
)
from broker.config.hash_order import in_hash_order
from broker.config.keys import (
    BOOLEAN,
    INT,
    LIST,
    LONG,
    READ_ONLY,
    STRING,
    ConfigError,
    ConfigKey,
    ListRule,
    by_name,
    unseen_key,
)
from broker.config.release_keys import is_known, key_in
from broker.config.repeated_elements import TAGS, repetition_problem
from broker.config.values import (
    at_least,
    one_of,
    parse_value,
    share_auto_offset_reset,
)
from broker.errors import Refusal
from protocol.configs import ConfigSource, ResourceType
from protocol.errors import ErrorCode
from protocol.pacing import may_pause
from protocol.regular_expressions import regex_problem
from protocol.releases import Release

# fmt: off
GROUP_RESOURCE_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("consumer.session.timeout.ms",    INT,    45_000,             at_least(1),              READ_ONLY, "Time without a heartbeat after which a member is removed."),
    ConfigKey("consumer.heartbeat.interval.ms", INT,    5000,               at_least(1),              READ_ONLY, "Time between a consumer's heartbeats."),
    ConfigKey("consumer.assignment.interval.ms", INT,   0,                  at_least(0),              READ_ONLY, "Time between two computations of the target assignment of a consumer group. Kafka's default is 1000."),
    unseen_key("consumer.assignor.offload.enable", BOOLEAN, True,            None,                     READ_ONLY, "Whether another thread of Kafka computes the assignments of a consumer group.", is_internal=True, reason=THREADS),
    ConfigKey("share.session.timeout.ms",       INT,    45_000,             at_least(1),              READ_ONLY, "Time without a heartbeat after which a member of a share group is removed."),
    ConfigKey("share.heartbeat.interval.ms",    INT,    5000,               at_least(1),              READ_ONLY, "Time between the heartbeats of a member of a share group."),
    ConfigKey("share.record.lock.duration.ms",  INT,    30_000,             at_least(1000),             READ_ONLY, "Time that a member of a share group holds a record."),
    ConfigKey("share.delivery.count.limit",     INT,    5,                  at_least(2),              READ_ONLY, "Deliveries of a record after which it is archived."),
    ConfigKey("share.partition.max.record.locks", INT,  2000,               at_least(100),            READ_ONLY, "Records of a partition that may be in flight."),
    ConfigKey("share.auto.offset.reset",        STRING, "latest",           share_auto_offset_reset,                    READ_ONLY, "Where a share group starts: earliest, latest or by_duration:PT1H."),
    ConfigKey("share.isolation.level",          STRING, "read_uncommitted", one_of("read_committed", "read_uncommitted"), READ_ONLY, "Whether a share group sees records of open transactions."),
    ConfigKey("share.renew.acknowledge.enable", BOOLEAN, True,              None,                     READ_ONLY, "Whether members may renew the locks of records."),
    ConfigKey("share.assignment.interval.ms",   INT,    0,                  at_least(0),              READ_ONLY, "Time between two computations of the target assignment of a share group. Kafka's default is 1000."),
    unseen_key("share.assignor.offload.enable", BOOLEAN, True,               None,                     READ_ONLY, "Whether another thread of Kafka computes the assignments of a share group.", is_internal=True, reason=THREADS),
    ConfigKey("streams.session.timeout.ms",     INT,    45_000,             at_least(1),              READ_ONLY, "Time without a heartbeat after which a member of a streams group is removed."),
    ConfigKey("streams.heartbeat.interval.ms",  INT,    5000,               at_least(1),              READ_ONLY, "Time between the heartbeats of a member of a streams group."),
    ConfigKey("streams.num.standby.replicas",   INT,    0,                  at_least(0),              READ_ONLY, "Standby copies of each task of a streams group."),
    ConfigKey("streams.initial.rebalance.delay.ms", INT, 0,                 at_least(0),              READ_ONLY, "Time the first assignment of an empty streams group waits for more members. Kafka's default is 3000."),
    ConfigKey("streams.assignment.interval.ms", INT,    0,                  at_least(0),              READ_ONLY, "Time between two computations of the tasks of a streams group. Kafka's default is 1000."),
    unseen_key("streams.assignor.offload.enable", BOOLEAN, True,            None,                     READ_ONLY, "Whether another thread of Kafka computes the tasks of a streams group.", is_internal=True, reason=THREADS),
    ConfigKey("streams.task.offset.interval.ms", INT,   60_000,             at_least(1),              READ_ONLY, "Time between the task offsets that a member of a streams group reports.", is_internal=True),
    unseen_key("streams.num.warmup.replicas",   INT,    2,                  at_least(0),              READ_ONLY, "Warm-up copies of tasks of a streams group; Kafka 4.4 assigns none.", is_internal=True, reason=UNUSED_BY_KAFKA),
    ConfigKey("streams.rack.aware.assignment.tags", LIST, (),                 ListRule(),               READ_ONLY, "Tags of clients of a streams group; a change begins a new epoch. The assignor of Kafka 4.4 does not read them."),
    ConfigKey("streams.acceptable.recovery.lag", LONG,  10_000,             at_least(0),              READ_ONLY, "Lag with which a member of a streams group counts as caught up.", is_internal=True),
    ConfigKey("streams.assignor.name",          STRING, None,               None,                     READ_ONLY, "The assignor of a streams group."),
    ConfigKey("errors.deadletterqueue.topic.name", STRING, "",              None,                     READ_ONLY, "The dead letter queue of a share group; none by default."),
    ConfigKey("errors.deadletterqueue.copy.record.enable", BOOLEAN, False,  None,                     READ_ONLY, "Whether records of the dead letter queue have the key and the value of the dead letter."),
)

CLIENT_METRICS_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("metrics",     LIST, (),      ListRule(),              READ_ONLY, "Prefixes of the metrics that clients send."),
    ConfigKey("interval.ms", INT,  300_000, None, READ_ONLY, "Time between two pushes of metrics."),
    ConfigKey("match",       LIST, (),      ListRule(),              READ_ONLY, "Clients that send these metrics."),
)
# fmt: on

RESOURCE_KEYS: Mapping[ResourceType, Mapping[str, ConfigKey]] = MappingProxyType(
    {
        ResourceType.GROUP: MappingProxyType(by_name(GROUP_RESOURCE_KEYS)),
        ResourceType.CLIENT_METRICS: MappingProxyType(by_name(CLIENT_METRICS_KEYS)),
    }
)
"""Keys by the type of resource, for the two types that are neither broker nor topic."""

RESOURCE_SOURCES: Mapping[ResourceType, ConfigSource] = MappingProxyType(
    {
        ResourceType.GROUP: ConfigSource.DYNAMIC_GROUP_CONFIG,
        ResourceType.CLIENT_METRICS: ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
    }
)

MATCH_PARAMETERS = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)
"""What a `match` of client metrics may compare."""

_ASSIGNOR = "streams.assignor.name"
_INTERVAL = ".assignment.interval.ms"
"""The end of keys that Kafka 4.3 checks only if they are set."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})

# These keys of a group get their default from the broker's key with `group.` before the name.
_WITH_BROKER_DEFAULT = (
    "consumer.heartbeat.interval.ms",
    "consumer.session.timeout.ms",
    "consumer.assignment.interval.ms",
    "share.heartbeat.interval.ms",
    "share.session.timeout.ms",
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
    "share.assignment.interval.ms",
)
_SWITCHES_WITH_BROKER_DEFAULT = (
    "consumer.assignor.offload.enable",
    "share.assignor.offload.enable",
    "streams.assignor.offload.enable",
)
_STREAMS_WITH_BROKER_DEFAULT = (
    "streams.acceptable.recovery.lag",
    "streams.assignment.interval.ms",
    "streams.heartbeat.interval.ms",
    "streams.initial.rebalance.delay.ms",
    "streams.num.standby.replicas",
    "streams.num.warmup.replicas",
    "streams.rack.aware.assignment.tags",
    "streams.session.timeout.ms",
    "streams.task.offset.interval.ms",
)
GROUP_BROKER_KEYS: Mapping[str, str] = MappingProxyType(
    {
        name: f"group.{name}"
        for name in (
            *_WITH_BROKER_DEFAULT,
            *_SWITCHES_WITH_BROKER_DEFAULT,
            *_STREAMS_WITH_BROKER_DEFAULT,
        )
    }
    | {_ASSIGNOR: "group.streams.assignors"}
)
"""The broker's keys that keys of groups get their values from."""


def _bounds(name: str) -> tuple[str, str]:
    kind, _, rest = name.partition(".")
    return f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest}"


_BOUNDS: Mapping[str, tuple[str | None, str | None]] = MappingProxyType(
    {
        **{name: _bounds(name) for name in _WITH_BROKER_DEFAULT},
        "streams.heartbeat.interval.ms": _bounds("streams.heartbeat.interval.ms"),
        "streams.session.timeout.ms": _bounds("streams.session.timeout.ms"),
        "streams.num.standby.replicas": (None, "group.streams.max.standby.replicas"),
        "streams.assignment.interval.ms": _bounds("streams.assignment.interval.ms"),
        "streams.task.offset.interval.ms": ("group.streams.min.task.offset.interval.ms", None),
        "streams.num.warmup.replicas": (None, "group.streams.max.warmup.replicas"),
    }
)
"""The broker's keys with the lowest and the highest value of each key, as Kafka checks them."""

BROKER_VALUES_COUNT_SINCE: Release = (4, 3)
"""First release that checks a group with the broker's values of keys that are not set."""

BOUNDS_HOLD_LATER_SINCE: Release = (4, 3)
"""First release that keeps to the bounds it has now, also with values that were set before."""

ONLY_SET_KEYS_COUNT_SINCE: Release = (4, 4)
"""First release that checks only the keys that a group sets, and shows the bounds of each."""


def group_defaults(broker_values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a group without a configuration, which are the broker's."""
    defaults = {name: key.default for name, key in RESOURCE_KEYS[ResourceType.GROUP].items()}
    defaults |= {name: broker_values[key] for name, key in GROUP_BROKER_KEYS.items()}
    return defaults | {_ASSIGNOR: broker_values[GROUP_BROKER_KEYS[_ASSIGNOR]][0]}


def group_setting(config: BrokerConfig, group_id: str, key: str) -> Any:
    """Return a value of a group: its own, the broker's `group.KEY`, or the default.

    Its own was within the bounds of the broker when it was set; if these have changed, the nearest
    value counts that they allow (Kafka's `GroupConfig.evaluate`).
    """
    resources = config.resources
    if resources:  # each heartbeat comes here
        layer = resources.get((ResourceType.GROUP, group_id))
        if layer is not None and key in layer:
            release = release_of(config)
            own = key_in(RESOURCE_KEYS[ResourceType.GROUP][key], release)
            value = parse_value(own, layer[key])
            return _clamp(key, value, config) if release >= BOUNDS_HOLD_LATER_SINCE else value
    broker_key = GROUP_BROKER_KEYS.get(key)
    if broker_key is not None:
        return config[broker_key]
    return RESOURCE_KEYS[ResourceType.GROUP][key].default


def _clamp(name: str, value: Any, broker_values: Mapping[str, Any]) -> Any:
    low_key, high_key = _BOUNDS.get(name, (None, None))
    if low_key is not None and value < broker_values[low_key]:
        return broker_values[low_key]
    return value if high_key is None else min(value, broker_values[high_key])


@may_pause
def group_problem(layer: Mapping[str, str], broker_values: Mapping[str, Any]) -> str | None:
    """Return why a group cannot have this configuration, or None.

    Keys that are not set count with Kafka's default before 4.3, and with the broker's in 4.3.
    """
    release = release_of(broker_values)
    keys = RESOURCE_KEYS[ResourceType.GROUP]
    for name in in_hash_order(layer):
        if name not in keys or not is_known(name, release):
            return f"Unknown group config name: {name}"
    problem = repetition_problem(TAGS, layer.get(TAGS, ""))
    if problem is not None:
        return problem
    try:
        values = _parse(GROUP_RESOURCE_KEYS, layer, release)
    except ConfigError as error:
        return str(error)
    if release >= ONLY_SET_KEYS_COUNT_SINCE:
        return (
            _bound_problem(values, broker_values, shows_bounds=True)
            or _assignor_problem(values, broker_values)
            or _heartbeat_problem(values, group_defaults(broker_values))
            or _dead_letter_topic_problem(values)
        )
    if release >= BROKER_VALUES_COUNT_SINCE:
        defaults = group_defaults(broker_values)
    else:
        defaults = {name: key.default for name, key in keys.items()}
    others = {name: value for name, value in defaults.items() if not name.endswith(_INTERVAL)}
    return _bound_problem(others | values, broker_values, shows_bounds=False) or _heartbeat_problem(
        others | values
    )


def _assignor_problem(values: Mapping[str, Any], broker_values: Mapping[str, Any]) -> str | None:
    known = broker_values[GROUP_BROKER_KEYS[_ASSIGNOR]]
    name = values.get(_ASSIGNOR)
    if name is None or name in known:
        return None
    return (
        f"{_ASSIGNOR} '{name}' is not a registered task assignor. Registered assignors are:"
        f" [{', '.join(known)}]."
    )


def _dead_letter_topic_problem(values: Mapping[str, Any]) -> str | None:
    name = "errors.deadletterqueue.topic.name"
    if values.get(name, "").startswith("__"):
        return f"{name}: DLQ topic name must not start with '__'"
    return None


def _parse(keys: Iterable[ConfigKey], layer: Mapping[str, str], release: Release) -> dict[str, Any]:
    """Parse in the order of the keys, which is that of Kafka's definitions."""
    return {
        key.name: parse_value(key_in(key, release), layer[key.name])
        for key in keys
        if key.name in layer
    }


def _bound_problem(
    values: Mapping[str, Any], broker_values: Mapping[str, Any], *, shows_bounds: bool
) -> str | None:
    """Return which value is outside of its bounds, which are shown or named."""
    for name, (low_key, high_key) in _BOUNDS.items():
        if name not in values:
            continue
        is_low = low_key is not None and values[name] < broker_values[low_key]
        is_high = high_key is not None and values[name] > broker_values[high_key]
        if not is_low and not is_high:
            continue
        if shows_bounds and low_key is not None and high_key is not None:
            low, high = broker_values[low_key], broker_values[high_key]
            return f"{name} must be in the range {low} to {high} inclusive."
        key = (low_key if is_low else high_key) or ""
        bound = broker_values[key] if shows_bounds else key
        return f"{name} must be {'greater' if is_low else 'less'} than or equal to {bound}"
    return None


def _heartbeat_problem(
    values: Mapping[str, Any], defaults: Mapping[str, Any] = _NOTHING
) -> str | None:
    """Return which session is too short among those of which `values` has a part."""
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        is_set = session in values or heartbeat in values
        effective = {**defaults, **values}
        if is_set and effective[session] <= effective[heartbeat]:
            return f"{session} must be greater than {heartbeat}"
    return None


@may_pause
def client_metrics_refusal(layer: Mapping[str, str], release: Release) -> Refusal | None:
    """Refuse keys or values of client metrics.

    Most are INVALID_REQUEST; a number that is none and a wrong `match` are INVALID_CONFIG.
    """
    keys = RESOURCE_KEYS[ResourceType.CLIENT_METRICS]
    for name in in_hash_order(layer):
        if name not in keys:
            message = f"Unknown client metrics configuration: {name}"
            return Refusal(ErrorCode.INVALID_REQUEST, message)
    try:
        values = _parse(CLIENT_METRICS_KEYS, layer, release)
    except ConfigError as error:
        return Refusal(ErrorCode.INVALID_CONFIG, str(error))
    interval_ms = values.get("interval.ms")
    if interval_ms is not None and not 100 <= interval_ms <= 3_600_000:
        message = (
            f"Invalid value {interval_ms} for interval.ms, interval must be between 100 and"
            " 3600000 (1 hour)"
        )
        return Refusal(ErrorCode.INVALID_REQUEST, message)
    for pattern in values.get("match", ()):
        if not _is_match(pattern):
            message = f"Illegal client matching pattern: {pattern}"
            return Refusal(ErrorCode.INVALID_CONFIG, message)
    return None


def _is_match(pattern: str) -> bool:
    """Whether a pattern is `PARAMETER=REGEX` (Kafka's `parseMatchingPatterns`)."""
    parameter, equals, regex = pattern.rstrip("=").partition("=")
    if not equals or "=" in regex or parameter.strip() not in MATCH_PARAMETERS:
        return False
    return regex_problem(regex.strip()) is None
