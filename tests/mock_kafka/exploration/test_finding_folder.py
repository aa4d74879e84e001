"""A finding is written to a folder, and read for a replay."""

from dataclasses import replace
from pathlib import Path

import pytest

from broker.faults.rule import rules_from_json
from mock_kafka.exploration.finding_folder import FindingFolder, Setting
from mock_kafka.fault import document_of
from tests.mock_kafka.exploration.findings import DRAWN, RULE, finding

SETTING = Setting("./test.sh 1", 3, {"num.partitions": "2"}, 60.0, ["stored_twice"])


def test_what_was_written_is_read(tmp_path: Path) -> None:
    folder = FindingFolder(tmp_path / "a b")
    report = folder.write(finding(), SETTING)
    assert folder.read() == ([RULE], SETTING, 12)
    assert (folder.path / "report.txt").read_text() == report + "\n"
    assert f"replay: mock-kafka explore --replay '{folder.path}'" in report
    assert "-o num.partitions=2" in report
    assert (folder.path / "output.txt").read_bytes() == b"two records\n"
    assert (folder.path / "requests.jsonl").read_text() == '{"number": 1, "api": "Produce"}\n'
    assert (folder.path / "requests.pcap").read_bytes() == b"pcap"


def test_the_rules_are_fault_files(tmp_path: Path) -> None:
    FindingFolder(tmp_path).write(finding(), SETTING)
    for name, rules in (("faults.json", [RULE]), ("drawn.json", DRAWN)):
        document = document_of(tmp_path / name)
        assert document == rules
        assert len(rules_from_json(document)) == len(rules)
    FindingFolder(tmp_path).write(replace(finding(), rules=[]), SETTING)
    assert document_of(tmp_path / "faults.json") == []


def test_another_command_may_replay_it() -> None:
    assert SETTING.with_command("./other.sh") == replace(SETTING, command="./other.sh")


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"faults\.json"):
        FindingFolder(tmp_path).read()
    (tmp_path / "faults.json").write_text("[]")
    (tmp_path / "finding.json").write_text("{}")
    with pytest.raises(ValueError, match="no finding of mock-kafka explore"):
        FindingFolder(tmp_path).read()
