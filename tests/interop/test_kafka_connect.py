"""Kafka Connect: a worker finds connectors, states and offsets in topics that were compacted."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from mock_kafka import MockKafka
from scenarios.maven import CannotRunError
from tests.free_ports import free_port_run
from tests.interop.kafka_connect import STORAGE_TOPICS, ConnectWorker, fetch_connect_jars

TIMEOUT_S = 120
CHUNKS, CHUNK = 3, 5
COUNT = CHUNKS * CHUNK


@pytest.fixture(scope="module")
def jars() -> Path:
    """Return the jars of a worker; skip without java, mvn or Maven Central."""
    try:
        return fetch_connect_jars()
    except CannotRunError as error:
        pytest.skip(str(error))


def lines(first: int, count: int) -> list[str]:
    return [f"line {number}" for number in range(first, first + count)]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.2)


def test_a_worker_goes_on_where_its_compacted_topics_say(jars: Path, tmp_path: Path) -> None:
    source = tmp_path / "lines.txt"
    config = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "file": str(source),
        "topic": "lines",
    }
    with MockKafka() as kafka:
        worker = ConnectWorker(jars, tmp_path, kafka.bootstrap_servers, free_port_run(1))

        def copied() -> list[str]:
            if "lines" not in {topic.name for topic in kafka.topics()}:
                return []
            return [(record.value or b"").decode() for record in kafka.records("lines")]

        def has_copied(count: int) -> bool:
            return len(copied()) >= count

        with worker:
            for first in range(0, COUNT, CHUNK):
                with source.open("a") as file:
                    file.write("".join(f"{line}\n" for line in lines(first, CHUNK)))
                settings = config | {"errors.retry.timeout": str(first)}
                worker.ask("PUT", "/connectors/copy/config", settings)
                wait_until(partial(has_copied, first + CHUNK))
            size_bytes = len(source.read_bytes())
            wait_until(
                lambda: any(
                    record.value == b'{"position":%d}' % size_bytes
                    for record in kafka.records("connect-offsets")
                )
            )
            known = worker.ask("GET", "/connectors/copy/config")
        removed = {
            topic: sum(part.removed_records for part in kafka.compact(topic))
            for topic in STORAGE_TOPICS
        }
        assert all(removed.values()), removed
        with source.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines(COUNT, CHUNK)))
        with worker:
            wait_until(partial(has_copied, COUNT + CHUNK))
            assert worker.ask("GET", "/connectors/copy/config") == known
            status = worker.ask("GET", "/connectors/copy/status")
        assert status["connector"]["state"] == "RUNNING"
        assert copied() == lines(0, COUNT + CHUNK)
