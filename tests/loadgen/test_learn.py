"""`load learn`: a plan from the journal of a real run, and errors in one line."""

import urllib.request
from pathlib import Path

import pytest

from loadgen import learn
from loadgen.plan.plan_file import load_plan
from loadgen.traces.trace_file import TraceError
from mock_kafka import MockKafka
from tests.loadgen.runs import plan_of, run


@pytest.mark.slow
def test_rates_sizes_and_churn_of_a_real_run_are_found_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = plan_of(
        "[{name: shop, behaviour: steady, topic: t, clients: 3, rate: 100, records: 2},"
        " {name: sizes, behaviour: steady, topic: t, rate: 50, record_bytes: [100, 2000]},"
        " {name: loop, behaviour: restart-loop, topic: t, clients: 2, rate: 20, batches: 2},"
        " {name: lambda, behaviour: new-producer-per-batch, topic: t, rate: 20},"
        " {name: maker, behaviour: topic-creator, rate: 10, topics_per_request: 2}]",
        2.0,
    )
    with MockKafka(admin_port=0) as kafka:
        run(known, kafka.bootstrap_servers)
        with urllib.request.urlopen(f"{kafka.admin_url}/v1/requests/export") as export:
            (tmp_path / "journal.ndjson").write_bytes(export.read())
    out = tmp_path / "again.yaml"
    assert learn.main([str(tmp_path / "journal.ndjson"), "--out", str(out)]) == 0
    plan = load_plan(str(out))
    assert plan.name == "again"
    by_name = {tenant.name: tenant for tenant in plan.tenants}
    for tenant in known.tenants:
        found = by_name[tenant.name]
        # A busy machine is late at both ends: the counts are exact, the time is not.
        assert plan.events_of(found) == pytest.approx(known.events_of(tenant), abs=1)
        assert found.rate == pytest.approx(tenant.rate, rel=0.25)
        for field in ("behaviour", "records", "batches", "topics_per_request", "partitions"):
            assert getattr(found, field) == getattr(tenant, field), (tenant.name, field)
        assert set(found.record_sizes) == set(tenant.record_sizes)
    assert by_name["shop"].clients == 3
    error = capsys.readouterr().err
    assert "not in the plan: " in error
    assert "producer ids" in error


def test_a_trace_that_teaches_nothing_is_refused_with_its_name(tmp_path: Path) -> None:
    trace = tmp_path / "t.ndjson"
    trace.write_text('{"time_us": 1, "api": "Metadata"}\n')
    with pytest.raises(TraceError, match=r"t\.ndjson: no client has sent 10 requests"):
        learn.main([str(trace), "--out", str(tmp_path / "p.yaml")])


def test_a_plan_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    trace = tmp_path / "t.ndjson"
    trace.write_text('{"time_us": 1, "api": "Produce", "topic": "t", "user": "u"}\n' * 10)
    with pytest.raises(TraceError, match=r"cannot write .*none/p\.yaml: No such file"):
        learn.main([str(trace), "--out", str(tmp_path / "none" / "p.yaml")])


def test_users_are_mentioned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "t.ndjson"
    trace.write_text('{"time_us": 1, "api": "Produce", "topic": "t", "user": "u"}\n' * 10)
    assert learn.main([str(trace), "--out", str(tmp_path / "p.yaml")]) == 0
    assert "set LOAD_PASSWORD" in capsys.readouterr().err
