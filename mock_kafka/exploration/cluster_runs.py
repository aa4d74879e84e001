"""Runs on a cluster: each begins with a reset and some fault rules, and ends with an audit."""

from collections.abc import Callable, Collection

from mock_kafka.audit import ON_PURPOSE
from mock_kafka.cluster import MockKafka
from mock_kafka.exploration.disturbances import Rule
from mock_kafka.exploration.outcome import Evidence, Outcome, sequences_of
from mock_kafka.exploration.schedule import Seen, seen_of
from mock_kafka.exploration.throttles import KIND, requests_during_throttles

__tracebackhide__ = True  # pytest shows the line of the caller

DURING_THROTTLE = "requests_during_throttle"
"""The kind of finding that `requests_during_throttles` makes, to leave it out."""
_LINES_MAX = 10


class ClusterRuns:
    """Prepare a cluster for each run of a program, and find what went wrong in it.

    `prepare` is called after each reset. Findings of `except_kinds` are ignored: kinds of the
    audit, or `DURING_THROTTLE`.
    """

    def __init__(
        self,
        kafka: MockKafka,
        prepare: Callable[[], None] = lambda: None,
        except_kinds: Collection[str] = (),
    ) -> None:
        self._kafka = kafka
        self._prepare = prepare
        self._except_kinds = frozenset(except_kinds) | ON_PURPOSE

    def begin(self, rules: list[Rule]) -> None:
        """Empty the cluster and add the rules; clients of the run before can't reach it."""
        self._kafka.reset(ports="new")
        self._prepare()
        if rules:
            self._kafka.add_faults(rules)

    def end(
        self,
        kind: str | None,
        *,
        output: bytes = b"",
        error: BaseException | None = None,
        has_evidence: bool = False,
    ) -> Outcome:
        """Return the outcome of a run.

        Args:
            kind: how the program failed, such as `exit status 1`; None if it did not.
            output: what it printed.
            error: what a test raised.
            has_evidence: whether a failure comes with the journal and a pcap file.
        """
        kafka = self._kafka
        requests = kafka.requests(has_messages=False)
        report = kafka.audit()
        kinds, lines = ({kind}, [kind]) if kind is not None else (set(), [])
        if report.has_findings(except_kinds=self._except_kinds):
            found = {finding.kind for finding in report.findings} - self._except_kinds
            kinds |= {f"audit: {name}" for name in found}
            lines.append(str(report))
        throttled = requests_during_throttles(requests)
        if throttled and DURING_THROTTLE not in self._except_kinds:
            kinds.add(KIND)
            lines += [f"{KIND}: {len(throttled)}", *throttled[:_LINES_MAX]]
        evidence = None
        if kinds and has_evidence:
            journal = kafka.control.ask("GET", "/v1/requests", query={"limit": 10_000})
            pcap = kafka.control.ask("GET", "/v1/requests/pcap")
            evidence = Evidence(output, journal, pcap)
        text = "\n".join(lines)
        return Outcome(frozenset(kinds), text, sequences_of(requests), evidence, error)

    def seen(self) -> Seen:
        """Return what the last run used."""
        return seen_of(self._kafka.requests(has_messages=False), self._kafka.brokers)
