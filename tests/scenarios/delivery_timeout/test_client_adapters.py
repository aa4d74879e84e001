"""Every client delivers a record, and says what it was when none arrives."""

import importlib.util
import threading
from collections.abc import Iterator

import pytest

from client import clock
from mock_kafka import MockKafka
from scenarios.delivery_timeout.client_adapters import (
    SUBJECTS,
    SubjectKind,
    described,
    java_client,
    java_config,
    python_client,
)


@pytest.fixture(scope="module")
def lab() -> Iterator[MockKafka]:
    with MockKafka(config={"num.partitions": 1}) as cluster:
        yield cluster


def skip_if_missing(kind: SubjectKind) -> None:
    """Skip a Java client without a JDK or its jars; the Python ones have to be there."""
    reason = kind.why_missing()
    if reason is not None and kind.name.startswith("Java"):
        pytest.skip(f"{kind.name}: {reason}")
    assert reason is None


@pytest.mark.interop
@pytest.mark.parametrize("kind", SUBJECTS, ids=lambda kind: kind.name)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_client_delivers_and_can_be_ended(lab: MockKafka, kind: SubjectKind) -> None:
    skip_if_missing(kind)
    topic = kind.name.replace(", ", "-").replace(" ", "-")
    outcomes: list[str | None] = []
    subject = kind.make(lab.bootstrap_servers, topic, 10_000)
    try:
        subject.send(topic, b"a", outcomes.append)
        give_up_ms = clock.now_ms() + 10_000
        while not outcomes and clock.now_ms() < give_up_ms:
            subject.pass_time(0.01)
    finally:
        subject.close()
    assert outcomes == [None]
    assert [record.value for record in lab.records(topic)] == [b"a"]


@pytest.mark.interop
@pytest.mark.parametrize("kind", SUBJECTS, ids=lambda kind: kind.name)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_client_that_has_not_delivered_is_ended_all_the_same(
    lab: MockKafka, kind: SubjectKind
) -> None:
    skip_if_missing(kind)
    threads = set(threading.enumerate())
    subject = kind.make(lab.bootstrap_servers, kind.name, 10_000)
    subject.send("never-delivered", b"a", lambda _: None)
    subject.close()
    assert not [
        thread for thread in threading.enumerate() if thread not in threads and thread.is_alive()
    ]


def test_a_client_that_is_not_installed_is_known_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = python_client("another", "aiokafka", lambda _client_id, _deadline_ms: {})
    assert kind.why_missing() is None
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert kind.why_missing() == "not installed"
    assert java_client("4.4.0").name == "Java 4.4.0"


def test_the_deadline_bounds_every_wait_of_a_java_producer() -> None:
    config = java_config("client", 700)
    for key in ("delivery.timeout.ms", "max.block.ms", "request.timeout.ms"):
        assert config[key] == 700
    assert config["max.in.flight.requests.per.connection"] == 1


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("", "SomeError"),
        ("SomeError: no leader", "SomeError: no leader"),
        ("x" * 50, "SomeError: " + "x" * 40),
    ],
)
def test_an_error_is_described_without_its_name_twice(message: str, text: str) -> None:
    assert described("SomeError", message) == text
