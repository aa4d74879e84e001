"""`mock-kafka load quotas` proposes quotas for plans and traces, with a status for CI."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadgen import cli, propose_quotas
from mock_kafka import MockKafka

pytestmark = pytest.mark.slow


def run(out: Path, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    status = propose_quotas.main([*arguments, "--out", str(out / "q.html")])
    found = json.loads((out / "q.json").read_text())
    return status, {quota["key"]: quota for quota in found["quotas"]}


def write_trace(folder: Path) -> str:
    """Write an hour: shop writes steadily, loop has a new producer id every ten seconds."""
    rows = []
    for second in range(3600):
        row = {"time_us": second * 1_000_000, "api": "Produce", "request_bytes": 500}
        rows.append({**row, "user": "shop", "producer_id": 1})
        if second % 10 == 0:
            rows.append({**row, "user": "loop", "producer_id": 100 + second})
    path = folder / "trace.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_plan_gets_quotas_that_spare_the_protected_tenant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("producer-churn", "--never-throttle", "well-behaved", "--duration", "30")
    status, found = run(tmp_path, *arguments)
    assert status == 0
    assert set(found) == {"producer_byte_rate", "producer_ids_rate"}
    ids = found["producer_ids_rate"]
    assert ids["proposal"]["required"] == 12  # one for each client
    assert {one["scope"] for one in ids["trials"][0]["refused"]} == {
        "user restarting",
        "user giving-up",
        "user wasteful",
    }
    printed = capsys.readouterr().out
    assert "producer_ids_rate" in printed
    assert "the traffic is shorter than 3 windows" in printed
    assert "<svg " in (tmp_path / "q.html").read_text()


def test_a_trace_gets_quotas_and_a_candidate_decides_the_status(tmp_path: Path) -> None:
    trace = write_trace(tmp_path)
    protect = ("--never-throttle", "shop")
    status, found = run(tmp_path, trace, *protect, "--try", "producer_ids_rate=100")
    assert status == 0
    *_, trial = found["producer_ids_rate"]["trials"]
    [refused] = trial["refused"]
    # 100 ids at once and then one every 36 s last for 1,385 s at one every 10 s.
    assert refused["scope"] == "user loop"
    assert refused["first_ms"] == pytest.approx(1_380_000, abs=20_000)
    assert trial["is_safe"]
    arguments = ("--try", "producer_byte_rate=400", "--by", "user")
    assert run(tmp_path, trace, *protect, *arguments)[0] == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("none.ndjson",), "none.ndjson: there is no such file or folder"),
        (("none.yaml",), "cannot read none.yaml: No such file"),
        (("steady", "--never-throttle", "shop"), "--never-throttle shop: steady has no such"),
        (("steady", "--try", "controller_mutation_rate=1"), "steady has no request for it"),
        (("steady", "--try", "producer_byte_rate=1.5"), "cannot be a fractional value"),
        (("none.parquet", "--duration", "5"), "--duration is for plans"),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    expected: str,
) -> None:
    out = ("--out", str(tmp_path / "q.html"))
    assert cli.main(["quotas", *arguments, *out], MockKafka) == 2  # type: ignore[arg-type]
    [line] = capsys.readouterr().err.splitlines()
    assert expected in line


@pytest.mark.parametrize(
    "option", [("--try", "bytes=1"), ("--headroom", "-1"), ("--duration", "0"), ("--by", "ip")]
)
def test_wrong_options_are_usage_errors(option: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        propose_quotas.main(["steady", *option])
