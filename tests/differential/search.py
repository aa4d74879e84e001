"""Search for differences: play generated conversations with both clusters, and shrink what differs."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import HypothesisException

from tests.differential.clusters import ComparedCluster
from tests.differential.comparison import Comparison, answering_apis, compare
from tests.differential.conversation import Conversation
from tests.differential.player import Play
from tests.differential.strategies import Versions, conversations

EXAMPLES_PER_SEED = 20
_SHRINK_S = 30
_STABLE_SETTLE_S = 0.4


@dataclass(slots=True)
class Agreement:
    """How far the responses of one API agree."""

    conversations: int = 0
    responses: int = 0
    agreeing: int = 0
    fields: int = 0
    ignored_fields: int = 0

    def add(self, other: "Agreement") -> None:
        """Add another count."""
        self.conversations += other.conversations
        self.responses += other.responses
        self.agreeing += other.agreeing
        self.fields += other.fields
        self.ignored_fields += other.ignored_fields


@dataclass(frozen=True, slots=True)
class Finding:
    """The shortest conversation found with a difference, and what both clusters answered."""

    signature: str
    conversation: Conversation
    kafka: Sequence[Any]
    ours: Sequence[Any]
    lines: Sequence[str]
    """Every difference of this conversation, for people."""


@dataclass(slots=True)
class Report:
    """What a job found."""

    findings: list[Finding] = field(default_factory=list)
    agreement: dict[str, Agreement] = field(default_factory=dict)
    allowed: Counter[tuple[str, str]] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    def add(self, other: "Report") -> None:
        """Add another report."""
        self.findings += other.findings
        for api, agreement in other.agreement.items():
            self.agreement.setdefault(api, Agreement()).add(agreement)
        self.allowed += other.allowed
        self.errors += other.errors


@dataclass(frozen=True, slots=True)
class Played:
    """The answers of both clusters to a conversation."""

    kafka: Sequence[Any]
    ours: Sequence[Any]
    comparison: Comparison


class Pair:
    """Apache Kafka and our cluster, which play the same conversation at the same time."""

    def __init__(self, kafka: ComparedCluster, ours: ComparedCluster) -> None:
        self._clusters = (kafka, ours)

    def play(self, conversation: Conversation, settle_s: float | None = None) -> Played:
        """Play a conversation with both clusters and compare their answers."""
        kafka, ours = self._clusters
        if settle_s is not None:
            kafka = kafka.settling(settle_s)
        first = Play(kafka)
        second = first.beside(ours)
        with ThreadPoolExecutor(2) as pool:
            plays = [pool.submit(play.run, conversation) for play in (first, second)]
            for play in plays:
                play.result()
        comparison = compare(conversation, first.answers, second.answers)
        return Played(first.answers, second.answers, comparison)

    def play_until_stable(self, conversation: Conversation) -> Played:
        """Play it, and again with more time for Kafka's metadata if something differs.

        A difference that is not there every time is no difference.
        """
        played = self.play(conversation)
        if not played.comparison.differences:
            return played
        again = self.play(conversation, _STABLE_SETTLE_S)
        stable = played.comparison.signatures & again.comparison.signatures
        again.comparison.differences = [
            difference
            for difference in again.comparison.differences
            if difference.signature in stable
        ]
        return again


class DifferenceError(AssertionError):
    """A conversation has the difference that the search is shrinking."""


class Search:
    """One job: conversations of one API from one seed."""

    def __init__(self, pair: Pair, api: str, versions: Versions, known: frozenset[str]) -> None:
        self._pair = pair
        self._api = api
        self._versions = versions
        self._known = set(known)
        self._target = ""
        self._shrink_until_s = 0.0
        self._shortest: Finding | None = None
        self._failing: dict[str, Finding] = {}
        self._budget = 0
        self.report = Report()

    def run(self, first_seed: int, examples: int) -> Report:
        """Play `examples` conversations; each new difference is shrunk once."""
        self._budget = examples
        attempt = 0
        while self._budget > 0:
            try:
                self._property(first_seed * 1000 + attempt)()
            except (DifferenceError, HypothesisException, BaseExceptionGroup):
                pass  # The shortest conversation is noted below.
            if self._shortest is None:
                break
            self.report.findings.append(self._shortest)
            self._known.add(self._target)
            self._target, self._shortest = "", None
            self._failing.clear()
            attempt += 1
        return self.report

    def _property(self, number: int) -> Any:
        @seed(number)
        @settings(
            max_examples=max(1, self._budget),
            database=None,
            deadline=None,
            derandomize=False,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),
            report_multiple_bugs=False,
            print_blob=False,
            verbosity=Verbosity.quiet,
        )
        @given(conversations(self._api, self._versions))
        def agrees(conversation: Conversation) -> None:
            self._examine(conversation)

        return agrees

    def _examine(self, conversation: Conversation) -> None:
        key = conversation.to_json()
        if key in self._failing:
            raise DifferenceError
        if not self._target:
            if self._budget <= 0:
                return
            self._budget -= 1
        elif time.monotonic() > self._shrink_until_s:
            return
        try:
            played = self._pair.play_until_stable(conversation)
        except OSError as error:
            self.report.errors.append(f"{type(error).__name__}: {error}: {key}")
            return
        if not self._target:
            self._count(conversation, played)
        new = played.comparison.signatures - self._known
        if not new or (self._target and self._target not in new):
            return
        if not self._target:
            self._target = next(
                difference.signature
                for difference in played.comparison.differences
                if difference.signature in new
            )
            self._shrink_until_s = time.monotonic() + _SHRINK_S
        finding = Finding(
            self._target,
            conversation,
            played.kafka,
            played.ours,
            [str(difference) for difference in played.comparison.differences],
        )
        self._failing[key] = finding
        if self._shortest is None or len(key) <= len(self._shortest.conversation.to_json()):
            self._shortest = finding
        raise DifferenceError

    def _count(self, conversation: Conversation, played: Played) -> None:
        count_agreement(self.report, conversation, played)
        self.report.agreement[self._api].conversations += 1


def count_agreement(report: Report, conversation: Conversation, played: Played) -> None:
    """Add the responses of a conversation to the agreement of their APIs."""
    differing = {difference.step for difference in played.comparison.differences}
    apis = answering_apis(conversation)
    for step, (api, answer) in enumerate(zip(apis, played.kafka, strict=True)):
        agreement = report.agreement.setdefault(api, Agreement())
        if answer is not None:
            agreement.responses += 1
            agreement.agreeing += step not in differing
    for allowed, count in played.comparison.allowed.items():
        report.allowed[allowed.api, allowed.path] += count


def common_versions(
    kafka: Mapping[int, tuple[int, int]],
    ours: Mapping[int, tuple[int, int]],
    schemas: Mapping[int, tuple[str, int, int]],
) -> dict[str, tuple[int, int]]:
    """Return the versions that both clusters and our schemas have, by API."""
    found = {}
    for key, (name, low, high) in schemas.items():
        if key in kafka and key in ours:
            first = max(low, kafka[key][0], ours[key][0])
            last = min(high, kafka[key][1], ours[key][1])
            if first <= last:
                found[name] = (first, last)
    return found
