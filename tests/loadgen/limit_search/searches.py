"""Make a search whose probes are known."""

from loadgen.limit_search.bisection import Bracket
from loadgen.limit_search.dimensions import DIMENSIONS
from loadgen.limit_search.objectives import Objective
from loadgen.limit_search.probes import Probe, Search, probe_of
from tests.loadgen.limit_search.summaries_of_probes import LATE, summary_of

OBJECTIVES = [Objective("p99", 50.0), Objective("throttled", 10.0)]


def probe(number: int, value: float, p99_ms: float = 3.0) -> Probe:
    """Return a probe that breaks above 50 ms."""
    return probe_of(number, value, f"<out>/{number:02}", summary_of(p99_ms), OBJECTIVES)


def late_probe(number: int, value: float) -> Probe:
    """Return a probe whose load generator was late."""
    return probe_of(number, value, "out", summary_of(verdicts=[LATE]), OBJECTIVES)


def search(bracket: Bracket | None = None, *probes: Probe) -> Search:
    """Return a search of a rate; by default with the limit 200 events/s."""
    found = probes or (probe(1, 100), probe(2, 200), probe(3, 210, 70.0), probe(4, 400, 900.0))
    bracket = bracket if probes else bracket or Bracket(200, 210)
    return Search("<plan>", DIMENSIONS["rate"], OBJECTIVES, found, bracket)
