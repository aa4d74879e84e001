"""Every client delivers a record, and says what it was when none arrives."""

import threading
from collections.abc import Iterator

import pytest

from client import clock
from mock_kafka import MockKafka
from mock_kafka.scenarios.delivery_timeout.subjects import SUBJECTS, SubjectKind


@pytest.fixture(scope="module")
def lab() -> Iterator[MockKafka]:
    with MockKafka(config={"num.partitions": 1}) as cluster:
        yield cluster


@pytest.mark.interop
@pytest.mark.parametrize("kind", SUBJECTS, ids=lambda kind: kind.name)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_client_delivers_and_can_be_ended(lab: MockKafka, kind: SubjectKind) -> None:
    assert kind.is_installed
    topic = kind.name.replace(", ", "-")
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
    assert [each.value for each in lab.records(topic)] == [b"a"]


@pytest.mark.interop
@pytest.mark.parametrize("kind", SUBJECTS, ids=lambda kind: kind.name)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_client_that_has_not_delivered_is_ended_all_the_same(
    lab: MockKafka, kind: SubjectKind
) -> None:
    threads = set(threading.enumerate())
    subject = kind.make(lab.bootstrap_servers, kind.name, 10_000)
    subject.send("never-delivered", b"a", lambda _: None)
    subject.close()
    assert not [
        thread for thread in threading.enumerate() if thread not in threads and thread.is_alive()
    ]


def test_a_client_that_is_not_there_is_known_as_such() -> None:
    assert not SubjectKind("none", "no_such_client", SUBJECTS[0].make).is_installed
