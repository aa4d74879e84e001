"""Our producer in every phase, on a real broker that misbehaves."""

from collections import Counter

import pytest

from mock_kafka import Request
from scenarios import delivery_timeout
from scenarios.delivery_timeout import broken_promises, row
from scenarios.delivery_timeout.client_adapters import (
    OURS,
    SUBJECTS,
    Subject,
    SubjectKind,
)
from scenarios.delivery_timeout.measuring import (
    Measurement,
    SeenRequest,
    measure,
    seen_requests,
)
from scenarios.delivery_timeout.outcome import Heard
from scenarios.delivery_timeout.phases import PHASES
from scenarios.maven import CannotRunError

EXPECTED = {
    "metadata": "waiting for metadata",
    "no leader": "no leader",
    "queued": "queued behind a full window",
    "in flight": "in flight",
    "backoff": "backoff",
    "throttled": "throttled",
}


@pytest.mark.interop
def test_our_producer_keeps_its_promise_and_names_the_phase() -> None:
    measurements = measure(PHASES, SUBJECTS[:1], delivery_timeout.DEADLINE_MS)
    assert [reason for measurement in measurements for reason in broken_promises(measurement)] == []
    outcomes = {measurement.phase: measurement.outcome for measurement in measurements}
    # After a cut it may be anywhere: on its way again, in backoff, or without a connection.
    assert outcomes.pop("cut").startswith("DeliveryTimeoutError: ")
    assert outcomes == {name: f"DeliveryTimeoutError: {text}" for name, text in EXPECTED.items()}
    stored = {measurement.phase: measurement.stored_count for measurement in measurements}
    assert stored == {name: int(name in {"queued", "in flight", "cut"}) for name in stored}
    for measurement in measurements:
        assert measurement.heard_after_ms is not None
        # The deadline goes by another clock than the table; each counts complete milliseconds.
        assert measurement.heard_after_ms >= delivery_timeout.DEADLINE_MS - 2


@pytest.mark.slow
def test_a_client_that_is_not_installed_is_a_line_all_the_same() -> None:
    nobody = SubjectKind("nobody", lambda: "needs a JDK", SUBJECTS[0].make)
    (measured,) = measure(PHASES[:1], [nobody], 100)
    assert row(measured)[:4] == ("metadata", "nobody", "-", "needs a JDK")


@pytest.mark.slow
def test_a_client_that_fails_to_start_is_a_line_and_the_others_are_measured() -> None:
    def fail(*_: object) -> Subject:
        raise CannotRunError("the JVM of the Java client failed: out of memory")

    kinds = [SubjectKind("failing", lambda: None, fail), SUBJECTS[0]]
    failing, ours = measure(PHASES[3:4], kinds, 300)
    assert row(failing)[2:4] == ("-", "the JVM of the Java client failed: out of memory")
    assert ours.outcome == "DeliveryTimeoutError: in flight"


class Mute:
    """A client that reports its outcomes only when it is closed."""

    def __init__(self, *_: object) -> None:
        self.callbacks: list[Heard] = []

    def send(self, topic: str, value: bytes, heard: Heard) -> None:
        self.callbacks.append(heard)

    def pass_time(self, seconds: float) -> None:
        """Nothing happens, however long it waits."""

    def close(self) -> None:
        for heard in self.callbacks:
            heard("closed")


@pytest.mark.slow
def test_what_a_client_reports_only_when_it_is_closed_is_no_outcome() -> None:
    mute = SubjectKind("mute", lambda: None, Mute)
    (measured,) = measure(PHASES[:1], [mute], 20)
    assert measured.outcome == "no outcome of 3 of 3 records"
    assert measured.heard_after_ms is None


def measurement(*heard: tuple[int, int, str | None], subject: str = OURS) -> Measurement:
    return Measurement("cut", subject, 0, [10, 20], list(heard))


def test_the_longest_wait_counts_and_a_missing_outcome_is_none() -> None:
    complete = measurement((0, 1_000, "late"), (1, 1_015, None))
    assert complete.heard_after_ms == 995
    assert complete.outcome == "late"
    assert measurement((1, 1_015, None)).heard_after_ms is None
    assert measurement((1, 1_015, None)).outcome == "no outcome of 1 of 2 records"


@pytest.mark.parametrize(
    ("measured", "reason"),
    [
        (measurement((0, 1_000, "x")), "no outcome"),
        (measurement((0, 1_000, "x"), (1, 9_000, "x")), "heard after 8980 ms"),
        (measurement((1, 1_000, "x"), (0, 1_001, "x")), "out of order"),
    ],
)
def test_a_broken_promise_is_reported(measured: Measurement, reason: str) -> None:
    assert any(reason in broken_promise for broken_promise in broken_promises(measured))


def test_a_record_that_is_stored_twice_is_reported() -> None:
    measured = measurement((0, 1_000, "x"), (1, 1_001, "x"))
    measured.stored = Counter({"0": 2})
    assert broken_promises(measured) == ["cut: a record is stored twice"]
    assert row(measured)[5] == "twice!"
    measured.subject = "another"
    assert broken_promises(measured) == []


def test_a_request_without_a_response_ends_with_its_connection() -> None:
    def request(connection: int, received_ms: int, duration_us: int | None) -> Request:
        return Request(
            1,
            received_ms,
            1,
            "127.0.0.1",
            "waiting",
            api="Produce",
            connection=connection,
            duration_us=duration_us,
        )

    requests = [request(1, 100, 5_999), request(1, 110, None), request(2, 120, None)]
    assert seen_requests(requests, [{"connection": 1, "received_ms": 150}]) == [
        SeenRequest("Produce", 100, 105),
        SeenRequest("Produce", 110, 150),
        SeenRequest("Produce", 120, None),
    ]
