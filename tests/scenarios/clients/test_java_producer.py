"""Skipped, with the reason, without a JDK or Maven Central."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mock_kafka import MockKafka
from scenarios.clients import java, java_producer
from scenarios.clients.interface import Delivery
from scenarios.clients.java_producer import JavaClient
from scenarios.maven import CannotRunError

DEFAULTS: dict[str, object] = {"batch.size": 0, "linger.ms": 0}


@pytest.fixture(scope="module")
def lab() -> Iterator[MockKafka]:
    with MockKafka(config={"num.partitions": 1}) as cluster:
        yield cluster


@pytest.fixture
def client() -> JavaClient:
    version = JavaClient("4.4.0")
    reason = version.why_missing()
    if reason is not None:
        pytest.skip(reason)
    return version


@pytest.mark.interop
def test_producers_of_a_version_share_a_jvm_that_ends_with_the_last_of_them(
    client: JavaClient, lab: MockKafka
) -> None:
    lab.create_topic("shared")
    first = client.producer(lab.bootstrap_servers, {**DEFAULTS, "client.id": "first"})
    second = client.producer(lab.bootstrap_servers, {**DEFAULTS, "client.id": "second"})
    process = client._process
    assert process is not None
    deliveries: list[Delivery] = []
    first.send("shared", b"a", deliveries.append)
    first.flush()
    second.send("shared", b"b", deliveries.append, partition=0)
    second.flush()
    assert deliveries == [Delivery(0), Delivery(1)]
    assert {request.client_id for request in lab.requests(api="Produce")} == {"first", "second"}
    first.close()
    assert process._process.poll() is None
    second.close()
    assert process._process.poll() == 0


@pytest.mark.interop
def test_an_expired_record_comes_back_with_javas_error(client: JavaClient, lab: MockKafka) -> None:
    lab.create_topic("silent")
    lab.add_fault(api="Produce", topic="silent", hang="before_response")
    timeouts = {"delivery.timeout.ms": 300, "request.timeout.ms": 300}
    producer = client.producer(lab.bootstrap_servers, DEFAULTS | timeouts)
    deliveries: list[Delivery] = []
    producer.send("silent", b"a", deliveries.append)
    with pytest.raises(TimeoutError):
        producer.flush(0)
    producer.flush()
    producer.abort()
    assert [delivery.error_name for delivery in deliveries] == ["TimeoutException"]
    # Both timeouts end at the same time; the client reports the one that it notices first.
    assert re.search("Expiring|Disconnected", str(deliveries[0].error))


@pytest.mark.interop
def test_requests_in_flight_are_watched(client: JavaClient, lab: MockKafka) -> None:
    lab.create_topic("watched")
    counts: list[int] = []
    with client.producer(lab.bootstrap_servers, DEFAULTS) as producer:
        producer.watch_in_flight(counts.append)
        producer.send("watched", b"first", lambda _: None)
        producer.flush()
        lab.delay(ms=500, api="Produce", topic="watched")
        producer.send("watched", b"second", lambda _: None)
        producer.flush()
    assert max(counts) >= 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK, which is not here")
def test_a_jvm_that_does_not_start_is_an_error_with_what_it_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "Broken.java"
    broken.write_text("class Broken { nonsense }")
    monkeypatch.setattr(java_producer, "SOURCE", broken)
    monkeypatch.setattr(java, "fetch_jars", lambda *_: tmp_path)
    with pytest.raises(CannotRunError, match="nonsense"):
        JavaClient("4.4.0").producer("127.0.0.1:1", {})


def test_without_a_jdk_or_the_jars_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Path:
        raise CannotRunError("fetching kafka-clients-9.9.9 needs mvn, which is not here")

    monkeypatch.setattr(java, "fetch_jars", fail)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert JavaClient("9.9.9").why_missing() == (
        "fetching kafka-clients-9.9.9 needs mvn, which is not here"
    )
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert JavaClient("9.9.9").why_missing() == "the Java clients need a JDK: javac is not here"
