"""What a rule can't mean: fields that contradict each other, or that can never have an effect.

Whatever a rule says can happen to some request; all else is a ValueError that names the field. The
one exception is a delay of 0 ms: a rule that only counts.
"""

from collections.abc import Iterator, Sequence

from broker.faults.rule import (
    ACTIONS,
    APIS_OF_METADATA,
    BEFORE_HANDLING,
    BEFORE_RESPONSE,
    CLUSTER_ACTIONS,
    CONNECTION_ACTIONS,
    SELF,
    WITHIN_RESPONSE,
    FaultRule,
)
from broker.faults.subject import NAMED_BY_REQUESTS, named_by
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages import API_NAMES, has_throttle_time, schema_versions

_MATCHERS_OF_REQUESTS = (
    "api",
    "version_min",
    "version_max",
    *NAMED_BY_REQUESTS,
    "client_id",
    "connection",
    "user",
)
_FIRING = ("nth", "skip", "every", "times", "after_ms", "until_ms", "probability")
_BROKER_ACTIONS = ("stop_broker", "isolate_broker", "fence_broker", "start_broker")
_NEEDS = {
    "coordinator": ("group", "transactional_id"),
    "drop_after_bytes": ("drop",),
    "elect": ("stop_broker", "isolate_broker"),
    "jitter_ms": ("delay_request_ms", "delay_ms", "delay_connection_ms"),
    "leader": ("topic",),
    "mute": ("throttle_time_ms",),
    "restart_after_ms": ("stop_broker", "isolate_broker", "fence_broker"),
    "at": ("error", *CLUSTER_ACTIONS),
}
"""Fields that mean nothing without one of others."""

_SHAPES_OF_RESPONSES = tuple(
    name
    for name in ACTIONS
    if name not in {"delay_request_ms", "drop", "hang", *CLUSTER_ACTIONS, *CONNECTION_ACTIONS}
)
"""What nobody sees when there is no response."""


def check_meaning(rule: FaultRule) -> None:
    """Whether a rule, each of whose fields is right by itself, makes sense as a whole.

    Raises:
        ValueError: it names the field, and why it can't be so.
    """
    if not rule.actions:
        raise ValueError(f"the rule does nothing: it needs one of {', '.join(ACTIONS)}")
    for name, others in _NEEDS.items():
        if _is_said(rule, name) and not any(_is_said(rule, other) for other in others):
            raise ValueError(f"{name}: needs {' or '.join(others)}")
    if rule.error_code == ErrorCode.NONE and rule.response is None:
        raise ValueError("error: NONE is none; a rule with delay_ms 0 only counts")
    _check_firing(rule)
    if rule.is_of_connections:
        _check_connection(rule)
    elif rule.at_once:
        _check_at_once(rule)
    else:
        _check_request(rule)
        _check_end(rule)
    _check_brokers(rule)


def _is_said(rule: FaultRule, name: str) -> bool:
    return bool(getattr(rule, name) != type(rule).default_of(name))


def _check_firing(rule: FaultRule) -> None:
    if rule.nth is not None and (rule.every is not None or rule.times is not None):
        raise ValueError("nth: excludes every and times")
    if rule.after_ms is not None and rule.until_ms is not None and rule.after_ms >= rule.until_ms:
        raise ValueError(f"until_ms: {rule.until_ms} is not after after_ms, {rule.after_ms}")


def _check_connection(rule: FaultRule) -> None:
    for name in (*_MATCHERS_OF_REQUESTS, *ACTIONS, "at_once"):
        if name not in CONNECTION_ACTIONS and _is_said(rule, name):
            raise ValueError(f"{name}: a connection has no such thing yet")
    if rule.refuse_connection and rule.delay_connection_ms is not None:
        raise ValueError("delay_connection_ms: the connection is refused, see refuse_connection")


def _check_at_once(rule: FaultRule) -> None:
    if not set(rule.actions) <= set(CLUSTER_ACTIONS):
        raise ValueError(f"at_once: is for {', '.join(CLUSTER_ACTIONS)} alone")
    if SELF in {rule.stop_broker, rule.isolate_broker, rule.fence_broker}:
        raise ValueError("at_once: there is no broker that was asked, name one")
    targets = {
        "topic": rule.leader is not None,
        "partition": rule.leader is not None,
        "group": rule.coordinator is not None,
        "transactional_id": rule.coordinator is not None,
    }
    for name in (*_MATCHERS_OF_REQUESTS, "broker", *_FIRING, "at"):
        if _is_said(rule, name) and not targets.get(name):
            raise ValueError(f"{name}: at_once waits for no request")


def _check_request(rule: FaultRule) -> None:
    """Whether there is a request that the rule matches."""
    apis = [rule.api_key] if rule.api_key is not None else list(API_NAMES)
    if rule.stale_metadata:
        apis = [key for key in apis if key in APIS_OF_METADATA]
        if not apis:
            known = ", ".join(sorted(API_NAMES[key] for key in APIS_OF_METADATA))
            raise ValueError(f"stale_metadata: is for {known} alone")
    low, high = rule.version_min, rule.version_max
    if low is not None and high is not None and low > high:
        raise ValueError(f"version_max: {high} is below version_min, {low}")
    forms = [form for key in apis for form in _forms(rule, key)]
    if not forms:
        lowest = min(schema_versions(key)[0] for key in apis)
        highest = max(schema_versions(key)[1] for key in apis)
        name = "version_max" if high is not None and high < lowest else "version_min"
        which = rule.api or "such requests"
        raise ValueError(f"{name}: the versions of {which} are {lowest} to {highest}")
    _check_names(rule, [names for form in forms for names in named_by(*form)])
    is_told = rule.mute or any(has_throttle_time(*form) for form in forms)
    if rule.throttle_time_ms is not None and not is_told:
        raise ValueError(
            f"mute: no response of {rule.api} tells of a throttle, nothing would happen"
        )


def _check_names(rule: FaultRule, named: Sequence[frozenset[str]]) -> None:
    wanted = [name for name in NAMED_BY_REQUESTS if getattr(rule, name) is not None]
    if any(names.issuperset(wanted) for names in named):
        return
    for name in wanted:
        if not any(name in names for names in named):
            is_any_version = rule.version_min is None and rule.version_max is None
            where = "" if is_any_version else " in these versions"
            raise ValueError(f"{name}: {rule.api or 'such a request'} names none{where}")
    others = " and ".join(wanted[:-1])
    raise ValueError(f"{wanted[-1]}: no request names it together with {others}")


def _forms(rule: FaultRule, api_key: ApiKey) -> Iterator[tuple[ApiKey, int]]:
    """An API in its versions that the rule is for."""
    lowest, highest = schema_versions(api_key)
    low = lowest if rule.version_min is None else max(lowest, rule.version_min)
    high = highest if rule.version_max is None else min(highest, rule.version_max)
    return ((api_key, version) for version in range(low, high + 1))


def _check_end(rule: FaultRule) -> None:
    """Whether a request gets as far as what the rule does to it."""
    if rule.hang is not None and rule.drop is not None:
        raise ValueError("hang: excludes drop")
    if rule.drop_after_bytes is not None and rule.drop != WITHIN_RESPONSE:
        raise ValueError(f"drop_after_bytes: needs drop to be {WITHIN_RESPONSE}")
    if rule.error is not None and rule.stale_metadata and rule.topic is None:
        raise ValueError("stale_metadata: the response is an error; a part of it is with topic")
    stops_itself = rule.stop_broker == SELF or (
        rule.stop_broker is not None and rule.stop_broker == rule.broker
    )
    if stops_itself:
        end, at = "stop_broker", rule.at
    elif rule.hang is not None:
        end, at = "hang", rule.hang
    elif rule.drop is not None and rule.drop != WITHIN_RESPONSE:
        end, at = "drop", rule.drop
    else:
        return
    unseen = [*_SHAPES_OF_RESPONSES]
    if stops_itself:
        unseen += ["drop", "hang"]
    if at == BEFORE_HANDLING:
        unseen += ["delay_request_ms"]
    for name in unseen:
        if name in rule.actions:
            raise ValueError(f"{name}: comes to nothing, {end} ends it before")
    if at == BEFORE_HANDLING and rule.at == BEFORE_RESPONSE:
        raise ValueError(f"at: the request never comes to {BEFORE_RESPONSE}, {end} ends it before")


def _check_brokers(rule: FaultRule) -> None:
    told = [(name, getattr(rule, name)) for name in _BROKER_ACTIONS]
    told = [(name, node_id) for name, node_id in told if node_id is not None]
    for index, (name, node_id) in enumerate(told):
        for other, other_id in told[:index]:
            if node_id == other_id:
                raise ValueError(f"{name}: the same broker is named by {other}")
