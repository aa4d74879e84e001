"""The scenario `delivery-timeout` with all clients, and its pictures."""

import re
from pathlib import Path

import pytest

from mock_kafka import cli
from scenarios.delivery_timeout.client_adapters import SUBJECTS
from scenarios.delivery_timeout.phases import PHASES


def test_every_client_is_measured_in_every_phase(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["scenario", "delivery-timeout", "--out", str(tmp_path)]) == 0
    table = capsys.readouterr().out
    lines = table.splitlines()
    for phase in PHASES:
        for subject in SUBJECTS:
            row = re.compile(rf"{re.escape(phase.name)} +{re.escape(subject.name)}  ")
            [line] = [line for line in lines if row.match(line)]
            reason = subject.why_missing()
            assert reason is None or reason in line
            if subject.name.startswith("Java") and reason is None:
                # An attempt that fails after the deadline ends the send with its own error.
                last = {"cut": "NetworkException: ", "backoff": "NotEnoughReplicasException: "}
                assert "TimeoutException: " in line or last.get(phase.name, "?") in line
    assert "not installed" not in table
    assert "our producer kept its promise in every phase" in table
    assert len(list(tmp_path.glob("*.svg"))) == len(PHASES)
