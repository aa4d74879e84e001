import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from atlas import clients, clusters
from atlas.adapter_process import AdapterProcess
from atlas.clients import Client, StartCommand
from atlas.experiment import Experiment, Result
from atlas.lane import Lane, seen_request
from atlas.situation import Advance, Expectation, NthRequest, Situation, Topic
from client import clock
from mock_kafka import MockKafka, Request

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lanes() -> Iterator[dict[str, Lane]]:
    found: dict[str, Lane] = {}
    yield found
    for lane in found.values():
        lane.close()


def scripted(action: str) -> Client:
    def start() -> StartCommand:
        words = (sys.executable, "-m", "tests.atlas.scripted_adapter")
        path = os.pathsep.join((str(ROOT), *sys.path))
        return StartCommand(words, {"PYTHONPATH": path, "SCRIPTED_ACTION": action})

    return Client("scripted", "Python", start)


def situation(**fields: Any) -> Situation:
    values = {"arguments": {"records": 1}, "topics": {"orders": Topic()}, **fields}
    return Situation(
        id="BROKER-1",
        title="a situation of a test",
        area="producer",
        workload="produce",
        expect=values.pop("expect", Expectation()),
        **values,
    )


def run(
    action: str,
    lanes: dict[str, Lane],
    monkeypatch: pytest.MonkeyPatch,
    given: Situation | None = None,
    limit_s: float = 10.0,
) -> Result:
    monkeypatch.setitem(clients.CLIENTS, "scripted", scripted(action))
    lane = lanes.setdefault(action, Lane("scripted"))
    return lane.run(Experiment("scripted", given or situation(), limit_s=limit_s))


Lanes = dict[str, Lane]
Patch = pytest.MonkeyPatch


def test_what_a_client_reports_is_judged_by_the_log(lanes: Lanes, monkeypatch: Patch) -> None:
    """The scripted adapter reports a success and has sent nothing."""
    result = run("deliver", lanes, monkeypatch)
    assert (result.data, result.manners.reported) == ("lost_silently", "success")
    assert (result.manners.usable, result.manners.closed) == (True, "cleanly")
    assert result.client_version == "1.0"
    names = [command.name for command in result.observation.commands]
    assert names == ["producer", "send", "flush", "send", "flush", "close"]


def test_the_log_of_an_experiment_has_what_the_library_prints(
    lanes: Lanes, monkeypatch: Patch
) -> None:
    run("deliver", lanes, monkeypatch)
    assert run("deliver", lanes, monkeypatch).log == "printed by a library\n"


def test_errors_of_records_and_of_calls_are_reported(lanes: Lanes, monkeypatch: Patch) -> None:
    seen = run("refuse", lanes, monkeypatch).manners
    assert (seen.reported, seen.error) == ("fatal", "TooBad")
    seen = run("raise", lanes, monkeypatch).manners
    assert (seen.reported, seen.error) == ("unknown", "ValueError")


def test_a_report_of_an_earlier_experiment_is_dropped(lanes: Lanes, monkeypatch: Patch) -> None:
    numbers = []
    for _ in range(2):
        deliveries = run("late", lanes, monkeypatch).observation.deliveries
        numbers.append([(one.send, one.error) for one in deliveries])
    # The client reports an error of its first record as well, after the success.
    assert numbers == [[(2, None), (2, "TooLate"), (4, None)]] * 2


def test_a_connection_that_stays_open_is_left(lanes: Lanes, monkeypatch: Patch) -> None:
    assert run("stay", lanes, monkeypatch).manners.closed == "connection left"


def test_an_adapter_that_ends_has_crashed_and_the_next_experiment_gets_another(
    lanes: Lanes, monkeypatch: Patch
) -> None:
    for _ in range(2):
        result = run("crash", lanes, monkeypatch)
        assert (result.cell, result.manners.reported) == ("crashed", "nothing")


@pytest.mark.slow
def test_an_adapter_that_does_not_answer_is_killed(lanes: Lanes, monkeypatch: Patch) -> None:
    result = run("hang", lanes, monkeypatch, limit_s=0.5)
    [_, sending] = result.observation.commands
    assert (sending.name, sending.outcome) == ("send", "unanswered")
    assert (result.manners.reported, result.manners.closed) == ("nothing", "not closed")
    assert result.duration_ms < 5_000


def test_a_call_that_the_library_does_not_end_is_unanswered(
    lanes: Lanes, monkeypatch: Patch
) -> None:
    result = run("unanswered", lanes, monkeypatch)
    outcomes = [command.outcome for command in result.observation.commands]
    assert outcomes == ["done", "done", "unanswered", "done", "unanswered", "done"]
    assert result.manners.reported == "nothing"


def test_a_command_without_a_method_is_unsupported(lanes: Lanes, monkeypatch: Patch) -> None:
    given = situation(arguments={"call": "list_topics"})
    given = Situation(
        **{**{n: getattr(given, n) for n in given.__struct_fields__}, "workload": "admin"}
    )
    result = run("deliver", lanes, monkeypatch, given)
    assert (result.cell, result.reasons) == ("unsupported", ("it has no admin",))


def test_a_client_without_tokens_is_not_asked(lanes: Lanes, monkeypatch: Patch) -> None:
    result = run("deliver", lanes, monkeypatch, situation(arguments={"token_auth": True}))
    assert (result.cell, result.reasons) == ("unsupported", ("it has no setting token_auth",))
    assert result.observation.requests == ()


def test_a_rule_that_fires_on_nothing_did_not_happen(lanes: Lanes, monkeypatch: Patch) -> None:
    given = situation(faults=({"api": "Produce", "error": "UNKNOWN_SERVER_ERROR"},))
    result = run("deliver", lanes, monkeypatch, given)
    assert result.cell == "unsupported"
    assert result.reasons[0].startswith("it did not happen")


def test_the_clock_waits_for_its_request(lanes: Lanes, monkeypatch: Patch) -> None:
    """The rule that counts is none of the situation."""
    moves = (Advance(after=NthRequest(api="Produce", count=1), s=3600),)
    given = situation(advance_s=moves)
    assert run("deliver", lanes, monkeypatch, given).cell == "as_expected"


def test_times_of_requests_are_since_the_beginning() -> None:
    request = Request(
        number=5,
        received_ms=10_250,
        broker=1,
        client_host="127.0.0.1",
        outcome="responded",
        api="Produce",
        version=9,
        duration_us=1_500,
        errors=("NONE", "NOT_LEADER_OR_FOLLOWER"),
        request_bytes=80,
    )
    seen = seen_request(request, 10_000, "main")
    assert (seen.at_ms, seen.latency_ms) == (250, 1.5)
    assert seen.errors == ("NOT_LEADER_OR_FOLLOWER",)


def test_a_process_that_warms_up_has_run_the_workload_before(
    lanes: Lanes, monkeypatch: Patch
) -> None:
    names: list[str] = []
    write = AdapterProcess.write

    def keep(adapter: AdapterProcess, command: Mapping[str, Any]) -> None:
        names.append(command["command"])
        write(adapter, command)

    monkeypatch.setattr(AdapterProcess, "write", keep)
    lane = lanes.setdefault("warm", Lane(scripted("deliver")._replace(warms_up=True)))
    counts = []
    for _ in range(2):
        names.clear()
        result = lane.run(Experiment("scripted", situation(), limit_s=10.0))
        assert [command.name for command in result.observation.commands].count("producer") == 1
        counts.append(names.count("producer"))
    assert counts == [2, 1]


def test_a_cluster_that_needs_long_to_be_healthy_takes_no_time_of_the_client(
    lanes: Lanes, monkeypatch: Patch
) -> None:
    late_ms = [0]
    now_ms = clock.now_ms
    monkeypatch.setattr(clock, "now_ms", lambda: now_ms() + late_ms[0])

    def heal_slowly(cluster: MockKafka) -> None:
        clusters.heal(cluster)
        late_ms[0] += 60_000

    monkeypatch.setattr("atlas.lane.heal", heal_slowly)
    assert run("deliver", lanes, monkeypatch).manners.usable is True
