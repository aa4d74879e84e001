"""A search says in one line where the limit is and why."""

import json

from loadgen.limit_search.bisection import Bracket
from loadgen.limit_search.dimensions import DIMENSIONS
from loadgen.limit_search.probes import Search
from tests.loadgen.limit_search.searches import late_probe, probe, search


def test_a_probe_has_the_figures_of_its_worst_tenant() -> None:
    found = probe(3, 210, 70.0)
    assert (found.outcome, found.reasons) == ("broke", ["tenant a: p99 70 ms, over 50 ms"])
    assert (found.p50_ms, found.p99_ms, found.responses_per_s) == (1, 70, 90)
    assert (found.errors_percent, found.throttled_percent) == (3, 5)


def test_the_conclusion_names_the_limit_and_what_broke() -> None:
    assert search().conclusion == (
        "<plan>: rate: limit 200 events/s; it breaks at 210 events/s:"
        " tenant a: p99 70 ms, over 50 ms"
    )


def test_the_conclusion_names_an_end_of_the_range() -> None:
    highest = search(Bracket(400, None), probe(1, 400))
    assert highest.conclusion == "<plan>: rate: no limit up to 400 events/s"
    lowest = search(Bracket(None, 4), probe(1, 4, 90.0))
    assert "it breaks at 4 events/s already, the lowest value" in lowest.conclusion


def test_a_late_generator_is_not_called_a_limit_of_the_target() -> None:
    late = search(Bracket(100, 200, is_target=False), probe(1, 100), late_probe(2, 200))
    assert "limit unknown, at least 100 events/s; the load generator is late" in late.conclusion
    assert late.as_dict()["is_limit_of_target"] is False


def test_the_rows_are_json() -> None:
    found = json.loads(json.dumps(search().as_dict()))
    assert (found["vary"], found["unit"], found["held"]) == ("rate", "events/s", 200)
    assert found["objectives"] == ["p99=50ms", "throttled=10%"]
    assert [row["value"] for row in found["probes"]] == [100, 200, 210, 400]
    assert found["is_complete"]
    unfinished = Search("p", DIMENSIONS["rate"], [], [probe(1, 100)], None)
    assert not unfinished.as_dict()["is_complete"]
    assert "ended before a limit was found" in unfinished.conclusion
