"""`mock-kafka record`: options, what it prints, and what a loaded file is like."""

import json
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from mock_kafka import MockKafka, cli
from proxy.recording import command
from proxy.recording.options import RECORDS_MAX

RULES = """
hash_key: ${env:SCRUB_KEY}
topics:
  - match: orders
    key: hash
    value: {json: {$.n: hash}, otherwise: drop}
"""


def record(kafka: MockKafka, out: Path, *options: str) -> int:
    return cli.main(["record", "--from", kafka.bootstrap_servers, "--out", str(out), *options])


def test_records_are_written_only_if_somebody_says_how(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["record", "--from", "127.0.0.1:1", "--out", str(tmp_path / "w")]
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)
    assert "give --scrub FILE with rules, --unscrubbed" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        cli.main([*arguments, "--unscrubbed", "--no-records"])
    with pytest.raises(SystemExit, match="2"):
        cli.main([*arguments, "--unscrubbed", "--records", "0"])
    assert "0: expected a number of at least 1" in capsys.readouterr().err


def test_rules_that_are_invalid_are_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "scrub.yaml"
    arguments = ["record", "--from", "127.0.0.1:1", "--out", "w", "--scrub", str(rules)]
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)
    assert f"cannot read {rules}: No such file" in capsys.readouterr().err
    rules.write_bytes(b"\xff")
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)
    rules.write_text("topics:\n- match: a\n  key: hsah")
    assert cli.main(arguments) == 1
    line = f"mock-kafka record: {rules}:3: topics[0].key: 'hsah' is unknown; did you mean hash?\n"
    assert capsys.readouterr().err.endswith(line)


def test_a_recorded_file_is_a_cluster(
    filled: MockKafka,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SCRUB_KEY", "k")
    rules, out = tmp_path / "scrub.yaml", tmp_path / "world.mk.gz"
    rules.write_text(RULES)
    assert record(filled, out, "--scrub", str(rules), "--topics", "[os]*", "--records", "all") == 0
    captured = capsys.readouterr()
    assert captured.out == f"{out}: 2 topics, 5 records, 1 committed offsets\n"
    assert captured.err == ("no rule is for these topics, so their records are left out: states\n")
    with MockKafka(in_process=True, snapshot=out) as kafka:
        settings = {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "billing",
            "auto.offset.reset": "error",
        }
        consumer = Consumer(settings)
        consumer.assign([TopicPartition("orders", 1)])  # from the committed offset on
        messages = consumer.consume(3, 30)
        consumer.close()
    assert [message.offset() for message in messages] == [4, 5, 6]
    assert len({message.key() for message in messages[:2]}) == 1
    assert isinstance(json.loads(messages[0].value() or b"")["n"], int)
    assert messages[2].value() == b""


def test_the_last_records_with_aborted_ones_are_chosen(filled: MockKafka, tmp_path: Path) -> None:
    out = tmp_path / "world.mk"
    options = ("--unscrubbed", "--topics", "payments", "--records", "4")
    offsets = []
    for level in ("read_committed", "read_uncommitted"):
        assert record(filled, out, *options, "--isolation-level", level) == 0
        (topic,) = json.loads(out.read_bytes())["topics"]
        offsets.append([found["offset"] for found in topic["partitions"][0]["records"]])
    assert offsets == [[2, 8, 9, 10], [6, 8, 9, 10]]


def test_an_error_is_one_line(
    filled: MockKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["record", "--from", "127.0.0.1:1", "--out", "w", "--no-records"]) == 1
    assert capsys.readouterr().err.startswith("mock-kafka record: cannot connect to 127.0.0.1:1")
    assert record(filled, tmp_path / "none" / "w", "--no-records") == 1
    assert "cannot write" in capsys.readouterr().err
    assert record(filled, tmp_path / "w", "--no-records", "--to-config", str(tmp_path / "c")) == 1
    assert "cannot read" in capsys.readouterr().err


def test_a_terminal_shows_the_progress(
    filled: MockKafka,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert record(filled, tmp_path / "w", "--unscrubbed", "--topics", "orders") == 0
    assert capsys.readouterr().err == (
        "read 1 of 2 partitions, 0 KiB\rread 2 of 2 partitions, 0 KiB\n"
    )


def test_a_proxy_has_the_options_with_records_that_were_seen() -> None:
    parser = command.build_parser()
    parsed = parser.parse_args(["--from", "a:1", "--out", "w", "--unscrubbed"])
    scrubbing = command.scrubbing_of_options(parsed, {})
    assert command.recording_options(parsed, scrubbing).records_max == RECORDS_MAX
    parsed.records = None
    assert not command.recording_options(parsed, scrubbing).reads_logs
    parsed.records = "all"
    options = command.recording_options(parsed, scrubbing)
    assert (options.reads_logs, options.records_max) == (True, None)
