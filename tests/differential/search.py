"""Search for differences: generate conversations, play them, shorten those that differ."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from protocol import messages
from tests.differential.clusters import ComparedCluster
from tests.differential.comparison import Comparison, answering_apis, compare
from tests.differential.conversation import Conversation
from tests.differential.player import CLOSED, SILENT, Play
from tests.differential.shortening import shorten
from tests.differential.strategies import Subject, conversations

EXAMPLES_PER_SEED = 20
_SHORTEN_S = 40
_DIFFERING = 1_000_000
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
    """The places of this difference, for people."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A conversation with many fields and few differences, which the score weighs."""

    score: int
    conversation: Conversation
    kafka: Sequence[Any]
    differences: str


@dataclass(slots=True)
class Report:
    """What a job found."""

    findings: list[Finding] = field(default_factory=list)
    agreement: dict[str, Agreement] = field(default_factory=dict)
    allowed: Counter[tuple[str, str]] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    samples: dict[str, Sample] = field(default_factory=dict)
    signatures: set[str] = field(default_factory=set)
    """Of all differences seen, also of those that were known before."""

    def add(self, other: "Report") -> None:
        """Add another report."""
        self.findings += other.findings
        for api, agreement in other.agreement.items():
            self.agreement.setdefault(api, Agreement()).add(agreement)
        self.allowed += other.allowed
        self.errors += other.errors
        self.signatures |= other.signatures
        for api, sample in other.samples.items():
            self.note_sample(api, sample)

    def note_sample(self, api: str, sample: "Sample") -> None:
        """Keep a sample if it is better than the one there is."""
        if api not in self.samples or sample.score > self.samples[api].score:
            self.samples[api] = sample


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
        if not all(cluster.is_healthy() for cluster in self._clusters):
            raise ConnectionError("a broker is not in the metadata of its cluster")
        again = self.play(conversation, _STABLE_SETTLE_S * conversation.brokers)
        stable = played.comparison.signatures & again.comparison.signatures
        again.comparison.differences = [
            difference
            for difference in again.comparison.differences
            if difference.signature in stable
        ]
        return again


class Search:
    """One job: conversations of one API from one seed."""

    def __init__(self, pair: Pair, subject: Subject, known: frozenset[str]) -> None:
        self._pair = pair
        self._subject = subject
        self._api = subject.api
        self._known = set(known)
        self.report = Report()

    def run(self, number: int, examples: int) -> Report:
        """Play `examples` conversations; the first one with a new difference is shortened."""

        @seed(number)
        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            derandomize=False,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate,),
        )
        @given(conversations(self._subject))
        def play(conversation: Conversation) -> None:
            self._examine(conversation)

        play()
        return self.report

    def examine(self, conversations: Iterable[Conversation]) -> Report:
        """Play these conversations, as `run` does with generated ones."""
        for conversation in conversations:
            self._examine(conversation)
        return self.report

    def _note_sample(self, conversation: Conversation, played: Played) -> None:
        """Keep the conversation with the most fields in responses of this API that agree."""
        apis = answering_apis(conversation)
        differing = sum(difference.api == self._api for difference in played.comparison.differences)
        fields = sum(
            len(str(answer))
            for api, answer in zip(apis, played.kafka, strict=True)
            if api == self._api and answer not in (None, CLOSED, SILENT)
        )
        if fields:
            lines = "\n".join(str(difference) for difference in played.comparison.differences)
            sample = Sample(fields - _DIFFERING * differing, conversation, played.kafka, lines)
            self.report.note_sample(self._api, sample)

    def _examine(self, conversation: Conversation) -> None:
        try:
            played = self._pair.play_until_stable(conversation)
        except (OSError, KeyError) as error:
            self.report.errors.append(f"{type(error).__name__}: {error}: {conversation.to_json()}")
            return
        count_agreement(self.report, conversation, played)
        self.report.agreement[self._api].conversations += 1
        self._note_sample(conversation, played)
        for difference in played.comparison.differences:
            if difference.signature not in self._known:
                self._known.add(difference.signature)
                self.report.findings.append(
                    shortest_finding(self._pair, conversation, played, difference.signature)
                )


def shortest_finding(
    pair: Pair, conversation: Conversation, played: Played, signature: str
) -> Finding:
    """Shorten a conversation for some time as long as it has the difference."""
    end_s = time.monotonic() + _SHORTEN_S
    shortest = played

    def keeps(candidate: Conversation) -> bool:
        nonlocal shortest
        if time.monotonic() > end_s:
            return False
        try:
            result = pair.play(candidate)
            if signature in result.comparison.signatures:
                result = pair.play_until_stable(candidate)
        except (OSError, KeyError, AttributeError, TypeError, ValueError):
            return False  # A field that must be given is missing.
        if signature not in result.comparison.signatures:
            return False
        shortest = result
        return True

    short = shorten(conversation, keeps)
    lines = [
        str(difference)
        for difference in shortest.comparison.differences
        if difference.signature == signature
    ]
    return Finding(signature, short, shortest.kafka, shortest.ours, lines)


def count_agreement(report: Report, conversation: Conversation, played: Played) -> None:
    """Add the responses of a conversation to the agreement of their APIs."""
    differing = {difference.step for difference in played.comparison.differences}
    apis = answering_apis(conversation)
    for step, (api, answer) in enumerate(zip(apis, played.kafka, strict=True)):
        agreement = report.agreement.setdefault(api, Agreement())
        if answer is not None:
            agreement.responses += 1
            agreement.agreeing += step not in differing
    report.signatures |= played.comparison.signatures
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


def schemas() -> dict[int, tuple[str, int, int]]:
    """Return name and versions of the schemas that we have, by API key."""
    return {
        int(key): (name, *messages.schema_versions(key)) for key, name in messages.API_NAMES.items()
    }
