"""The fault rules of a server, their counts, and their decisions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.faults.actions import (
    METADATA_APIS,
    ClusterAction,
    DecidingAction,
    DelayConnection,
    DelayRequest,
    DelayResponse,
    Drop,
    Error,
    FalsifyingAction,
    Hang,
    LimitBandwidth,
    PatchResponse,
    RefuseConnection,
    StaleMetadata,
    Throttle,
)
from broker.faults.cluster_actions import act, check_cluster
from broker.faults.match import Match
from broker.faults.response_bytes import fraction
from broker.faults.rule import FaultRule
from broker.faults.stale_view import StaleView
from broker.request.context import RequestContext
from protocol.api_keys import ApiKey
from protocol.pacing import paced
from protocol.request_targets import RequestTargets, request_targets


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

    @property
    def is_used_up(self) -> bool:
        """Whether it can never fire again; it then matches no request."""
        trigger = self.rule.trigger
        if trigger.at_once or (trigger.times is not None and self.fire_count >= trigger.times):
            return True
        return trigger.nth is not None and self.match_count - trigger.skip >= trigger.nth

    def matches(self, context: RequestContext, targets: Callable[[], RequestTargets]) -> bool:
        """Return whether the rule matches a request; call `targets` only if the rule names any."""
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
            and (match.connection is None or match.connection == context.connection_id)
            and not rule.matches_connections
            and (context.api_key in METADATA_APIS or not rule.has_action(StaleMetadata))
            and self._is_in_time(context.now_ms)
            and _matches_targets(match, targets)
        )

    def matches_connection(self, broker_id: int, now_ms: int) -> bool:
        """Return whether the rule matches new connections to this broker."""
        broker = self.rule.match.broker
        return (
            self.rule.matches_connections
            and (broker is None or broker == broker_id)
            and self._is_in_time(now_ms)
        )

    def _is_in_time(self, now_ms: int) -> bool:
        passed_ms = now_ms - self.added_ms
        trigger = self.rule.trigger
        return (trigger.after_ms is None or passed_ms >= trigger.after_ms) and (
            trigger.until_ms is None or passed_ms < trigger.until_ms
        )

    def count_match(self) -> bool:
        """Count a match, and return whether the rule fires on it."""
        trigger = self.rule.trigger
        self.match_count += 1
        number = self.match_count - trigger.skip
        if (
            number < 1
            or (trigger.nth is not None and number != trigger.nth)
            or (trigger.every is not None and number % trigger.every != 0)
            or (
                trigger.probability is not None
                and fraction(trigger.seed, self.match_count, "fire") >= trigger.probability
            )
        ):
            return False
        self.fire_count += 1
        return True

    def jittered(self, delay_ms: int, jitter_ms: int, purpose: str) -> int:
        """Return a delay with the jitter of the latest request that the rule fired on."""
        if not jitter_ms:
            return delay_ms
        share = fraction(self.rule.trigger.seed, self.fire_count, purpose)
        return delay_ms + int(share * (jitter_ms + 1))


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
    view: StaleView | None = None
    """The cluster to respond from instead of the real one."""
    delay_request_ms: int = 0
    delay_ms: int = 0
    bytes_per_second: int | None = None
    throttle_time_ms: int = 0
    mute: bool = False

    def add(self, state: RuleState) -> None:
        """Add a rule that has just fired."""
        rule = state.rule
        self.matches.append(RuleMatch(state, state.fire_count))
        self.descriptions.append(f"#{state.rule_id} {rule.describe()}")
        if rule.has_action(DecidingAction):
            self.deciding = rule
            self.view = state.view
        for action in rule.actions:
            match action:
                case DelayRequest(delay_ms, jitter_ms):
                    self.delay_request_ms += state.jittered(delay_ms, jitter_ms, "delay_request_ms")
                case DelayResponse(delay_ms, jitter_ms):
                    self.delay_ms += state.jittered(delay_ms, jitter_ms, "delay_ms")
                case LimitBandwidth(rate):
                    others = self.bytes_per_second or rate
                    self.bytes_per_second = min(others, rate)
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

    def cluster_matches(self, at: str) -> list[RuleMatch]:
        """Return the rules that change the cluster at this point of the request."""
        return [
            match
            for match in self.matches
            if any(
                isinstance(action, ClusterAction) and action.at == at
                for action in match.rule.actions
            )
        ]


RULES_MAX = 10_000
"""Rules in the table; each request is compared with all of them."""

Hook = Callable[["RequestContext", Any], FaultRule | None]
"""Called with a request as decoded by its schema; may return a rule for this request alone."""


@dataclass(frozen=True, slots=True)
class ConnectionDecision:
    """The combined actions of all rules that fired on a new connection."""

    is_refused: bool
    delay_ms: int
    description: str


class FaultTable:
    """The rules of a server, evaluated in the order in which they were added.

    The first rule that fires decides the outcome of a request (an error, no response, a stale one).
    Later rules with such actions are skipped for it, so that a list of rules works as a script.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._states: dict[int, RuleState] = {}
        self._last_id = 0
        self._hook: Hook | None = None
        self.is_enabled = False
        """Whether a rule can still fire, or there is a hook."""
        self.named_apis: frozenset[ApiKey | None] = frozenset()
        """The APIs that rules name which can still fire."""
        self.latest_ms = 0
        """The time of the latest request that was evaluated."""

    def add(self, rule: FaultRule, now_ms: int) -> int:
        """Add a rule after all others; return its id.

        Raises:
            ValueError: the rule names something that does not exist, such as a broker.
        """
        (rule_id,) = self.add_all([rule], now_ms)
        return rule_id

    def add_all(self, rules: Sequence[FaultRule], now_ms: int) -> list[int]:
        """Add rules in their order after all others, or none of them; return their ids.

        Raises:
            ValueError: a rule names something that does not exist, such as a broker. With several
                rules the message has the number of the rule. Or there would be too many rules.
        """
        self._check_count(len(rules))
        for number, rule in enumerate(paced(rules), 1):
            try:
                check_cluster(rule, self._cluster)
            except ValueError as error:
                raise ValueError(f"rule {number}: {error}" if len(rules) > 1 else error) from error
        self._check_count(len(rules))  # again, after the pauses
        ids = [self._add_checked(rule, now_ms) for rule in rules]
        self._refresh()
        return ids

    def _check_count(self, added_count: int) -> None:
        if len(self._states) + added_count > RULES_MAX:
            raise ValueError(f"there may be {RULES_MAX} rules, including those that are used up")

    def _add_checked(self, rule: FaultRule, now_ms: int) -> int:
        self._last_id += 1
        state = RuleState(self._last_id, rule, now_ms, view=self._view_for(rule))
        self._states[state.rule_id] = state
        if rule.trigger.at_once:
            has_acted = act(rule, self._cluster, None, now_ms) is None
            state.fire_count = int(has_acted)
        return state.rule_id

    def _view_for(self, rule: FaultRule) -> StaleView | None:
        return StaleView(self._cluster) if rule.has_action(StaleMetadata) else None

    def rules(self) -> list[RuleState]:
        """Return every rule with its counts, in order, including those that are used up."""
        return list(self._states.values())

    def undo(self, match: RuleMatch) -> None:
        """Undo the count of a match whose action on the cluster could not be done.

        A rule with other actions keeps its count.
        """
        if all(isinstance(action, ClusterAction) for action in match.rule.actions):
            match.state.fire_count -= 1
            self._refresh()

    def remove(self, rule_id: int) -> bool:
        """Remove a rule; return False if there is none. Responses that it delays stay delayed."""
        removed = self._states.pop(rule_id, None)
        self._refresh()
        return removed is not None

    def clear(self) -> None:
        """Remove all rules; a hook stays."""
        self._states.clear()
        self._refresh()

    def reset(self) -> None:
        """Remove all rules and the hook; ids start at 1 again."""
        self._hook = None
        self._last_id = 0
        self.latest_ms = 0
        self.clear()

    def set_hook(self, hook: Hook | None) -> None:
        """Set the function that gets every request that no rule decides; None removes it."""
        self._hook = hook
        self._refresh()

    def evaluate(
        self,
        context: RequestContext,
        decode: Callable[[], Any],
        decode_for_hook: Callable[[], Any] | None = None,
    ) -> FaultDecision | None:
        """Return the decision of the rules on a request; None if no rule fires.

        `decode` returns the decoded body. `decode_for_hook` returns it as decoded by its schema, if
        that differs.
        """
        self.latest_ms = max(self.latest_ms, context.now_ms)
        known: list[RequestTargets] = []

        def targets() -> RequestTargets:
            if not known:
                known.append(request_targets(decode()).with_topic_names(self.topic_name))
            return known[0]

        decision: FaultDecision | None = None
        is_decided = False
        for state in self._live():
            is_deciding = state.rule.has_action(DecidingAction)
            if (is_deciding and is_decided) or not state.matches(context, targets):
                continue
            if state.count_match():
                decision = decision or FaultDecision()
                decision.add(state)
                is_decided = is_decided or is_deciding
        if self._hook is not None and not is_decided and context.connection_id > 0:
            rule = self._hook(context, (decode_for_hook or decode)())
            if rule is not None:
                decision = decision or FaultDecision()
                decision.add(self._state_of_hook(rule, context.now_ms))
        self._refresh()
        return decision

    def topic_name(self, topic_id: UUID) -> str | None:
        """Return the name of a topic, or None if there is no topic with this id."""
        topic = self._cluster.topics.get_by_id(topic_id)
        return None if topic is None else topic.name

    def _state_of_hook(self, rule: FaultRule, now_ms: int) -> RuleState:
        view = self._view_for(rule)
        return RuleState(HOOK_ID, rule, now_ms, match_count=1, fire_count=1, view=view)

    def evaluate_connection(self, broker_id: int, now_ms: int) -> ConnectionDecision | None:
        """Return the decision of the rules on a new connection; None if no rule fires."""
        fired = [
            state
            for state in self._live()
            if state.matches_connection(broker_id, now_ms) and state.count_match()
        ]
        self._refresh()
        if not fired:
            return None
        delays = [(state, state.rule.action(DelayConnection)) for state in fired]
        return ConnectionDecision(
            is_refused=any(state.rule.has_action(RefuseConnection) for state in fired),
            delay_ms=sum(
                state.jittered(delay.delay_connection_ms, delay.jitter_ms, "delay_connection_ms")
                for state, delay in delays
                if delay is not None
            ),
            description="; ".join(f"#{state.rule_id} {state.rule.describe()}" for state in fired),
        )

    def _live(self) -> Sequence[RuleState]:
        return [state for state in self._states.values() if not state.is_used_up]

    def _refresh(self) -> None:
        live = self._live()
        self.is_enabled = self._hook is not None or bool(live)
        self.named_apis = frozenset(state.rule.match.api_key for state in live)
