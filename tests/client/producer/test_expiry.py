"""The delivery timeout in each phase of a record."""

import pytest

from client.producer.actions import InitProducerIdResponse, MetadataRequest, TopicView
from client.producer.delivery import Delivered, Delivery, DeliveryTimeoutError, Phase
from protocol.errors import ErrorCode
from tests.client.producer.driver import TOPIC, Driver, stored, topics


def timeout(delivery: Delivery) -> DeliveryTimeoutError:
    assert isinstance(delivery.outcome, DeliveryTimeoutError)
    return delivery.outcome


def started(*, throttle_time_ms: int = 0, linger_ms: int = 0, **changes: object) -> Driver:
    """Return a producer whose first record was delivered."""
    driver = Driver(linger_ms=linger_ms, **changes)
    driver.start()
    driver.at(driver.now + linger_ms)
    driver.response(stored(0, throttle_time_ms=throttle_time_ms))
    return driver


def expired_phase(driver: Driver, delivery: Delivery, sent_ms: int) -> Phase:
    """Return the phase of the timeout; it must come in the last millisecond, not before."""
    driver.at(sent_ms + 999)
    assert delivery.outcome is None
    driver.at(sent_ms + 1_000)
    assert timeout(delivery).elapsed_ms == 1_000
    return timeout(delivery).phase


def test_waiting_for_metadata() -> None:
    driver = Driver()
    (delivery,) = driver.send()
    assert expired_phase(driver, delivery, 1_000) is Phase.METADATA
    assert not timeout(delivery).is_possibly_stored
    assert driver.core.bytes_reserved == 0


def test_without_a_leader() -> None:
    driver = Driver()
    (delivery,) = driver.send()
    driver.poll()
    driver.connect()
    driver.poll()
    driver.tell_metadata(topics([-1]))
    driver.requests.clear()
    assert expired_phase(driver, delivery, 1_000) is Phase.NO_LEADER


def test_without_a_connection() -> None:
    driver = started()
    driver.disconnect(1)
    sent_ms = driver.now
    (delivery,) = driver.send()
    assert expired_phase(driver, delivery, sent_ms) is Phase.CONNECTING


def test_without_a_producer_id() -> None:
    driver = Driver(request_timeout_ms=1_000)
    (delivery,) = driver.send()
    driver.poll()
    driver.connect()
    driver.poll()
    driver.tell_metadata()
    driver.poll()
    driver.connect()
    assert expired_phase(driver, delivery, 1_000) is Phase.PRODUCER_ID


def test_queued_behind_a_full_window() -> None:
    driver = started(request_timeout_ms=1_000, max_in_flight_requests_per_connection=1)
    sent_ms = driver.now
    (first,) = driver.send()
    driver.poll()
    (second,) = driver.send()
    assert expired_phase(driver, second, sent_ms) is Phase.QUEUED
    assert timeout(first).phase is Phase.IN_FLIGHT
    assert timeout(first).is_possibly_stored
    assert not timeout(second).is_possibly_stored


def test_in_flight() -> None:
    driver = started(request_timeout_ms=1_000)
    driver.now += 1
    sent_ms = driver.now
    (delivery,) = driver.send()
    driver.at(sent_ms + 500)
    assert expired_phase(driver, delivery, sent_ms) is Phase.IN_FLIGHT


def test_in_backoff() -> None:
    driver = started(retry_backoff_ms=500, retry_backoff_max_ms=2_000)
    sent_ms = driver.now
    (delivery,) = driver.send()
    for wait_ms in (500, 1_000):
        driver.poll()
        driver.response(stored(-1, error_code=ErrorCode.NOT_ENOUGH_REPLICAS))
        driver.at(min(sent_ms + 999, driver.now + wait_ms))
    assert expired_phase(driver, delivery, sent_ms) is Phase.BACKOFF
    error = timeout(delivery)
    assert (error.attempts, error.last_error) == (2, "NOT_ENOUGH_REPLICAS")
    assert not error.is_possibly_stored


def test_in_backoff_with_a_late_poll() -> None:
    driver = started(retry_backoff_ms=900, retry_backoff_max_ms=900)
    driver.at(driver.now + 900)
    (delivery,) = driver.send()
    driver.poll()
    driver.now += 50
    driver.response(stored(-1, error_code=ErrorCode.NOT_ENOUGH_REPLICAS))
    driver.poll()
    driver.now += 1_000  # after the backoff and the deadline
    driver.poll()
    assert timeout(delivery).phase is Phase.BACKOFF


def test_throttled() -> None:
    driver = started()
    driver.send()
    driver.poll()
    driver.response(stored(1, throttle_time_ms=5_000))
    sent_ms = driver.now
    (delivery,) = driver.send()
    assert expired_phase(driver, delivery, sent_ms) is Phase.THROTTLED


def test_the_timeout_starts_with_the_creation_of_the_batch() -> None:
    driver = started(linger_ms=500)
    sent_ms = driver.now
    driver.send()
    driver.disconnect(1)
    driver.at(sent_ms + 400)
    (joined,) = driver.send()
    driver.at(sent_ms + 1_000)
    assert timeout(joined).elapsed_ms == 1_000


def test_a_success_after_expiry_only_acknowledges_the_sequence_numbers() -> None:
    driver = started(request_timeout_ms=900, throttle_time_ms=300)
    (delivery,) = driver.send()
    driver.at(driver.now + 300)
    (following,) = driver.send()
    assert driver.poll(), "five may be in flight"
    driver.at(driver.now + 700)
    assert timeout(delivery).phase is Phase.IN_FLIGHT
    driver.send()
    assert not driver.poll(), "nothing new while a number is unresolved"
    driver.response(stored(1))
    driver.response(stored(2))
    assert following.outcome == Delivered(TOPIC, 0, 2, 5)
    (request,) = driver.poll()
    assert driver.produce_requests == [request]
    assert request.batches[0].producer_epoch == 0, "no gap, no new epoch"  # type: ignore[union-attr]


def test_an_authorization_error_of_a_topic_fails_its_records_at_once() -> None:
    driver = Driver()
    (delivery,) = driver.send()
    driver.poll()
    driver.connect()
    driver.poll()
    driver.tell_metadata({TOPIC: TopicView(29, {})})
    assert str(delivery.outcome) == "orders-0: TOPIC_AUTHORIZATION_FAILED"


@pytest.mark.parametrize("error_code", [31, 53])
def test_an_authorization_error_of_init_producer_id_fails_all_records(error_code: int) -> None:
    driver = Driver()
    (delivery,) = driver.send()
    driver.poll()
    driver.connect()
    driver.poll()
    assert isinstance(driver.requests[0][1], MetadataRequest)
    driver.tell_metadata()
    driver.response(InitProducerIdResponse(error_code), type(driver.requests[0][1]))
    assert "InitProducerId" in str(delivery.outcome)
