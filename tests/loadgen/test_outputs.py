"""The outputs of a run, and its exit status."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from loadgen.analysis.checks import THIS_RUN
from loadgen.analysis.latencies import Latencies
from loadgen.analysis.measures import PUBLISH, Measured, Times
from loadgen.analysis.summary import Summarised
from loadgen.analysis.tables import TABLES
from loadgen.outputs import exit_status, print_outputs, write_outputs
from loadgen.plan.run_spec import PreparedTarget, Topology
from loadgen.run_record import RunRecord
from loadgen.storage import Storage
from tests.loadgen.summaries import CONFIG, PLAN, summary_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("failed", "is_complete", "status"),
    [
        ([], True, 0),
        ([], False, 1),
        (["tenant a", THIS_RUN], True, 1),
        ([THIS_RUN], True, 3),
        ([THIS_RUN], False, 1),
    ],
)
def test_a_late_load_generator_has_its_own_exit_status(
    failed: list[str], is_complete: bool, status: int
) -> None:
    verdicts = [{"scope": scope, "verdict": "failed"} for scope in failed]
    verdicts.append({"scope": THIS_RUN, "verdict": "not checked"})
    assert exit_status({"verdicts": verdicts, "is_complete": is_complete}) == status


def test_the_outputs_replace_those_of_an_earlier_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = Storage(str(tmp_path))
    storage.write(b"", "charts", "stale.png")
    storage.write(b"", "tables", "stale.csv")
    storage.write(b"", "histograms", "stale.hlog")
    target = PreparedTarget(Topology({}, -1, {}), CONFIG)
    summary = summary_of()
    record = RunRecord("small-1", PLAN, target, "a:1", "local[2]", summary["started"], 2)
    measured = Measured("writer", PUBLISH, "", {0: Times(Latencies([(500, 9)]), 150, 1_300)})
    write_outputs(Summarised(summary, [measured], {}), record, storage)
    print_outputs(summary, storage)
    assert json.loads((tmp_path / "summary.json").read_text())["run_id"] == "small-1"
    assert "<html" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "plan.yaml").read_text() == PLAN.text
    tables = {path.name for path in (tmp_path / "tables").iterdir()}
    assert tables == {f"{name}.csv" for name in TABLES}
    histograms = {path.name for path in (tmp_path / "histograms").iterdir()}
    assert histograms == {"publish.hlog", "writer.publish.hgrm", "openmessaging.json"}
    [start] = re.findall(r"StartTime: (\S+)", (tmp_path / "histograms/publish.hlog").read_text())
    assert datetime.fromtimestamp(float(start), UTC).isoformat() == "2026-01-02T03:04:05+00:00"
    charts = {path.name for path in (tmp_path / "charts").iterdir()}
    assert "rates.svg" in charts
    assert "stale.png" not in charts
    assert f"report: {tmp_path}/report.html" in capsys.readouterr().out
