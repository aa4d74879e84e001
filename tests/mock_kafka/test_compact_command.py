"""`mock-kafka topics --compact` says what it removed."""

import pytest

from mock_kafka import MockKafka, cli


def test_a_topic_is_compacted_from_a_shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with MockKafka() as kafka:
        monkeypatch.setenv("MOCK_KAFKA_ADMIN_URL", kafka.admin_url)
        kafka.create_topic("table", 2, config={"cleanup.policy": "compact"})
        kafka.produce("table", b"1", b"2", b"3", key=b"k", partition=1)
        assert cli.main(["topics", "--compact", "--topic", "table"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split("\t")[:2] == ["Partition: 0", "RemovedRecords: 0"]
        assert lines[1].split("\t")[:2] == ["Partition: 1", "RemovedRecords: 2"]
        assert cli.main(["topics", "--compact", "--topic", "table", "--partition", "0"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 1
        kafka.create_topic("stream")
        assert cli.main(["topics", "--compact", "--topic", "stream"]) == 1
        assert "cleanup.policy=delete" in capsys.readouterr().err
        monkeypatch.setenv("MOCK_KAFKA_ADMIN_URL", "http://127.0.0.1:1")
    assert cli.main(["topics", "--compact", "--topic", "table"]) == 1
    assert "mock-kafka topics: " in capsys.readouterr().err
