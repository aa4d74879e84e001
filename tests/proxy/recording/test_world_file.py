"""`mock-kafka proxy --record`: what clients do through a proxy is in the file."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from mock_kafka import MockKafka
from proxy import cli
from scenarios.clients.deadline import Deadline


@contextmanager
def proxy(kafka: MockKafka, path: Path, *options: str) -> Iterator[tuple[str, Any]]:
    """Start a proxy that records; yield its address and its process."""
    command = [sys.executable, "-m", "mock_kafka", "proxy", "--to", kafka.bootstrap_servers]
    command += ["--port", "0", "--record", str(path), *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip().partition("=")[2], process
        finally:
            process.terminate()
            process.communicate(timeout=60)


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def values(path: Path) -> list[str]:
    (topic,) = document(path)["topics"]
    return [record["value"] for record in topic["partitions"][0]["records"]]


@pytest.mark.slow
def test_records_and_requests_that_pass_are_written(tmp_path: Path) -> None:
    path = tmp_path / "world.mk"
    with MockKafka() as kafka:
        kafka.create_topic("orders")
        kafka.produce("orders", b"before")
        with proxy(kafka, path, "--unscrubbed") as (servers, process):
            producer = Producer({"bootstrap.servers": servers})
            producer.produce("orders", b"produced")
            producer.flush()
            process.send_signal(signal.SIGUSR1)
            deadline = Deadline(60)
            while deadline.holds("the file is written") and not path.exists():
                process.poll()
            assert values(path) == ["produced"]
            settings = {"group.id": "billing", "auto.offset.reset": "earliest"}
            consumer = Consumer({"bootstrap.servers": servers, **settings})
            consumer.subscribe(["orders"])
            assert len(consumer.consume(2, 60)) == 2
            consumer.close()
        assert values(path) == ["before", "produced"]
        world = document(path)
        assert [(offset["group"], offset["offset"]) for offset in world["offsets"]] == [
            ("billing", 2)
        ]
        requests = {request["api"]: request for request in world["requests"]}
        assert requests["Fetch"]["topics"] == requests["Produce"]["topics"] == ["orders"]
        assert requests["JoinGroup"]["groups"] == ["billing"]
        process.communicate()
    with MockKafka(snapshot=path) as kafka:
        assert kafka.committed("billing") == {("orders", 0): 2}


@pytest.mark.slow
def test_the_logs_may_be_read_at_the_end_and_a_failure_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "world.mk"
    with MockKafka() as kafka:
        kafka.create_topic("orders")
        kafka.produce("orders", b"a", b"b", b"c")
        with proxy(kafka, path, "--unscrubbed", "--records", "2"):
            pass
        assert values(path) == ["b", "c"]
        with proxy(kafka, tmp_path / "none" / "w", "--no-records") as (_, process):
            process.terminate()
            _, lines = process.communicate(timeout=60)
        assert "the recording is not written" in lines
        assert process.returncode == 0


def test_somebody_has_to_say_what_happens_to_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["--to", "127.0.0.1:1", "--record", "w"])
    assert "give --scrub FILE with rules" in capsys.readouterr().err
    rules = tmp_path / "scrub.yaml"
    rules.write_text("topics: 1")
    assert cli.main(["--to", "127.0.0.1:1", "--record", "w", "--scrub", str(rules)]) == 1
    assert capsys.readouterr().err == (
        f"mock-kafka proxy: {rules}:1: topics: expected array, not 1\n"
    )
