"""The fault rules of a server.

What rules are made of is imported with the first rule (ADR 24): a server without rules needs none.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause, paced

if TYPE_CHECKING:
    from broker.faults.decision import ConnectionDecision, FaultDecision, RuleMatch, RuleState
    from broker.faults.held_requests import HeldRequests
    from broker.faults.rule import FaultRule
    from broker.faults.rule_links import Links
    from broker.faults.stale_view import StaleView
    from broker.faults.withheld_batches import WithheldBatches
    from broker.request.acknowledgement import RecordChange
    from protocol.request_targets import RequestTargets


RULES_MAX = 10_000
"""Rules in the table; each request is compared with all of them."""

PATTERNS_MAX = 100
"""Patterns of all rules together."""

Hook = Callable[[RequestContext, Any], "FaultRule | None"]
"""Called with a request as decoded by its schema; may return a rule for this request alone."""


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
        self._lasting_hook: Hook | None = None
        self.is_enabled = False
        """Whether a rule can still fire, or there is a hook."""
        self.named_apis: frozenset[ApiKey | None] = frozenset()
        """The APIs that rules name which can still fire."""
        self.latest_ms = 0
        """The time of the latest request that was evaluated."""
        self.on_held: Callable[[RequestContext], None] | None = None
        """Called when a request is held, and when it is no more."""
        self.on_record_change: Callable[[RecordChange], None] | None = None
        """Called when a rule has changed what a log stores of a batch."""
        self.withheld: WithheldBatches | None = None
        """The batches that wait for the next one of their partition; None before there are any."""
        self.check_rule: Callable[[FaultRule], None] | None = None
        """Raises ValueError for a rule that this server cannot carry out, if there are any."""
        self._watchers: list[Callable[[], None]] = []

    @may_pause
    def add(self, rule: "FaultRule", now_ms: int) -> int:
        """Add a rule after all others; return its id.

        Raises:
            ValueError: the rule names something that does not exist, such as a broker.
        """
        (rule_id,) = self.add_all([rule], now_ms)
        return rule_id

    @may_pause
    def add_all(self, rules: "Sequence[FaultRule]", now_ms: int) -> list[int]:
        """Add rules in their order after all others, or none of them; return their ids.

        Raises:
            ValueError: a rule names something that does not exist, such as a broker. With several
                rules the message has the number of the rule. Or there would be too many rules.
        """
        if not rules:
            return []
        from broker.faults.cluster_actions import check_cluster  # noqa: PLC0415
        from broker.faults.decision import RuleState  # noqa: PLC0415

        self._check_count(rules)
        for number, rule in enumerate(paced(rules), 1):
            with _numbered(number, len(rules)):
                check_cluster(rule, self._cluster)
                if self.check_rule is not None:
                    self.check_rule(rule)
        self._check_count(rules)  # again, after the pauses
        links = self._links(rules)
        states = [
            RuleState(self._last_id + 1 + place, rule, now_ms) for place, rule in enumerate(rules)
        ]
        self._last_id += len(rules)
        for state, link in zip(states, links, strict=True):
            link.connect(state, states)
        for state in states:
            self._begin(state, now_ms)
        self.refresh()
        return [state.rule_id for state in states]

    def _links(self, rules: "Sequence[FaultRule]") -> "list[Links]":
        from broker.faults.rule_links import LinkFinder, circle  # noqa: PLC0415

        finder = LinkFinder(self.rules(), rules)
        links = []
        for number, rule in enumerate(rules, 1):
            with _numbered(number, len(rules)):
                links.append(finder.links(number - 1, rule))
        if places := circle(links):
            names = ", ".join(str(rules[place].name) for place in places)
            raise ValueError(f"after: these rules wait for each other, none could fire: {names}")
        return links

    def _check_count(self, added: "Sequence[FaultRule]") -> None:
        if len(self._states) + len(added) > RULES_MAX:
            raise ValueError(f"there may be {RULES_MAX} rules, including those that are used up")
        from broker.faults.selection import patterns_of  # noqa: PLC0415

        count = sum(patterns_of(rule.match) for rule in added)
        if (
            count
            and count + sum(patterns_of(one.rule.match) for one in self.rules()) > PATTERNS_MAX
        ):
            raise ValueError(f"where: all rules together may have {PATTERNS_MAX} patterns")

    @may_pause
    def _begin(self, state: "RuleState", now_ms: int) -> None:
        from broker.faults.cluster_actions import act  # noqa: PLC0415

        state.view = self._view_for(state.rule)
        self._states[state.rule_id] = state
        if state.rule.trigger.at_once:
            if act(state.rule, self._cluster, None, now_ms) is None:
                state.count_fire(now_ms)
            state.lose_followers()

    def _view_for(self, rule: "FaultRule") -> "StaleView | None":
        from broker.faults.actions import StaleMetadata  # noqa: PLC0415
        from broker.faults.stale_view import StaleView  # noqa: PLC0415

        return StaleView(self._cluster) if rule.has_action(StaleMetadata) else None

    def rules(self) -> "list[RuleState]":
        """Return every rule with its counts, in order, including those that are used up."""
        return list(self._states.values())

    def undo(self, match: "RuleMatch") -> None:
        """Undo the count of a match whose action could not be done.

        A rule with other actions keeps its count.
        """
        from broker.faults.actions import ChangeRecords, ClusterAction, Hold  # noqa: PLC0415

        undone = ClusterAction | Hold | ChangeRecords
        if all(isinstance(action, undone) for action in match.rule.actions):
            match.state.undo_fire()
            self.refresh()

    def remove(self, rule_id: int) -> bool:
        """Remove a rule; return False if there is none.

        Responses that it delays stay delayed, and requests that it holds go on. Rules that wait for
        it never fire.
        """
        removed = self._states.pop(rule_id, None)
        if removed is not None:
            self._lose(removed)
        self.refresh()
        self._notify()
        return removed is not None

    def clear(self) -> None:
        """Remove all rules; a hook stays. Requests that they hold go on."""
        removed = self.rules()
        self._states.clear()
        for state in removed:
            self._lose(state)
        self.refresh()
        self._notify()

    def _lose(self, state: "RuleState") -> None:
        state.is_lost = True
        state.lose_followers()
        if state.held:
            self.held.release(state, self._cluster.timers.latest_ms)
        if self.withheld is not None:
            for change in self.withheld.release(state.rule_id, self._cluster.timers.latest_ms):
                self.note_record_change(change)

    def note_record_change(self, change: "RecordChange") -> None:
        """Note what a rule has changed in a log."""
        if self.on_record_change is not None:
            self.on_record_change(change)

    # Requests that are held -------------------------------------------------------------------

    @cached_property
    def held(self) -> "HeldRequests":
        """The requests that rules hold."""
        from broker.faults.held_requests import HeldRequests  # noqa: PLC0415

        return HeldRequests(self._cluster.timers)

    def release(self, rule_id: int, now_ms: int, count: int | None = None) -> int:
        """Have the oldest `count` requests that a rule holds go on; return how many there were.

        None stands for all: then the rule is used up and holds no others.

        Raises:
            KeyError: there is no such rule.
        """
        released = self.held.release(self._states[rule_id], now_ms, count)
        self.refresh()
        self._notify()
        return released

    def note_held(self, context: RequestContext, *, is_held: bool) -> None:
        """Note that a request is held from now on, or no more."""
        context.is_held = is_held
        if self.on_held is not None:
            self.on_held(context)
        self._notify()

    # ------------------------------------------------------------------------------------------

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` after each change of a count; return a function that ends this."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def _notify(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()

    def state(self, rule_id: int) -> "RuleState | None":
        """Return a rule with its counts, or None."""
        return self._states.get(rule_id)

    def reset(self) -> None:
        """Remove all rules, and the hook unless it lasts; ids start at 1 again."""
        self._hook = self._lasting_hook
        self._last_id = 0
        self.latest_ms = 0
        self.clear()

    def set_hook(self, hook: Hook | None, *, is_lasting: bool = False) -> None:
        """Set the function that gets every request that no rule decides; None removes it.

        One that is lasting is there again after a reset.
        """
        self._hook = hook
        if is_lasting:
            self._lasting_hook = hook
        self.refresh()

    @may_pause
    def evaluate(
        self,
        context: RequestContext,
        decode: Callable[[], Any],
        decode_by_schema: Callable[[], Any] | None = None,
    ) -> "FaultDecision | None":
        """Return the decision of the rules on a request; None if no rule fires.

        `decode` returns the decoded body. `decode_by_schema` returns it as decoded by its schema,
        if that differs.
        """
        from broker.faults.actions import DecidingAction  # noqa: PLC0415
        from broker.faults.decision import FaultDecision  # noqa: PLC0415
        from protocol.request_targets import request_targets  # noqa: PLC0415

        self.latest_ms = max(self.latest_ms, context.now_ms)
        known: list[RequestTargets] = []
        decoded: list[Any] = []

        def targets() -> "RequestTargets":
            if not known:
                known.append(request_targets(decode()).with_topic_names(self.topic_name))
            return known[0]

        def message() -> Any:
            if not decoded:
                decoded.append((decode_by_schema or decode)())
            return decoded[0]

        decision: FaultDecision | None = None
        is_decided = False
        # Before any rule fires: what it fires on is no request after it.
        for state in paced([state for state in self._live() if state.is_armed]):
            is_deciding = state.rule.has_action(DecidingAction)
            if (is_deciding and is_decided) or not state.matches(
                context, targets, message, self.topic_name
            ):
                continue
            if state.is_used_up:
                continue  # by another request, during a pause
            if state.count_match(context.now_ms):
                decision = decision or FaultDecision()
                decision.add(state)
                is_decided = is_decided or is_deciding
        if self._hook is not None and not is_decided and context.connection_id > 0:
            rule = self._hook(context, message())
            if rule is not None:
                decision = decision or FaultDecision()
                decision.add(self._state_of_hook(rule, context.now_ms))
        self.refresh()
        if decision is not None:
            self._notify()
        return decision

    def topic_name(self, topic_id: UUID) -> str | None:
        """Return the name of a topic, or None if there is no topic with this id."""
        return self._cluster.topics.name_of(topic_id)

    def _state_of_hook(self, rule: "FaultRule", now_ms: int) -> "RuleState":
        from broker.faults.decision import HOOK_ID, RuleState  # noqa: PLC0415

        view = self._view_for(rule)
        return RuleState(HOOK_ID, rule, now_ms, match_count=1, fire_count=1, view=view)

    def evaluate_connection(self, broker_id: int, now_ms: int) -> "ConnectionDecision | None":
        """Return the decision of the rules on a new connection; None if no rule fires."""
        if not self.is_enabled:
            return None
        from broker.faults.actions import DelayConnection, RefuseConnection  # noqa: PLC0415
        from broker.faults.decision import ConnectionDecision  # noqa: PLC0415

        fired = [
            state
            for state in [state for state in self._live() if state.is_armed]
            if state.matches_connection(broker_id, now_ms) and state.count_match(now_ms)
        ]
        self.refresh()
        self._notify()
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

    def _live(self) -> "Sequence[RuleState]":
        return [state for state in self._states.values() if not state.is_used_up]

    def refresh(self) -> None:
        """Find out again whether a rule can still fire."""
        live = self._live()
        self.is_enabled = self._hook is not None or bool(live) or bool(self.withheld)
        self.named_apis = frozenset(state.rule.match.api_key for state in live)


@contextmanager
def _numbered(number: int, count: int) -> Iterator[None]:
    """Put the number of a rule into the message of an error, if there are several rules."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"rule {number}: {error}" if count > 1 else error) from error
