"""The rules there are, how often each matched and fired, and what they say of a request."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from broker.cluster.cluster import Cluster
from broker.faults.cluster_actions import act, check_cluster
from broker.faults.response_bytes import fraction
from broker.faults.rule import APIS_OF_METADATA, CLUSTER_ACTIONS, FaultRule
from broker.faults.stale_view import StaleView
from broker.faults.subject import Subject, subject_of
from broker.request.context import RequestContext


@dataclass(slots=True, eq=False)
class ListedRule:
    """A rule in the table: its id, how many requests it matched, and on how many it fired."""

    rule_id: int
    rule: FaultRule
    added_ms: int
    match_count: int = 0
    fire_count: int = 0
    view: StaleView | None = None
    """What a stale response is made from."""

    @property
    def is_used_up(self) -> bool:
        """Whether it can never fire again; it then matches nothing more."""
        rule = self.rule
        if rule.at_once or (rule.times is not None and self.fire_count >= rule.times):
            return True
        return rule.nth is not None and self.match_count - rule.skip >= rule.nth

    def matches(self, context: RequestContext, subject: Callable[[], Subject]) -> bool:
        """Whether a request is one of those it is for; `subject` is asked only if need be."""
        rule = self.rule
        is_here = (
            (rule.api is None or rule.api_key == context.api_key)
            and (rule.version_min is None or context.api_version >= rule.version_min)
            and (rule.version_max is None or context.api_version <= rule.version_max)
            and (rule.broker is None or rule.broker == context.broker_id)
            and (rule.client_id is None or rule.client_id == context.client_id)
            and (rule.user is None or rule.user == context.principal)
            and (rule.connection is None or rule.connection == context.connection_id)
            and not rule.is_of_connections
            and (not rule.stale_metadata or context.api_key in APIS_OF_METADATA)
            and self._is_in_time(context.now_ms)
        )
        if not is_here:
            return False
        asks_for_topics = rule.topic is not None or rule.partition is not None
        if asks_for_topics and not subject().has_partition(rule.topic, rule.partition):
            return False
        if rule.group is not None and rule.group not in subject().groups:
            return False
        wanted_id = rule.transactional_id
        return wanted_id is None or wanted_id in subject().transactional_ids

    def matches_connection(self, broker_id: int, now_ms: int) -> bool:
        """Whether it is for new connections to this broker."""
        rule = self.rule
        return (
            rule.is_of_connections
            and (rule.broker is None or rule.broker == broker_id)
            and self._is_in_time(now_ms)
        )

    def _is_in_time(self, now_ms: int) -> bool:
        passed_ms = now_ms - self.added_ms
        rule = self.rule
        return (rule.after_ms is None or passed_ms >= rule.after_ms) and (
            rule.until_ms is None or passed_ms < rule.until_ms
        )

    def fires(self) -> bool:
        """Count a match, and say whether it fires on this one."""
        rule = self.rule
        self.match_count += 1
        number = self.match_count - rule.skip
        if (
            number < 1
            or (rule.nth is not None and number != rule.nth)
            or (rule.every is not None and number % rule.every != 0)
            or (
                rule.probability is not None
                and fraction(rule.seed, self.match_count, "fire") >= rule.probability
            )
        ):
            return False
        self.fire_count += 1
        return True

    def jittered(self, delay_ms: int, purpose: str) -> int:
        """A delay with this firing's share of the jitter."""
        jitter_ms = self.rule.jitter_ms
        if not jitter_ms:
            return delay_ms
        return delay_ms + int(fraction(self.rule.seed, self.fire_count, purpose) * (jitter_ms + 1))


@dataclass(frozen=True, slots=True)
class Firing:
    """One rule that fired on one request, and for which time: what seeds its random choices."""

    listed: ListedRule
    number: int

    @property
    def rule(self) -> FaultRule:
        """The rule itself."""
        return self.listed.rule


HOOK_ID = 0
"""What a rule of a hook is called, which is in no table."""

# A rule has to do something; waiting for no time is the least.
NO_DECISION = FaultRule(delay_ms=0)


@dataclass(slots=True)
class Verdict:
    """What all rules that fired on a request come to; of delays the sum, of limits the least."""

    firings: list[Firing] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)
    deciding: FaultRule = NO_DECISION
    """The rule that decides what becomes of the request; one that does nothing if none does."""
    view: StaleView | None = None
    delay_request_ms: int = 0
    delay_ms: int = 0
    bytes_per_second: int | None = None
    throttle_time_ms: int = 0
    mute: bool = False

    def add(self, listed: ListedRule) -> None:
        """Take in a rule that has just fired."""
        rule = listed.rule
        self.firings.append(Firing(listed, listed.fire_count))
        self.descriptions.append(f"#{listed.rule_id} {rule.describe()}")
        if rule.decides:
            self.deciding = rule
            self.view = listed.view
        if rule.delay_request_ms is not None:
            self.delay_request_ms += listed.jittered(rule.delay_request_ms, "delay_request_ms")
        if rule.delay_ms is not None:
            self.delay_ms += listed.jittered(rule.delay_ms, "delay_ms")
        if rule.bytes_per_second is not None:
            others = self.bytes_per_second or rule.bytes_per_second
            self.bytes_per_second = min(others, rule.bytes_per_second)
        if rule.throttle_time_ms is not None:
            self.throttle_time_ms = max(self.throttle_time_ms, rule.throttle_time_ms)
            self.mute = self.mute or rule.mute

    @property
    def description(self) -> str:
        """Which rules fired and what they do, for logs and journals."""
        return "; ".join(self.descriptions)

    @property
    def falsifying_rule_ids(self) -> tuple[int, ...]:
        """The ids of those that make the response say what is not so."""
        return tuple(each.listed.rule_id for each in self.firings if each.rule.falsifies)

    def cluster_firings(self, at: str) -> list[Firing]:
        """Those that do something to the cluster at this point."""
        return [
            each
            for each in self.firings
            if each.rule.at == at and not set(CLUSTER_ACTIONS).isdisjoint(each.rule.actions)
        ]


Hook = Callable[["RequestContext", Any], FaultRule | None]
"""Sees a request, decoded by its schema, and may have one rule made for it alone."""


@dataclass(frozen=True, slots=True)
class ConnectionVerdict:
    """What becomes of a new connection."""

    is_refused: bool
    delay_ms: int
    description: str


class FaultTable:
    """The rules of a cluster, asked in the order they were added.

    Only one rule decides what becomes of a request (an error, no response, a stale one): the first
    that fires. Deciding rules after it don't see the request, so that rules make a script.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._listed: dict[int, ListedRule] = {}
        self._last_id = 0
        self._hook: Hook | None = None
        self.is_enabled = False
        """Whether any rule can still fire, or a hook sees the requests."""
        self.latest_ms = 0
        """The time of the latest request that was judged."""

    def add(self, rule: FaultRule, now_ms: int) -> int:
        """Add a rule behind all others; returns its id.

        Raises:
            ValueError: it names what isn't there, such as a broker.
        """
        (rule_id,) = self.add_all([rule], now_ms)
        return rule_id

    def add_all(self, rules: Sequence[FaultRule], now_ms: int) -> list[int]:
        """Add rules in their order behind all others, or none of them; returns their ids.

        Raises:
            ValueError: one names what isn't there, such as a broker; of several it says which.
        """
        for number, rule in enumerate(rules, 1):
            try:
                check_cluster(rule, self._cluster)
            except ValueError as error:
                raise ValueError(f"rule {number}: {error}" if len(rules) > 1 else error) from error
        ids = [self._take_in(rule, now_ms) for rule in rules]
        self._refresh()
        return ids

    def _take_in(self, rule: FaultRule, now_ms: int) -> int:
        self._last_id += 1
        view = StaleView(self._cluster) if rule.stale_metadata else None
        listed = ListedRule(self._last_id, rule, now_ms, view=view)
        self._listed[listed.rule_id] = listed
        if rule.at_once:
            has_acted = act(rule, self._cluster, None, now_ms) is None
            listed.fire_count = int(has_acted)
        return listed.rule_id

    def rules(self) -> list[ListedRule]:
        """Every rule with its counts, those that are used up too, in order."""
        return list(self._listed.values())

    def take_back(self, firing: Firing) -> None:
        """Don't count a firing: what its rule does to the cluster could not be done."""
        if set(firing.rule.actions) <= set(CLUSTER_ACTIONS):
            firing.listed.fire_count -= 1
            self._refresh()

    def remove(self, rule_id: int) -> bool:
        """Forget a rule; False if there is none with this id. Answers it delays stay delayed."""
        removed = self._listed.pop(rule_id, None)
        self._refresh()
        return removed is not None

    def clear(self) -> None:
        """Forget all rules; a hook stays."""
        self._listed.clear()
        self._refresh()

    def reset(self) -> None:
        """Forget all rules, their numbers and the hook."""
        self._hook = None
        self._last_id = 0
        self.latest_ms = 0
        self.clear()

    def set_hook(self, hook: Hook | None) -> None:
        """Have a function see every request that the rules do not decide; None for none."""
        self._hook = hook
        self._refresh()

    def judge(
        self,
        context: RequestContext,
        decode: Callable[[], Any],
        decode_for_hook: Callable[[], Any] | None = None,
    ) -> Verdict | None:
        """What becomes of a request; None when no rule fires. `decode` gives the decoded body.

        `decode_for_hook` gives it by its schema, where that is something else.
        """
        self.latest_ms = max(self.latest_ms, context.now_ms)
        known: list[Subject] = []

        def subject() -> Subject:
            if not known:
                known.append(subject_of(decode(), self._cluster))
            return known[0]

        verdict: Verdict | None = None
        is_decided = False
        for listed in self._live():
            if (listed.rule.decides and is_decided) or not listed.matches(context, subject):
                continue
            if listed.fires():
                verdict = verdict or Verdict()
                verdict.add(listed)
                is_decided = is_decided or listed.rule.decides
        if self._hook is not None and not is_decided:
            rule = self._hook(context, (decode_for_hook or decode)())
            if rule is not None:
                verdict = verdict or Verdict()
                verdict.add(self._listed_once(rule, context.now_ms))
        self._refresh()
        return verdict

    def _listed_once(self, rule: FaultRule, now_ms: int) -> ListedRule:
        view = StaleView(self._cluster) if rule.stale_metadata else None
        return ListedRule(HOOK_ID, rule, now_ms, match_count=1, fire_count=1, view=view)

    def judge_connection(self, broker_id: int, now_ms: int) -> ConnectionVerdict | None:
        """What becomes of a new connection to a broker; None when no rule fires."""
        fired = [
            listed
            for listed in self._live()
            if listed.matches_connection(broker_id, now_ms) and listed.fires()
        ]
        self._refresh()
        if not fired:
            return None
        return ConnectionVerdict(
            is_refused=any(each.rule.refuse_connection for each in fired),
            delay_ms=sum(
                each.jittered(each.rule.delay_connection_ms, "delay_connection_ms")
                for each in fired
                if each.rule.delay_connection_ms is not None
            ),
            description="; ".join(f"#{each.rule_id} {each.rule.describe()}" for each in fired),
        )

    def _live(self) -> Sequence[ListedRule]:
        return [listed for listed in self._listed.values() if not listed.is_used_up]

    def _refresh(self) -> None:
        self.is_enabled = self._hook is not None or bool(self._live())
