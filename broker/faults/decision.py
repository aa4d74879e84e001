"""The rules of a table with their counts, and what the rules that fired do to a request."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from broker.faults.actions import (
    METADATA_APIS,
    ChangeRecords,
    ClusterAction,
    DecidingAction,
    DelayRequest,
    DelayResponse,
    Drop,
    Error,
    FalsifyingAction,
    Hang,
    Hold,
    PatchResponse,
    StaleMetadata,
    Throttle,
    stage_of,
)
from broker.faults.error_arrays import PART, has_level, has_parts
from broker.faults.held_requests import HeldRequest
from broker.faults.match import Match
from broker.faults.response_bytes import fraction
from broker.faults.rule import FaultRule
from broker.faults.selection import Selection, is_too_large
from broker.faults.stale_view import StaleView
from broker.faults.transfer_actions import (
    LimitBandwidth,
    LimitRequestBandwidth,
    LimitResponseBandwidth,
    Trickle,
)
from broker.request.context import RequestContext
from broker.responses import CloseManner
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause
from protocol.request_targets import RequestTargets, TopicNames


@dataclass(slots=True, eq=False)
class RuleState:
    """A rule in the table: its id, how many requests it matched, and on how many it fired."""

    rule_id: int
    rule: FaultRule
    added_ms: int
    match_count: int = 0
    fire_count: int = 0
    view: StaleView | None = None
    """The state of the cluster when a rule with `stale_metadata` was added."""
    after: "RuleState | None" = None
    """The rule after which it begins to match."""
    until: "RuleState | None" = None
    """The rule after which it matches no more."""
    followers: "list[RuleState]" = field(default_factory=list)
    """The rules that match after this one."""
    done_ms: int | None = None
    """When it had fired as often as its followers wait for."""
    is_lost: bool = False
    """Whether it was removed, or waits for a rule that can never fire."""
    is_released: bool = False
    """Whether it holds no requests any more."""
    held: "dict[HeldRequest, None]" = field(default_factory=dict)
    """The requests that it holds, oldest first."""
    selection: Selection = field(init=False)

    def __post_init__(self) -> None:
        self.selection = Selection(self.rule.match)

    @property
    def is_armed(self) -> bool:
        """Whether it may match the next request: its time has come and has not gone."""
        return not self.is_used_up and (self.after is None or self.after.done_ms is not None)

    @property
    def is_used_up(self) -> bool:
        """Whether it can never fire again; it then matches no request."""
        if self.is_lost or self.is_released:
            return True
        if self.until is not None and self.until.done_ms is not None:
            return True
        return self._has_fired_enough

    @property
    def _has_fired_enough(self) -> bool:
        trigger = self.rule.trigger
        if trigger.at_once or (trigger.times is not None and self.fire_count >= trigger.times):
            return True
        return trigger.nth is not None and self.match_count - trigger.skip >= trigger.nth

    @may_pause
    def matches(
        self,
        context: RequestContext,
        targets: Callable[[], RequestTargets],
        message: Callable[[], Any],
        topic_name: TopicNames,
        *,
        at_any_time: bool = False,
    ) -> bool:
        """Return whether the rule matches a request; call the functions only if it needs them.

        `targets` returns what the request names, and `message` the request as decoded by its
        schema. `topic_name` looks up the ids of topics. With `at_any_time` the request may come
        outside of `after_ms` and `until_ms`.
        """
        rule, match = self.rule, self.rule.match
        # A broker sends its own requests only while a rule names their API.
        is_from_client = context.connection_id > 0
        return (
            (match.api_key == context.api_key if match.api is not None else is_from_client)
            and (match.version_min is None or context.api_version >= match.version_min)
            and (match.version_max is None or context.api_version <= match.version_max)
            and (match.broker is None or match.broker == context.broker_id)
            and (match.client_id is None or match.client_id == context.client_id)
            and (match.user is None or match.user == context.principal)
            and (match.listener is None or match.listener == context.session.listener)
            and (match.connection is None or match.connection == context.connection_id)
            and not rule.matches_connections
            and (context.api_key in METADATA_APIS or not rule.has_action(StaleMetadata))
            and (at_any_time or self.is_in_time(context.now_ms))
            and _matches_targets(match, targets)
            and self._matches_fields(context, message, topic_name)
        )

    @may_pause
    def _matches_fields(
        self, context: RequestContext, message: Callable[[], Any], topic_name: TopicNames
    ) -> bool:
        error = self.rule.action(Error)
        level = None if error is None else error.level
        if self.selection.is_empty and level is None:
            return True
        api_key, version = ApiKey(context.api_key), context.api_version
        if level is not None and not has_level(api_key, version, level):
            return False
        if is_too_large(context.size_bytes):
            return False
        if not self.selection.fits(api_key, message(), topic_name):
            return False
        return level != PART or has_parts(message(), api_key, version)

    def matches_connection(self, broker_id: int, now_ms: int) -> bool:
        """Return whether the rule matches new connections to this broker."""
        broker = self.rule.match.broker
        return (
            self.rule.matches_connections
            and (broker is None or broker == broker_id)
            and self.is_in_time(now_ms)
        )

    @property
    def begin_ms(self) -> int:
        """When it was added, or when `after` let it match."""
        if self.after is None or self.after.done_ms is None:
            return self.added_ms
        return max(self.added_ms, self.after.done_ms)

    def is_in_time(self, now_ms: int) -> bool:
        """Return whether a time is within `after_ms` and `until_ms`."""
        passed_ms = now_ms - self.begin_ms
        trigger = self.rule.trigger
        return (trigger.after_ms is None or passed_ms >= trigger.after_ms) and (
            trigger.until_ms is None or passed_ms < trigger.until_ms
        )

    def count_match(self, now_ms: int) -> bool:
        """Count a match, and return whether the rule fires on it."""
        has_fired = self._fires_on_next()
        if has_fired:
            self.count_fire(now_ms)
        if self._has_fired_enough and self.done_ms is None:
            self.lose_followers()
        return has_fired

    def count_fire(self, now_ms: int) -> None:
        """Count that the rule fires; its followers may match from the next request on."""
        self.fire_count += 1
        if self.fire_count >= (self.rule.trigger.times or 1) and self.done_ms is None:
            self.done_ms = now_ms

    def undo_fire(self) -> None:
        """Undo the latest `count_fire`."""
        self.fire_count -= 1
        if self.fire_count < (self.rule.trigger.times or 1):
            self.done_ms = None

    def lose_followers(self) -> None:
        """Give up the rules that wait for this one, which can never fire again."""
        waiting = [self] if self.done_ms is None else []
        while waiting:
            for follower in waiting.pop().followers:
                if not follower.is_lost:
                    follower.is_lost = True
                    waiting.append(follower)

    def without_past(self) -> dict[str, Any]:
        """Return the rule in JSON for a copy of it that is added later.

        It has no references to rules whose part in it is over.
        """
        document = self.rule.to_json()
        if self.after is not None and self.after.done_ms is not None:
            del document["after"]
        if self.until is not None and self.until.is_used_up:
            del document["until"]
        return document

    def _fires_on_next(self) -> bool:
        trigger = self.rule.trigger
        self.match_count += 1
        number = self.match_count - trigger.skip
        return not (
            number < 1
            or (trigger.nth is not None and number != trigger.nth)
            or (trigger.every is not None and number % trigger.every != 0)
            or (
                trigger.probability is not None
                and fraction(trigger.seed, self.match_count, "fire") >= trigger.probability
            )
        )

    def jittered(self, delay_ms: int, jitter_ms: int, purpose: str) -> int:
        """Return a delay with the jitter of the latest request that the rule fired on."""
        if not jitter_ms:
            return delay_ms
        share = fraction(self.rule.trigger.seed, self.fire_count, purpose)
        return delay_ms + int(share * (jitter_ms + 1))


@may_pause
def _matches_targets(match: Match, targets: Callable[[], RequestTargets]) -> bool:
    names_topic = match.topic is not None or match.partition is not None
    return (
        (not names_topic or targets().has_partition(match.topic, match.partition))
        and (match.group is None or match.group in targets().groups)
        and (
            match.transactional_id is None or match.transactional_id in targets().transactional_ids
        )
    )


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A rule that fired on a request; `number` counts its firings and seeds its random choices."""

    state: RuleState
    number: int

    @property
    def rule(self) -> FaultRule:
        """The rule itself."""
        return self.state.rule


HOOK_ID = 0
"""The rule id of rules that a hook returned; they are in no table."""


@dataclass(slots=True)
class FaultDecision:
    """The combined actions of all rules that fired on a request.

    Delays add up; the longest throttle time and the lowest rate apply.
    """

    matches: list[RuleMatch] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)
    deciding: FaultRule | None = None
    """The rule that decides the outcome of the request, or None."""
    selection: Selection | None = None
    """What the conditions of this rule select, or None."""
    view: StaleView | None = None
    """The cluster to respond from instead of the real one."""
    delay_request_ms: int = 0
    delay_ms: int = 0
    bytes_per_second: int | None = None
    request_bytes_per_second: int | None = None
    response_bytes_per_second: int | None = None
    trickle: Trickle | None = None
    """How the response is written; that of the first rule."""
    throttle_time_ms: int = 0
    mute: bool = False

    def add(self, state: RuleState) -> None:
        """Add a rule that has just fired."""
        rule = state.rule
        self.matches.append(RuleMatch(state, state.fire_count))
        reason = f": {rule.name}" if state.rule_id == HOOK_ID and rule.name else ""
        self.descriptions.append(f"#{state.rule_id} {rule.describe()}{reason}")
        if rule.has_action(DecidingAction):
            self.deciding = rule
            self.view, self.selection = state.view, state.selection
        for action in rule.actions:
            match action:
                case DelayRequest(delay_ms, jitter_ms):
                    self.delay_request_ms += state.jittered(delay_ms, jitter_ms, "delay_request_ms")
                case DelayResponse(delay_ms, jitter_ms):
                    self.delay_ms += state.jittered(delay_ms, jitter_ms, "delay_ms")
                case LimitBandwidth(rate):
                    others = self.bytes_per_second or rate
                    self.bytes_per_second = min(others, rate)
                case LimitRequestBandwidth(rate):
                    self.request_bytes_per_second = min(self.request_bytes_per_second or rate, rate)
                case LimitResponseBandwidth(rate):
                    others = self.response_bytes_per_second or rate
                    self.response_bytes_per_second = min(others, rate)
                case Trickle():
                    self.trickle = self.trickle or action
                case Throttle(throttle_time_ms, mute):
                    self.throttle_time_ms = max(self.throttle_time_ms, throttle_time_ms)
                    self.mute = self.mute or mute
                case _:
                    pass

    @property
    def error(self) -> Error | None:
        """The error to respond with, or None."""
        return None if self.deciding is None else self.deciding.action(Error)

    @property
    def patch(self) -> PatchResponse | None:
        """The values to put into the response, or None."""
        return None if self.deciding is None else self.deciding.action(PatchResponse)

    @property
    def drop(self) -> str | None:
        """When to close the connection, or None."""
        drop = None if self.deciding is None else self.deciding.action(Drop)
        return None if drop is None else drop.drop

    @property
    def drop_after_bytes(self) -> int | None:
        """Bytes of the response to send before the connection closes; None for half of it."""
        drop = None if self.deciding is None else self.deciding.action(Drop)
        return None if drop is None else drop.drop_after_bytes

    @property
    def close_manner(self) -> CloseManner:
        """How the connection ends with `drop`."""
        drop = None if self.deciding is None else self.deciding.action(Drop)
        return CloseManner.CLOSE if drop is None else CloseManner(drop.drop_by)

    @property
    def hang(self) -> str | None:
        """When to stop processing the request for good, or None."""
        hang = None if self.deciding is None else self.deciding.action(Hang)
        return None if hang is None else hang.hang

    @property
    def description(self) -> str:
        """The rules that fired and their actions, for logs and the journal."""
        return "; ".join(self.descriptions)

    @property
    def falsifying_rule_ids(self) -> tuple[int, ...]:
        """The ids of the rules that may make the response false."""
        return tuple(
            match.state.rule_id for match in self.matches if match.rule.has_action(FalsifyingAction)
        )

    def holding(self, at: str) -> list[RuleMatch]:
        """Return the rules that hold the request at this point."""
        return [
            match
            for match in self.matches
            if (action := match.rule.action(Hold)) is not None and action.hold == at
        ]

    @property
    def record_changes(self) -> list[RuleMatch]:
        """The rules that change records."""
        return [match for match in self.matches if match.rule.has_action(ChangeRecords)]

    def cluster_matches(self, at: str) -> list[RuleMatch]:
        """Return the rules that change the cluster at this point of the request."""
        return [
            match
            for match in self.matches
            if any(
                isinstance(action, ClusterAction) and stage_of(action) == at
                for action in match.rule.actions
            )
        ]


@dataclass(frozen=True, slots=True)
class ConnectionDecision:
    """The combined actions of all rules that fired on a new connection."""

    is_refused: bool
    delay_ms: int
    description: str
