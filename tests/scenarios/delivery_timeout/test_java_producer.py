"""The Java client as a subject; skipped, with the reason, without a JDK or Maven Central."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mock_kafka import MockKafka
from scenarios.delivery_timeout import java_producer
from scenarios.delivery_timeout.java_producer import JavaVersion, settings
from scenarios.maven import CannotRunError


@pytest.fixture(scope="module")
def lab() -> Iterator[MockKafka]:
    with MockKafka(config={"num.partitions": 1}) as cluster:
        yield cluster


@pytest.fixture
def java() -> JavaVersion:
    version = JavaVersion("4.1.0")
    reason = version.why_missing()
    if reason is not None:
        pytest.skip(reason)
    return version


@pytest.mark.interop
def test_producers_of_a_version_share_a_jvm_that_ends_with_the_last_of_them(
    java: JavaVersion, lab: MockKafka
) -> None:
    lab.create_topic("shared")
    first = java.make(lab.bootstrap_servers, "first", 10_000)
    second = java.make(lab.bootstrap_servers, "second", 10_000)
    process = java._process
    assert process is not None
    outcomes: dict[str, list[str | None]] = {"first": [], "second": []}
    first.send("shared", b"a", outcomes["first"].append)
    second.send("shared", b"b", outcomes["second"].append)
    for _ in range(1_000):
        first.pass_time(0.01)
        if all(outcomes.values()):
            break
    assert outcomes == {"first": [None], "second": [None]}
    assert {each.client_id for each in lab.requests(api="Produce")} == {"first", "second"}
    first.close()
    assert process._process.poll() is None
    second.close()
    assert process._process.poll() == 0


@pytest.mark.interop
def test_an_expired_record_comes_back_with_javas_error(java: JavaVersion, lab: MockKafka) -> None:
    lab.create_topic("silent")
    lab.add_fault(api="Produce", topic="silent", hang="before_response")
    outcomes: list[str | None] = []
    producer = java.make(lab.bootstrap_servers, "silent", 300)
    producer.send("silent", b"a", outcomes.append)
    for _ in range(1_000):
        producer.pass_time(0.01)
        if outcomes:
            break
    producer.close()
    [outcome] = outcomes
    assert outcome is not None
    assert outcome.startswith("TimeoutException: ")


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK, which is not here")
def test_a_jvm_that_does_not_start_is_an_error_with_what_it_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "Broken.java"
    broken.write_text("class Broken { nonsense }")
    monkeypatch.setattr(java_producer, "SOURCE", broken)
    monkeypatch.setattr(java_producer, "fetch_jars", lambda *_: tmp_path)
    with pytest.raises(CannotRunError, match="nonsense"):
        JavaVersion("4.1.0").make("127.0.0.1:1", "nobody", 100)


def test_without_a_jdk_or_the_jars_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Path:
        raise CannotRunError("fetching kafka-clients-9.9.9 needs mvn, which is not here")

    monkeypatch.setattr(java_producer, "fetch_jars", fail)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert JavaVersion("9.9.9").why_missing() == (
        "fetching kafka-clients-9.9.9 needs mvn, which is not here"
    )
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert JavaVersion("9.9.9").why_missing() == "needs a JDK, which is not here"


def test_the_deadline_bounds_every_wait_of_the_producer() -> None:
    made = settings("127.0.0.1:1", "client", 700)
    for key in ("delivery.timeout.ms", "max.block.ms", "request.timeout.ms"):
        assert made[key] == 700
    assert made["max.in.flight.requests.per.connection"] == 1
