import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.experiment import Manners, SeenRequest
from atlas.manners import judged_api, manners, reported_outcome
from atlas.situation import Expectation, Situation
from tests.atlas.observations import (
    closed,
    command,
    delivered,
    failure,
    poll,
    request,
    seen,
    send,
    undelivered,
)

BATCH = (("orders", 0, 1, 1, 70),)
OTHER_BATCH = (("orders", 0, 2, 1, 70),)


def of(*requests: SeenRequest, api: str = "Produce") -> Manners:
    return manners(seen(requests=requests), api=api)


def situation(workload: str = "produce", **fields: object) -> Situation:
    return Situation(
        id="KIP-091-1",
        title="a situation of a test",
        area="producer",
        workload=workload,
        expect=Expectation(),
        **fields,  # type: ignore[arg-type]
    )


def test_a_request_after_a_failed_one_with_the_same_records_is_a_retry() -> None:
    failed = request(1, 0, "Produce", "NOT_ENOUGH_REPLICAS", records=BATCH)
    assert of(failed, request(2, 60, records=BATCH)).retries == 1
    assert of(failed, request(2, 60, records=OTHER_BATCH)).retries == 0
    assert of(request(1, 0, records=BATCH), request(2, 60, records=BATCH)).retries == 0


def test_a_retry_may_have_a_batch_of_the_first_request_and_others() -> None:
    failed = request(1, 0, "Produce", "NOT_ENOUGH_REPLICAS", records=BATCH)
    assert of(failed, request(2, 60, records=(*OTHER_BATCH, *BATCH))).retries == 1


def test_two_requests_that_failed_are_retried_in_any_order() -> None:
    error = "NOT_ENOUGH_REPLICAS"
    found = of(
        request(1, 0, "Produce", error, records=BATCH),
        request(2, 5, "Produce", error, records=OTHER_BATCH),
        request(3, 60, records=OTHER_BATCH),
        request(4, 80, records=BATCH),
    )
    assert (found.retries, found.backoff_ms) == (2, 54.0)


def test_a_request_after_one_without_a_response_is_a_retry_without_a_backoff() -> None:
    lost = request(1, 0, latency_ms=None)
    found = of(lost, request(2, 60))
    assert (found.retries, found.backoff_ms) == (1, None)


def test_the_backoff_is_the_shortest_time_from_the_response_to_the_retry() -> None:
    error = "NOT_ENOUGH_REPLICAS"
    found = of(
        request(1, 0, "Produce", error, latency_ms=10),
        request(2, 110, "Produce", error, latency_ms=10),
        request(3, 160),
    )
    assert (found.retries, found.backoff_ms) == (2, 40.0)


@given(st.lists(st.booleans(), max_size=8), st.integers(0, 200))
def test_every_request_behind_an_error_is_a_retry(errors: list[bool], wait_ms: int) -> None:
    requests = [
        request(number, number * (wait_ms + 1), "Produce", *(["NOT_LEADER"] if has_error else []))
        for number, has_error in enumerate(errors)
    ]
    found = of(*requests)
    assert found.retries == sum(errors[:-1])
    assert found.backoff_ms == (wait_ms if any(errors[:-1]) else None)


@pytest.mark.parametrize(
    ("next_ms", "connection", "throttle"),
    [
        (501, 1, "honoured"),
        (600, 1, "honoured"),
        (101, 1, "early by 400 ms"),
        (101, 2, None),
    ],
)
def test_a_throttle_holds_for_the_next_request_on_the_connection(
    next_ms: int, connection: int, throttle: str | None
) -> None:
    throttled = request(1, 0, throttle_time_ms=500)
    assert of(throttled, request(2, next_ms, connection=connection)).throttle == throttle


def test_a_muted_connection_shows_no_throttle() -> None:
    muted = request(1, 0, throttle_time_ms=500, is_muted=True)
    assert of(muted, request(2, 10)).throttle is None


def test_a_request_that_was_in_flight_before_the_response_is_not_early() -> None:
    throttled = request(1, 0, throttle_time_ms=500, latency_ms=1.5)
    assert of(throttled, request(2, 1)).throttle is None
    assert of(throttled, request(2, 1), request(3, 2)).throttle == "early by 500 ms"


def test_requests_of_other_apis_are_no_retries() -> None:
    failed = request(1, 0, "Produce", "NOT_ENOUGH_REPLICAS")
    assert of(failed, request(2, 9, "Metadata")).retries == 0


# What was reported ---------------------------------------------------------------------------


def test_success_is_reported_if_all_records_were() -> None:
    observation = seen([send(1, "0"), send(2, "1")], [delivered(1), delivered(2)])
    assert reported_outcome(observation, 0) == ("success", None, None)


def test_the_first_error_is_reported() -> None:
    observation = seen(
        [send(1, "0"), send(2, "1")], [undelivered(2, "fatal", 5.0), undelivered(1, "timeout", 9.0)]
    )
    assert reported_outcome(observation, 0) == ("fatal", "SomeError", "fatal")


def test_nothing_is_reported_of_a_record_without_an_outcome() -> None:
    assert reported_outcome(seen([send(1, "0"), closed(2)]), 0)[0] == "nothing"


def test_nothing_is_reported_by_a_call_that_does_not_return() -> None:
    commit = command(1, "commit_transaction", "unanswered")
    assert reported_outcome(seen([commit]), 0)[0] == "nothing"


def test_a_consumer_that_returns_too_little_without_an_error_reports_nothing() -> None:
    assert reported_outcome(seen([poll(1, 0, 1)]), 2)[0] == "success"
    assert reported_outcome(seen([poll(1, 0, 1)]), 3)[0] == "nothing"
    failed = command(2, "poll", "failed", values=failure(kind="fatal"))
    assert reported_outcome(seen([poll(1, 0, 1), failed]), 3)[0] == "fatal"


def test_in_a_transaction_the_error_of_the_commit_comes_before_those_of_records() -> None:
    commands = [
        command(1, "begin_transaction"),
        send(2, "0"),
        command(3, "commit_transaction", "failed", ended_ms=50, values=failure("E", "abortable")),
    ]
    observation = seen(commands, [undelivered(2, "fatal", 5.0)])
    assert reported_outcome(observation, 0) == ("abortable", "E", "abortable")
    assert reported_outcome(seen(commands[:2], [undelivered(2, "fatal")]), 0)[0] == "fatal"


def test_records_that_an_abort_discards_are_no_errors() -> None:
    commands = [
        command(1, "begin_transaction"),
        send(2, "0"),
        command(3, "abort_transaction", sent_ms=8.0, ended_ms=20.0),
    ]
    assert reported_outcome(seen(commands, [undelivered(2, at_ms=9.0)]), 0)[0] == "success"
    assert reported_outcome(seen(commands, [undelivered(2, at_ms=7.0)]), 0)[0] == "retriable"


def test_the_outcome_of_a_record_counts_from_its_send() -> None:
    commands = [send(1, "0"), command(2, "send", sent_ms=100.0, topic="orders", value="1")]
    found = manners(seen(commands, [delivered(1, 40.0), delivered(2, 120.0)]), api="Produce")
    assert found.outcome_ms == 40.0
    assert manners(seen(commands, [delivered(1, 40.0)]), api="Produce").outcome_ms is None


def test_the_outcome_of_a_call_does_not_count_the_time_in_which_the_client_was_made() -> None:
    commands = [
        command(1, "admin", ended_ms=500.0),
        command(2, "create_topic", sent_ms=500.0, ended_ms=530.0),
    ]
    assert manners(seen(commands), api="CreateTopics").outcome_ms == 30.0


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        ("done", "cleanly"),
        ("unanswered", "not in 2000 ms"),
        ("failed", "failed: KafkaError"),
    ],
)
def test_how_a_client_closes(outcome: str, text: str) -> None:
    values = failure() if outcome == "failed" else {}
    close = command(1, "close", outcome, phase="close", values=values)
    assert manners(seen([close]), api="Produce").closed == text
    assert manners(seen(), api="Produce").closed == "not closed"


def test_the_judged_api_is_that_of_the_workload_or_of_the_first_rule() -> None:
    rules = ({"delay_ms": 1}, {"api": "Fetch", "error": "CORRUPT_MESSAGE"})
    assert judged_api(situation(faults=rules)) == "Fetch"
    assert judged_api(situation("group")) == "OffsetCommit"
    assert judged_api(situation()) == "Produce"
    # A leader moves, and the first rule makes the metadata of the next requests old.
    moved = ({"api": "Metadata", "stale_metadata": True}, {"api": "Produce", "leader": "next"})
    assert judged_api(situation(faults=moved)) == "Produce"
