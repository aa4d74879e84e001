"""`mock-kafka explore` runs commands, writes findings and replays them."""

import json
import sys
from pathlib import Path

import pytest

from mock_kafka import cli

pytestmark = pytest.mark.slow

SERVICE = """
import os, sys
from kafka import KafkaAdminClient, KafkaProducer
from mock_kafka.control import Control

servers = os.environ["MOCK_KAFKA_BOOTSTRAP_SERVERS"]
print("seed", os.environ["MOCK_KAFKA_SEED"])
producer = KafkaProducer(
    bootstrap_servers=servers, enable_idempotence=sys.argv[1] == "1",
    retry_backoff_ms=10, reconnect_backoff_ms=10,
)
for _ in range(3):
    producer.send("orders", b"1").get(timeout=30)
producer.close(timeout=1)
control = Control(os.environ["MOCK_KAFKA_ADMIN_URL"])
[partition] = control.ask("GET", "/v1/topics/orders")["partitions"]
control.close()
assert partition["log_end_offset"] == 3, partition
"""


@pytest.fixture
def command(tmp_path: Path) -> str:
    (tmp_path / "service.py").write_text(SERVICE)
    return f"{sys.executable} {tmp_path / 'service.py'}"


def explore(*arguments: str) -> int:
    return cli.main(["explore", *arguments])


def test_a_finding_is_written_and_replayed(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    options = ("--runs", "40", "--repeats", "2", "--profile", "producer", "--out", str(out))
    assert explore("--command", f"{command} 0", *options) == 1
    printed = capsys.readouterr()
    assert "profiles: producer; seeds from 0" in printed.out
    assert "1 finding; " in printed.out
    assert "shrink 1, 0 rules: passed" in printed.err
    (folder,) = out.iterdir()
    (rule,) = json.loads((folder / "faults.json").read_bytes())
    assert rule["api"] == "Produce"
    assert b"AssertionError" in (folder / "output.txt").read_bytes()
    assert explore("--replay", str(folder), "--repeats", "2") == 1
    assert "failed 2 of 2" in capsys.readouterr().out
    healthy = ("--command", f"{command} 1", "--repeats", "1")
    assert explore("--replay", str(folder), *healthy) == 0
    assert "failed 0 of 1" in capsys.readouterr().out


def test_without_a_finding_the_status_is_0(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explore("--command", f"{command} 1", "--runs", "2", "-o", "num.partitions=1") == 0
    assert "2 schedules, 0 failed, 0 findings; " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "reason"),
    [("echo no; exit 3", "exit status 3\nno"), ("sleep 30", "no end in 0.5 s")],
)
def test_a_command_that_fails_without_faults_is_not_explored(
    line: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explore("--command", line, "--timeout", "0.5", "--brokers", "1") == 2
    assert f"without faults the command fails: {reason}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "--command or --replay is missing"),
        (["--command", "true", "-o", "a"], "-o a: must be KEY=VALUE"),
        (["--command", "true", "--profile", "x"], "invalid choice"),
    ],
)
def test_wrong_options_are_refused(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        explore(*arguments)
    assert reason in capsys.readouterr().err


def test_a_folder_that_is_missing_and_a_wrong_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explore("--replay", str(tmp_path)) == 2
    assert "faults.json" in capsys.readouterr().err
    assert explore("--command", "true", "-o", "num.partitionz=1") == 2
    assert "num.partitionz" in capsys.readouterr().err
