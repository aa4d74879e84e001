"""Why a rule has not fired: what it waits for, and how requests differ from its conditions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any
from uuid import UUID

from broker.config.public_keys import may_show_config
from broker.faults.actions import DecidingAction, DelayResponse
from broker.faults.decision import RuleState
from broker.faults.match import Match
from broker.faults.rule import FaultRule
from broker.faults.selection import RESOURCE_PATHS
from broker.request.context import RequestContext
from broker.request.near_misses import Difference, refusal, was
from protocol import json_view
from protocol.api_keys import ApiKey
from protocol.messages import API_NAMES
from protocol.pacing import may_pause
from protocol.request_conditions import paths_to
from protocol.request_targets import TOPIC_ID, RequestTargets, TopicNames, may_be_an_id

_ELEMENT = "[]"
_RULE = "rule"
_ABSENT = object()
_SIMPLE = (
    "broker",
    "listener",
    "client_id",
    "user",
    "connection",
    "topic",
    "group",
    "transactional_id",
)
_PATHS: Mapping[str, Callable[[ApiKey], tuple[str, ...]]] = {
    "resource": lambda api_key: RESOURCE_PATHS.get(api_key, ()),
    "topic_id": lambda api_key: tuple(paths_to(api_key, "topic_id")),
}


class ComparedRequest:
    """A request with what the conditions of rules need of it."""

    def __init__(
        self,
        context: RequestContext,
        targets: RequestTargets,
        request: Any,
        topic_name: TopicNames,
    ) -> None:
        """`targets` has the names of topics; `request` is None or a text if it is not decoded."""
        self.context = context
        self.api_key = ApiKey(context.api_key)
        self.targets = targets
        self.request = request
        self.topic_name = topic_name

    @property
    def is_decoded(self) -> bool:
        """Whether there is a request to compare with conditions on fields."""
        return self.request is not None and not isinstance(self.request, str)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The request as the journal shows it, without secrets; empty if it is not decoded."""
        return json_view.as_plain(self.request, may_show_config) if self.is_decoded else {}

    def values_at(self, path: str) -> list[Any]:
        """Return the values of a field by its path; none if the request lacks it.

        A topic has its name, or its id if there is no such topic.
        """
        values: list[Any] = [self.document]
        for part in path.split("."):
            name = part.removesuffix(_ELEMENT)
            values = [
                value
                for held in values
                if isinstance(held, dict) and (value := self._value(held, name)) is not _ABSENT
            ]
            if part.endswith(_ELEMENT):
                values = [one for held in values if isinstance(held, list) for one in held]
        return values

    def _value(self, held: Mapping[str, Any], name: str) -> Any:
        value = held.get(name, _ABSENT)
        topic_id = held.get(TOPIC_ID)
        has_none = value is None or value is _ABSENT
        if has_none and topic_id is not None and may_be_an_id(name, held):
            return self.topic_name(UUID(topic_id)) or topic_id
        return value


class RuleConditions:
    """The conditions of a rule, each by itself."""

    def __init__(self, state: RuleState) -> None:
        self._state = state
        self._match = state.rule.match
        self._single: dict[tuple[ApiKey, str], RuleState | None] = {}

    def held(self, found: Sequence[Difference]) -> int:
        """Return how many conditions a request fits that differs so.

        Requests of other APIs fit none of those on fields and versions.
        """
        match = self._match
        names = ["api", "partition", *_SIMPLE, *_PATHS]
        count = sum(getattr(match, name) is not None for name in names)
        if not any(difference.field == "api" for difference in found):
            has_versions = match.version_min is not None or match.version_max is not None
            count += has_versions + len(match.where or {})
        return count - len([one for one in found if one.field != _RULE])

    @may_pause
    def differences(self, compared: ComparedRequest) -> list[Difference]:
        """Return the conditions that a request does not fit, without the time of the rule."""
        match, context = self._match, compared.context
        found: list[Difference] = []
        is_of_api = match.api_key in {None, compared.api_key}
        if not is_of_api:
            found.append(was("api", API_NAMES[compared.api_key]))
        if is_of_api and not self._has_version(context.api_version):
            found.append(was("version", context.api_version))
        found += [
            was(name, self._values(name, compared))
            for name in _SIMPLE
            if getattr(match, name) is not None
            and not self._fits(compared, name, {name: getattr(match, name)})
        ]
        if match.partition is not None:
            found += self._of_partition(compared, {one.field for one in found})
        for name, paths_of in _PATHS.items():
            if (value := getattr(match, name)) is None or self._fits(compared, name, {name: value}):
                continue
            values = [
                held for path in paths_of(compared.api_key) for held in compared.values_at(path)
            ]
            found.append(was(name, values))
        if is_of_api and match.where is not None:
            found += self._of_fields(compared, match.where)
        if not found and not self._state.matches(
            context,
            lambda: compared.targets,
            lambda: compared.request,
            compared.topic_name,
            at_any_time=True,
        ):
            found.append(Difference(_RULE, "it has nothing that the action is for"))
        return found

    def _has_version(self, version: int) -> bool:
        low, high = self._match.version_min, self._match.version_max
        return (low is None or version >= low) and (high is None or version <= high)

    @may_pause
    def _of_partition(self, compared: ComparedRequest, differing: set[str]) -> list[Difference]:
        topic = None if "topic" in differing else self._match.topic
        fields = {"partition": self._match.partition}
        if topic is not None:
            fields["topic"] = topic  # type: ignore[assignment]
        if self._fits(compared, f"partition of {topic}", fields):
            return []
        partitions = compared.targets.partitions
        found = {index for name, index in partitions if index is not None and topic in {None, name}}
        return [was("partition", sorted(found))]

    @may_pause
    def _of_fields(self, compared: ComparedRequest, where: Mapping[str, Any]) -> list[Difference]:
        if not compared.is_decoded:
            return [Difference("where", "where is not compared: the request was not kept")]
        found = [
            was(path, compared.values_at(path))
            for path, value in where.items()
            if not self._fits(compared, path, {"where": {path: value}})
        ]
        if not found and not self._fits(compared, "where", {"where": where}):
            return [Difference("where", "where: no element fits all of its conditions")]
        return found

    @may_pause
    def _fits(self, compared: ComparedRequest, name: str, fields: Mapping[str, Any]) -> bool:
        """Return whether a request fits a rule of its API with these conditions alone."""
        key = (compared.api_key, name)
        if key not in self._single:
            match = {"api": API_NAMES[compared.api_key], **fields}
            try:
                rule = FaultRule(match=Match(**match), actions=(DelayResponse(0),))
                self._single[key] = RuleState(0, rule, added_ms=0)
            except ValueError:  # such requests do not have the field
                self._single[key] = None
        single = self._single[key]
        return single is not None and single.matches(
            compared.context,
            lambda: compared.targets,
            lambda: compared.request,
            compared.topic_name,
        )

    def _values(self, name: str, compared: ComparedRequest) -> Any:
        context, targets = compared.context, compared.targets
        return {
            "broker": context.broker_id,
            "listener": context.session.listener,
            "client_id": context.client_id,
            "user": context.principal,
            "connection": context.connection_id,
            "topic": sorted(map(str, targets.topics)),
            "group": sorted(targets.groups),
            "transactional_id": sorted(targets.transactional_ids),
        }[name]

    def obstacle(self, context: RequestContext) -> Difference | None:
        """Return why the rule did not fire on a request that fits it; None if it did."""
        state, fault = self._state, context.fault or ""
        fired = fault.split("; ")
        if any(one.startswith(f"#{state.rule_id} ") for one in fired):
            return None
        if refused := refusal(fault):
            return refused
        if fault and state.rule.has_action(DecidingAction):
            return Difference(_RULE, f"another rule took it: {fault}")
        if context.now_ms < state.added_ms:
            return Difference(_RULE, "it came before the rule")
        if state.after is not None and state.after.done_ms is None:
            return Difference(_RULE, f"the rule waits for {state.rule.trigger.after!r}")
        if not state.is_in_time(context.now_ms):
            return Difference(_RULE, "it came outside of after_ms and until_ms")
        if not state.match_count:
            return Difference(_RULE, "it came before the rule")
        return Difference(_RULE, "the rule matched it and did not fire")


def reasons(state: RuleState, now_ms: int) -> list[str]:
    """Return why a rule cannot fire now, or has not fired on what it matched, in words."""
    return [*_state_reasons(state, now_ms), *_count_reasons(state)]


def _state_reasons(state: RuleState, now_ms: int) -> Iterator[str]:
    trigger, after = state.rule.trigger, state.after
    if state.is_lost:
        yield "it can never fire: the rule in after never will, or was removed"
    elif state.is_released:
        yield "its requests were released, and it holds no others"
    elif state.until is not None and state.until.done_ms is not None:
        yield f"it ended when the rule {trigger.until!r} had fired"
    elif state.is_used_up:
        yield f"it is used up: it fired on {_requests(state.fire_count)}"
    elif after is not None and after.done_ms is None:
        needed = after.rule.trigger.times or 1
        yield (
            f"it waits for the rule {trigger.after!r} (#{after.rule_id}), "
            f"which fired on {after.fire_count} of {_requests(needed)}"
        )
    else:
        passed_ms = now_ms - state.begin_ms
        if trigger.after_ms is not None and passed_ms < trigger.after_ms:
            yield f"after_ms is {trigger.after_ms}, and {passed_ms} ms have passed"
        if trigger.until_ms is not None and passed_ms >= trigger.until_ms:
            yield f"until_ms is {trigger.until_ms}, and {passed_ms} ms have passed"


def _count_reasons(state: RuleState) -> Iterator[str]:
    trigger, count = state.rule.trigger, state.match_count
    limits = {
        "skip": trigger.skip or None,
        "nth": trigger.nth,
        "every": trigger.every,
        "probability": trigger.probability,
    }
    named = [f"{name} is {value}" for name, value in limits.items() if value is not None]
    if count > state.fire_count and named:
        yield f"it matched {_requests(count)}, fired on {state.fire_count}, and {', '.join(named)}"


def _requests(count: int) -> str:
    return f"{count} request" + ("" if count == 1 else "s")
