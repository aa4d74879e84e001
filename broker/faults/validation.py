"""Find parts of a rule that contradict each other or can never take effect.

Every valid rule can fire on some request. A delay of 0 ms is allowed although it has no effect:
such a rule only counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from broker.config.api_versions import api_versions_problem
from broker.config.values import split_list
from broker.faults.actions import (
    ACTION_NAMES,
    BEFORE_HANDLING,
    BEFORE_RESPONSE,
    CLUSTER_ACTION_NAMES,
    METADATA_APIS,
    SELF,
    WITHIN_RESPONSE,
    Action,
    BrokerAction,
    ChangeRecords,
    ClusterAction,
    ConnectionAction,
    DelayConnection,
    DelayRequest,
    DisturbMembers,
    Drop,
    Error,
    Hang,
    Hold,
    MoveCoordinator,
    MoveLeader,
    PatchResponse,
    RefuseConnection,
    SetApiVersions,
    StopBroker,
    Throttle,
    field_name_of,
)
from broker.faults.error_arrays import TOP, has_level
from broker.faults.match import Match, Trigger
from broker.faults.selection import Selection
from broker.request.acknowledgement import DROP_RECORD, FETCH_CHANGES, FLIP_BYTE, REPLACE_SCHEMA_ID
from broker.routes import ROUTES
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages import API_NAMES, has_throttle_time, schema_versions
from protocol.request_targets import TARGET_NAMES, targets_in_schema
from protocol.response_patch import check_patch


def validate(match: Match, trigger: Trigger, actions: Sequence[Action]) -> None:
    """Check that the valid parts of a rule do not contradict each other.

    Raises:
        ValueError: parts contradict each other, or one could never take effect. The
            message begins with the name of a field.
    """
    if not actions:
        raise ValueError(f"the rule does nothing: it needs one of {', '.join(ACTION_NAMES)}")
    by_name = {field_name_of(action): action for action in actions}
    _check_shared_options(actions)
    _check_actions(match, by_name)
    _check_trigger(trigger)
    if any(isinstance(action, ConnectionAction) for action in actions):
        _check_connection(match, trigger, by_name)
    elif trigger.at_once:
        _check_at_once(match, trigger, by_name)
    else:
        _check_request(match, by_name)
        _check_end(match, by_name)
    _check_brokers(actions)


def _check_shared_options(actions: Sequence[Action]) -> None:
    """Check that several actions have the same value of an option: in JSON it is one field."""
    values: dict[str, Any] = {}
    for action in actions:
        name, *options = (declared.name for declared in fields(action))
        if name in values:
            raise ValueError(f"{name}: is there twice")
        for option in (name, *options):
            value = getattr(action, option)
            if values.setdefault(option, value) != value:
                raise ValueError(f"{option}: differs between the actions")


def _check_actions(match: Match, actions: dict[str, Action]) -> None:
    """Check what an action needs, for any match."""
    for action in actions.values():
        if isinstance(action, MoveLeader) and match.topic is None:
            raise ValueError("leader: needs topic")
        if isinstance(action, MoveCoordinator) and match.group is match.transactional_id is None:
            raise ValueError("coordinator: needs group or transactional_id")
        if isinstance(action, DisturbMembers) and match.group is None:
            raise ValueError("members: needs group")
        if (
            isinstance(action, Drop)
            and action.drop != WITHIN_RESPONSE
            and action.drop_after_bytes is not None
        ):
            raise ValueError(f"drop_after_bytes: needs drop to be {WITHIN_RESPONSE}")
        if isinstance(action, SetApiVersions):
            problem = api_versions_problem(split_list(action.api_versions))
            if problem is not None:
                raise ValueError(f"api_versions: {problem}")
        if isinstance(action, PatchResponse):
            _check_response_patch(match, action)
        if isinstance(action, ChangeRecords):
            _check_record_change(match, action)
        is_none = isinstance(action, Error) and action.error_code == ErrorCode.NONE
        if is_none and "response" not in actions:
            raise ValueError("error: NONE is no error; a rule with delay_ms 0 only counts")


def _check_response_patch(match: Match, action: PatchResponse) -> None:
    if match.api_key is None:
        raise ValueError("response: needs api")
    try:
        check_patch(match.api_key, action.response)
    except ValueError as error:
        raise ValueError(f"response: {error}") from None


def _check_record_change(match: Match, action: ChangeRecords) -> None:
    change = action.change_records
    if match.api_key not in {ApiKey.PRODUCE, ApiKey.FETCH}:
        raise ValueError("change_records: needs api to be Produce or Fetch")
    if match.api_key is ApiKey.FETCH and change not in FETCH_CHANGES:
        raise ValueError(f"change_records: {change} is for Produce alone")
    if action.schema_id is not None and change != REPLACE_SCHEMA_ID:
        raise ValueError(f"schema_id: needs change_records to be {REPLACE_SCHEMA_ID}")
    if action.record_index is not None and change not in {
        FLIP_BYTE,
        DROP_RECORD,
        REPLACE_SCHEMA_ID,
    }:
        raise ValueError(f"record_index: {change} is not of one record")


def _check_trigger(trigger: Trigger) -> None:
    if trigger.nth is not None and (trigger.every is not None or trigger.times is not None):
        raise ValueError("nth: excludes every and times")
    after_ms, until_ms = trigger.after_ms, trigger.until_ms
    if after_ms is not None and until_ms is not None and after_ms >= until_ms:
        raise ValueError(f"until_ms: {until_ms} is not after after_ms, {after_ms}")


def _set_fields(part: Match | Trigger) -> list[str]:
    """Return the names of the fields that differ from their defaults."""
    return [field.name for field in fields(part) if getattr(part, field.name) != field.default]


def _check_connection(match: Match, trigger: Trigger, actions: dict[str, Action]) -> None:
    others = [name for name, action in actions.items() if not isinstance(action, ConnectionAction)]
    matchers = [name for name in _set_fields(match) if name != "broker"]
    for name in (*matchers, *others, *(["at_once"] if trigger.at_once else [])):
        raise ValueError(f"{name}: a new connection has none yet")
    kinds = {type(action) for action in actions.values()}
    if {RefuseConnection, DelayConnection} <= kinds:
        raise ValueError("delay_connection_ms: the connection is refused, see refuse_connection")


def _check_at_once(match: Match, trigger: Trigger, actions: dict[str, Action]) -> None:
    if not all(isinstance(action, ClusterAction) for action in actions.values()):
        raise ValueError(f"at_once: is for {', '.join(CLUSTER_ACTION_NAMES)} alone")
    if any(getattr(action, name) == SELF for name, action in actions.items()):
        raise ValueError("at_once: no broker receives a request, name one instead of self")
    if "api_versions" in actions and match.broker is None:
        raise ValueError("at_once: no broker receives a request, api_versions needs broker")
    needed = {"at_once"}
    if "api_versions" in actions:
        needed |= {"broker"}
    if "members" in actions:
        needed |= {"group"}
    if "leader" in actions:
        needed |= {"topic", "partition"}
    if "coordinator" in actions:
        needed |= {"group", "transactional_id"}
    options = ["at"] if any(_at(action) != BEFORE_HANDLING for action in actions.values()) else []
    for name in (*_set_fields(match), *_set_fields(trigger), *options):
        if name not in needed:
            raise ValueError(f"{name}: at_once waits for no request")


def _at(action: Action) -> str:
    at: str | None = getattr(action, "at", None)
    return at or BEFORE_HANDLING


def _check_request(match: Match, actions: dict[str, Action]) -> None:
    """Check that there is a request that the rule matches."""
    apis = _served_apis(match)
    if "stale_metadata" in actions:
        apis = [key for key in apis if key in METADATA_APIS]
        if not apis:
            known = ", ".join(sorted(API_NAMES[key] for key in METADATA_APIS))
            raise ValueError(f"stale_metadata: is for {known} alone")
    low, high = match.version_min, match.version_max
    if low is not None and high is not None and low > high:
        raise ValueError(f"version_max: {high} is below version_min, {low}")
    apis = _with_fields(match, apis)
    versions = [pair for key in apis for pair in _versions(match, key)]
    if not versions:
        lowest = min(schema_versions(key)[0] for key in apis)
        highest = max(schema_versions(key)[1] for key in apis)
        name = "version_max" if high is not None and high < lowest else "version_min"
        which = match.api or "such requests"
        raise ValueError(f"{name}: the versions of {which} are {lowest} to {highest}")
    _check_targets(match, [names for pair in versions for names in targets_in_schema(*pair)])
    versions = _check_fields(match, versions)
    _check_level(match, actions, versions)
    throttle = actions.get("throttle_time_ms")
    is_visible = any(has_throttle_time(*pair) for pair in versions)
    if isinstance(throttle, Throttle) and not throttle.mute and not is_visible:
        raise ValueError(
            f"mute: no response of {match.api} has a throttle time, nothing would happen"
        )


def _served_apis(match: Match) -> list[ApiKey]:
    if match.api_key is None:
        return [ApiKey(api_key) for api_key in ROUTES]
    return [match.api_key]


def _check_targets(match: Match, possible: Sequence[frozenset[str]]) -> None:
    given = [name for name in TARGET_NAMES if getattr(match, name) is not None]
    if any(names.issuperset(given) for names in possible):
        return
    for name in given:
        if not any(name in names for names in possible):
            is_any_version = match.version_min is None and match.version_max is None
            where = "" if is_any_version else " in these versions"
            raise ValueError(f"{name}: {match.api or 'such a request'} names none{where}")
    others = " and ".join(given[:-1])
    raise ValueError(f"{given[-1]}: no request names it together with {others}")


def _with_fields(match: Match, apis: list[ApiKey]) -> list[ApiKey]:
    """Return the APIs whose requests have the fields of the rule's conditions."""
    if match.where is not None and match.api_key is None:
        raise ValueError("where: needs api")
    selection = Selection(match)
    if selection.is_empty:
        return apis
    if match.api_key is not None:
        try:
            selection.alternatives(match.api_key)
        except ValueError as error:
            raise ValueError(f"where: {error}") from None
    known = [key for key in apis if selection.alternatives(key)]
    if not known:
        name = "resource" if match.resource is not None else "topic_id"
        raise ValueError(f"{name}: {match.api or 'such a request'} names none")
    return known


def _check_fields(match: Match, versions: list[tuple[ApiKey, int]]) -> list[tuple[ApiKey, int]]:
    """Check that some version has all fields of the conditions; return those that do."""
    selection = Selection(match)
    found = [pair for pair in versions if selection.can_fit(*pair)]
    if not found:
        name = next(
            name for name in ("where", "resource", "topic_id") if getattr(match, name) is not None
        )
        raise ValueError(f"{name}: no such version of {match.api or 'a request'} has all fields")
    return found


def _check_level(
    match: Match, actions: dict[str, Action], versions: list[tuple[ApiKey, int]]
) -> None:
    error = actions.get("error")
    if not isinstance(error, Error) or error.level is None:
        return
    if not any(has_level(*pair, error.level) for pair in versions):
        where = "of the request" if error.level == TOP else "for parts of a request"
        which = match.api or "such a request"
        raise ValueError(f"level: the response to {which} has no error {where}")


def _versions(match: Match, api_key: ApiKey) -> Iterator[tuple[ApiKey, int]]:
    """Yield an API with each of its versions that the rule matches."""
    lowest, highest = schema_versions(api_key)
    low = lowest if match.version_min is None else max(lowest, match.version_min)
    high = highest if match.version_max is None else min(highest, match.version_max)
    return ((api_key, version) for version in range(low, high + 1))


def _check_end(match: Match, actions: dict[str, Action]) -> None:
    """Check that no action ends the request before another one takes effect."""
    if "hang" in actions and "drop" in actions:
        raise ValueError("hang: excludes drop")
    if "error" in actions and "stale_metadata" in actions and match.topic is None:
        raise ValueError("stale_metadata: the response is an error; with topic, only a part of it")
    end = _end_of(match, actions)
    if end is None:
        return
    name, at = end
    for other, action in actions.items():
        if _is_lost(action, name, at, match.api_key):
            raise ValueError(f"{other}: has no effect, {name} ends the request before")
    if at == BEFORE_HANDLING:
        for action in actions.values():
            if _at(action) == BEFORE_RESPONSE:
                raise ValueError(
                    f"at: the request never gets to {BEFORE_RESPONSE}, {name} ends it before"
                )


def _end_of(match: Match, actions: dict[str, Action]) -> tuple[str, str] | None:
    """Return the action that ends the request without a complete response, and its stage."""
    for name, action in actions.items():
        if isinstance(action, StopBroker) and action.stop_broker in {SELF, match.broker}:
            return name, _at(action)
    for name, action in actions.items():
        if isinstance(action, Hang):
            return name, action.hang
        if isinstance(action, Drop) and action.drop != WITHIN_RESPONSE:
            return name, action.drop
    return None


def _is_lost(action: Action, end: str, at: str, api_key: ApiKey | None) -> bool:
    """Return whether an action has no effect because the request ends before it."""
    if isinstance(action, ClusterAction | ConnectionAction):
        return False
    if isinstance(action, Drop | Hang):
        return end == "stop_broker"
    if isinstance(action, DelayRequest):
        return at == BEFORE_HANDLING
    if isinstance(action, ChangeRecords) and api_key is ApiKey.PRODUCE:
        return at == BEFORE_HANDLING  # else the records are in the log by then
    if isinstance(action, Hold):
        return at == BEFORE_HANDLING and action.hold == BEFORE_RESPONSE
    return True


def _check_brokers(actions: Sequence[Action]) -> None:
    named: dict[int | str, str] = {}
    for action in actions:
        if isinstance(action, BrokerAction):
            name = field_name_of(action)
            other = named.setdefault(getattr(action, name), name)
            if other != name:
                raise ValueError(f"{name}: the same broker is named by {other}")
