"""`mock-kafka load find` finds a planted limit, in one session, and ends with a status for CI."""

import argparse
import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.canned_responses import PRODUCE_VERSION, TOPIC, Canned
from client.resources import Address
from loadgen import find, load_run
from loadgen.ctrl_c import CtrlC
from loadgen.limit_search.bisection import Bracket
from loadgen.plan.plan import Plan
from loadgen.plan.run_spec import STOPPED_BY_USER, PreparedTarget, Topology
from loadgen.plan.yaml_reader import PlanError
from loadgen.storage import Storage
from mock_kafka import MockKafka
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.produce import PartitionResult, TopicResult, encode_response
from tests.loadgen.limit_search.summaries_of_probes import FAILED, LATE, summary_of

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def plan_file(tmp_path: Path) -> str:
    path = tmp_path / "plan.yaml"
    path.write_text(
        "duration_s: 60\nread_back: false\nlateness_p99_ms: 5000\n"
        f"topics: [{{name: {TOPIC}, partitions: 4}}]\n"
        f"tenants: [{{name: a, behaviour: steady, topic: {TOPIC}, clients: 8, rate: 100,"
        " arrival: constant}]\n"
    )
    return str(path)


def own_broker(brokers: int, config: dict[str, str], _has_admin_port: bool, /) -> MockKafka:
    return MockKafka(brokers, config)


PRESSED_AT = 1234.0
"""The rate of a fake run during whose summary Ctrl-C is pressed."""


class FakeRuns:
    """Instead of runs: summaries by the rate of the plan."""

    def __init__(self, summary: Callable[[float], dict[str, Any]]) -> None:
        self.summary = summary
        self.plans: list[Plan] = []

    def run_plan(
        self, plan: Plan, options: argparse.Namespace, *others: object
    ) -> tuple[dict[str, Any], Storage]:
        self.plans.append(plan)
        ctrl_c = others[-1]
        assert isinstance(ctrl_c, CtrlC)
        rate = plan.tenants[0].rate
        assert isinstance(rate, float)
        ctrl_c.was_pressed = rate == PRESSED_AT
        return self.summary(rate), Storage(options.out)


def run(
    monkeypatch: pytest.MonkeyPatch,
    summary: Callable[[float], dict[str, Any]],
    *arguments: str,
) -> tuple[int, list[Plan]]:
    fake = FakeRuns(summary)
    monkeypatch.setattr(find, "run_plan", fake.run_plan)
    return find.main([*arguments, "--vary", "rate"], own_broker), fake.plans


def latency_with_limit(limit: float) -> Callable[[float], dict[str, Any]]:
    return lambda rate: summary_of(5.0 if rate <= limit else 5000.0)


def test_the_limit_is_found_and_written(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    plan_file: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    status, plans = run(monkeypatch, latency_with_limit(730), plan_file, "--out", str(out))
    assert status == 0
    found = json.loads((out / "find.json").read_text())
    assert found["held"] <= 730 < found["broke"] <= found["held"] * 1.05
    assert found["is_complete"]
    assert "<svg " in (out / "find.html").read_text()
    printed = capsys.readouterr()
    assert "limit 7" in printed.out
    assert len(printed.err.splitlines()) == len(plans) == len(found["probes"])
    assert {plan.duration_s for plan in plans} == {5}
    # A value that breaks is tried again, with another seed.
    seeds = [plan.seed for plan in plans if plan.tenants[0].rate == found["broke"]]
    assert seeds == [1, 2]


@pytest.mark.parametrize(
    ("summary", "arguments", "expected"),
    [
        (latency_with_limit(730), ("--at-least", "650"), 0),
        (latency_with_limit(730), ("--at-least", "800"), 1),
        (latency_with_limit(0), (), 1),
        (latency_with_limit(1e9), ("--max", "300"), 0),
        (lambda rate: summary_of(verdicts=[LATE] if rate > 500 else []), (), 3),
        (lambda rate: summary_of(verdicts=[LATE] if rate > 500 else []), ("--at-least", "400"), 0),
        (lambda rate: summary_of(9e9, verdicts=[FAILED] * (rate > 500)), ("--promises-only",), 0),
        (lambda _: summary_of(9e9), (), 1),
    ],
)
def test_the_exit_status_is_for_ci(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    plan_file: str,
    summary: Callable[[float], dict[str, Any]],
    arguments: tuple[str, ...],
    expected: int,
) -> None:
    out = ("--out", str(tmp_path / "out"), "--tries", "1")
    assert run(monkeypatch, summary, plan_file, *out, *arguments)[0] == expected


def test_an_outlier_that_breaks_once_does_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plan_file: str
) -> None:
    outliers = iter([5000.0])
    status, plans = run(
        monkeypatch,
        lambda _: summary_of(next(outliers, 5.0)),
        *(plan_file, "--out", str(tmp_path / "out"), "--max", "100"),
    )
    assert status == 0
    assert [plan.seed for plan in plans] == [1, 2]


def test_ctrl_c_ends_the_search_and_keeps_the_probes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plan_file: str
) -> None:
    def summary(rate: float) -> dict[str, Any]:
        return summary_of(abort_reasons=[STOPPED_BY_USER] if rate > 200 else [])

    assert run(monkeypatch, summary, plan_file, "--out", str(tmp_path / "out"))[0] == 130
    found = json.loads((tmp_path / "out" / "find.json").read_text())
    assert [probe["value"] for probe in found["probes"]] == [100, 200]
    assert not found["is_complete"]
    assert "ended before a limit was found" in (tmp_path / "out" / "find.html").read_text()


def test_ctrl_c_during_a_summary_ends_the_search_after_that_probe(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    plan_file: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("--out", str(tmp_path / "out"), "--max", str(PRESSED_AT))
    assert run(monkeypatch, lambda _: summary_of(), plan_file, *arguments)[0] == 130
    found = json.loads((tmp_path / "out" / "find.json").read_text())
    assert [probe["value"] for probe in found["probes"]][-1] == PRESSED_AT
    assert not found["is_complete"]
    assert capsys.readouterr().err.endswith("stopped by the user\n")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--min", "500", "--max", "400"), "--vary rate: no value from 500 to 400 events/s"),
        (("--objective", "b:p99=1ms"), "--objective b:p99=1ms: the tenants of plan are a"),
        (("--tenant", "b"), "--tenant b: the tenants of plan are a"),
    ],
)
def test_what_does_not_fit_the_plan_is_one_line(
    tmp_path: Path, plan_file: str, arguments: tuple[str, ...], expected: str
) -> None:
    with pytest.raises(PlanError, match=expected):
        find.main([plan_file, "--vary", "rate", "--out", str(tmp_path), *arguments], own_broker)


@pytest.mark.parametrize(
    "arguments", [("--objective", "p98=1ms"), ("--tries", "0"), ("--precision", "-1")]
)
def test_wrong_options_are_usage_errors(
    tmp_path: Path, plan_file: str, arguments: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit):
        find.main([plan_file, "--vary", "rate", "--out", str(tmp_path), *arguments], own_broker)


def test_a_bracket_without_the_target_is_invalid() -> None:
    assert find.exit_status(Bracket(10, 20, is_target=False), None) == 3
    assert find.exit_status(Bracket(10, 20), 10) == 0


LIMIT = 400
CONFIG = {
    "controller.quota.window.num": 11.0,
    "controller.quota.window.size.seconds": 1.0,
    "producer.id.quota.window.size.seconds": 3600.0,
}


class SlowCanned(Canned):
    """Canned responses that all connections together get at the rate of `LIMIT` per second."""

    free_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._real = transport
        super().connection_made(self)  # type: ignore[arg-type]

    def write(self, data: bytes) -> None:
        """Send each response when it is its turn."""
        loop, limited, start = asyncio.get_running_loop(), type(self), 0
        while start < len(data):
            end = start + 4 + int.from_bytes(data[start : start + 4])
            limited.free_s = max(loop.time(), limited.free_s) + 1 / LIMIT
            response = data[start:end]
            loop.call_at(limited.free_s, self._real.write, response)  # type: ignore[attr-defined]
            start = end


class FailingCanned(Canned):
    """Canned responses, with an error from the `LIMIT`th batch of a run on, however slow it is."""

    open_connections = 0
    stored = 0
    _good = Canned._responses[ApiKey.PRODUCE]
    _bad = b"\0" + bytes(
        encode_response(
            PRODUCE_VERSION,
            [TopicResult(TOPIC, None, [PartitionResult(0, ErrorCode.INVALID_RECORD, -1)])],
        )
    )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        counts = type(self)
        if not counts.open_connections:
            counts.stored = 0
        counts.open_connections += 1
        self._real = transport
        super().connection_made(self)  # type: ignore[arg-type]

    def connection_lost(self, error: Exception | None) -> None:
        type(self).open_connections -= 1

    def write(self, data: bytes) -> None:
        """Replace the responses over the limit; both have the same size."""
        counts, start = type(self), 0
        while start < len(data):
            end = start + 4 + int.from_bytes(data[start : start + 4])
            if data[start + 8 : end] == self._good:
                counts.stored += 1
                if counts.stored > LIMIT:
                    data = data[: start + 8] + self._bad + data[end:]
            start = end
        self._real.write(data)  # type: ignore[attr-defined]


@contextmanager
def serving(protocol: type[asyncio.Protocol]) -> Iterator[Address]:
    """Serve in a thread."""
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(protocol, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield Address(*server.sockets[0].getsockname())
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def limit_of(
    protocol: type[asyncio.Protocol],
    spark: "SparkSession",
    plan_file: str,
    out: Path,
    *arguments: str,
) -> dict[str, Any]:
    """Return what `find` has found of canned responses."""
    with serving(protocol) as address, pytest.MonkeyPatch.context() as patch:
        target = PreparedTarget(Topology({1: address}, 1, {TOPIC: [1] * 4}), CONFIG)
        patch.setattr(load_run, "prepare", lambda *_arguments, **_options: target)
        patch.setattr(find, "_session_of", lambda *_: lambda: nullcontext(spark))
        servers = f"{address.host}:{address.port}"
        fixed = [plan_file, "--vary", "rate", "--bootstrap-server", servers, "--out", str(out)]
        status = find.main([*fixed, *arguments], own_broker)
    found: dict[str, Any] = json.loads((out / "find.json").read_text())
    assert status == 0, found["conclusion"]
    assert all((Path(probe["folder"]) / "report.html").exists() for probe in found["probes"])
    return found


@pytest.mark.long
def test_a_limit_that_is_planted_in_canned_responses_is_found_within_10_percent(
    spark: "SparkSession", tmp_path: Path, plan_file: str
) -> None:
    values = ("--min", "330", "--max", "440", "--precision", "16", "--tries", "1")
    arguments = ("--objective", "errors=0%", "--duration", "1", *values)
    found = limit_of(FailingCanned, spark, plan_file, tmp_path, *arguments)
    assert LIMIT * 0.9 <= found["held"] <= LIMIT < found["broke"] <= LIMIT * 1.1


@pytest.mark.long
def test_a_rate_above_that_of_the_canned_responses_breaks_a_latency_objective(
    spark: "SparkSession", tmp_path: Path, plan_file: str
) -> None:
    # With a rate that is 7 % too high the last tenth of 5 s is later than 300 ms.
    values = ("--min", "340", "--max", "450", "--precision", "16", "--tries", "2")
    arguments = ("--objective", "p90=300ms", "--duration", "5", *values)
    found = limit_of(SlowCanned, spark, plan_file, tmp_path, *arguments)
    assert LIMIT * 0.9 <= found["held"] <= LIMIT * 1.1 < found["broke"]
    assert all("p90" in probe["reasons"][0] for probe in found["probes"] if probe["reasons"])
