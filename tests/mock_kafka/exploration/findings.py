"""A finding for tests of what is written about it."""

from mock_kafka.exploration.outcome import Evidence, Outcome
from mock_kafka.exploration.search import Finding, Repeats

RULE = {"api": "Produce", "times": 1, "drop": "before_response"}
DRAWN = [{"api": "Fetch", "times": 2, "delay_ms": 7}, {**RULE, "skip": 3}]


def finding() -> Finding:
    evidence = Evidence(b"two records\n", [{"number": 1, "api": "Produce"}], b"pcap")
    return Finding(
        rules=[RULE],
        drawn=DRAWN,
        seed=12,
        run=3,
        outcome=Outcome(frozenset({"exit status 1"}), "exit status 1", {}, evidence),
        drawn_repeats=Repeats(5, 4, ("2 Fetch of a, then 3",)),
        repeats=Repeats(5, 5, ()),
        shrink_runs=9,
    )
