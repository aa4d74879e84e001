"""The commands for a shell do what the admin port does."""

import json
from pathlib import Path

import pytest

from mock_kafka import MockKafka, cli


@pytest.fixture
def shell(kafka: MockKafka, monkeypatch: pytest.MonkeyPatch) -> MockKafka:
    monkeypatch.setenv("MOCK_KAFKA_ADMIN_URL", kafka.admin_url)
    return kafka


def test_rules_are_added_listed_and_removed(
    shell: MockKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["faults", "add", '{"api": "Fetch", "delay_ms": 5}']) == 0
    (tmp_path / "rules.json").write_text('[{"delay_ms": 1}, {"delay_ms": 2}]')
    assert cli.main(["faults", "add", str(tmp_path / "rules.json")]) == 0
    capsys.readouterr()
    assert cli.main(["faults", "list"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 3
    assert cli.main(["faults", "release", "2", "--count", "1"]) == 0
    assert cli.main(["faults", "release", "2"]) == 0
    assert [fault.is_used_up for fault in shell.faults()] == [False, True, False]
    assert cli.main(["faults", "remove", "1"]) == 0
    assert [fault.rule for fault in shell.faults()] == [{"delay_ms": 1}, {"delay_ms": 2}]
    assert cli.main(["faults", "clear"]) == 0
    assert shell.faults() == []


def test_requests_are_shown_and_saved(
    shell: MockKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.fail(api="Produce", error="NOT_ENOUGH_REPLICAS", times=1)
    assert cli.main(["requests", "list", "--api", "Produce"]) == 0
    assert capsys.readouterr().out == ""
    assert cli.main(["requests", "list", "--json"]) == 0
    capsys.readouterr()
    assert cli.main(["requests", "list", "--denied"]) == 0
    assert capsys.readouterr().out == ""
    assert cli.main(["requests", "pcap", str(tmp_path / "all.pcap")]) == 0
    assert (tmp_path / "all.pcap").stat().st_size >= 24
    assert cli.main(["requests", "clear"]) == 0
    assert cli.main(["requests", "show", "99999"]) == 1
    assert "no line 99999" in capsys.readouterr().err


def test_the_clock_and_the_brokers_are_controlled(
    shell: MockKafka, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["clock", "set", "standing"]) == 0
    before_ms = shell.now_ms()
    assert cli.main(["clock", "advance", "3600"]) == 0
    assert shell.now_ms() == before_ms + 3_600_000
    assert cli.main(["clock", "show"]) == 0
    for action in ("stop", "start", "isolate", "start", "fence", "start"):
        assert cli.main(["brokers", action, "2"]) == 0
    assert cli.main(["brokers", "advertise", "2", "proxy", "7000"]) == 0
    assert shell.control.ask("GET", "/v1/brokers")[1]["host"] == "proxy"
    host, port = shell.bootstrap_servers_list[1].split(":")
    shell.advertise(2, host, int(port))
    assert cli.main(["brokers", "add"]) == 0
    assert cli.main(["brokers", "decommission", "4"]) == 0
    capsys.readouterr()
    assert cli.main(["brokers", "list"]) == 0
    assert [broker["node_id"] for broker in json.loads(capsys.readouterr().out)] == [1, 2, 3]


def test_a_snapshot_is_saved_and_loaded(shell: MockKafka, tmp_path: Path) -> None:
    shell.produce("orders", b"1")
    path = str(tmp_path / "setup.json")
    assert cli.main(["snapshot", "save", path]) == 0
    shell.reset()
    assert cli.main(["snapshot", "load", path]) == 0
    assert [record.value for record in shell.records("orders")] == [b"1"]
    assert cli.main(["snapshot", "save", path, "--without-records"]) == 0
    assert "records" not in Path(path).read_text()


def test_the_command_names_rules_that_act_at_once_before_it_loads_them(
    shell: MockKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "setup.json"
    path.write_text('{"faults": [{"fence_broker": 2, "at_once": true}]}')
    assert cli.main(["snapshot", "load", str(path)]) == 1
    assert "rule 1: fence_broker 2" in capsys.readouterr().err
    assert shell.faults() == []
    assert cli.main(["snapshot", "load", str(path), "--at-once"]) == 0
    assert [fault.rule["fence_broker"] for fault in shell.faults()] == [2]


def test_an_error_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["clock", "--admin-url", "http://127.0.0.1:1", "show"]) == 1
    assert "no response from the cluster at http://127.0.0.1:1" in capsys.readouterr().err
    assert cli.main(["faults", "add", str(tmp_path / "none.json")]) == 1
    assert "none.json" in capsys.readouterr().err
    assert cli.main(["faults", "add", "{"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_a_missing_file_is_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "none.json")
    assert cli.main(["faults", "add", missing]) == 1
    assert capsys.readouterr().err == f"mock-kafka faults: {missing}: No such file or directory\n"


def test_the_health_is_that_of_the_admin_port(
    kafka: MockKafka, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MOCK_KAFKA_ADMIN_URL", raising=False)
    monkeypatch.setenv("MOCK_KAFKA_ADMIN_PORT", kafka.admin_url.rpartition(":")[2])
    assert cli.main(["health", "--wait", "5"]) == 0
    monkeypatch.setenv("MOCK_KAFKA_ADMIN_PORT", "1")
    assert cli.main(["health"]) == 1
    assert "no response from the cluster at http://127.0.0.1:1" in capsys.readouterr().err
