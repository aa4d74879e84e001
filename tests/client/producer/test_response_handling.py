"""The effect of each response on a batch; the numbers are Kafka's error codes."""

import pytest

from client.errors import ClientError, UnsupportedVersionError
from client.producer.actions import MetadataRequest, ProduceRequest, ProduceResponse, RequestFailed
from client.producer.delivery import Delivered, DeliveryRefusedError, ProducerClosedError
from protocol.errors import RETRIABLE_ERRORS, ErrorCode
from protocol.records import read_header
from tests.client.producer.driver import TOPIC, Driver, stored


def started(**changes: object) -> Driver:
    driver = Driver(**changes)
    driver.start()
    driver.poll()
    driver.response(stored(0))
    return driver


def numbers(request: ProduceRequest) -> tuple[int, int]:
    """Return epoch and base sequence of the request's only batch."""
    header = read_header(request.data[0].records, 0)
    return header.producer_epoch, header.base_sequence


@pytest.mark.parametrize("base_offset", [1, -1])
def test_a_duplicate_is_delivered_with_its_offset_or_without(base_offset: int) -> None:
    driver = started()
    deliveries = driver.send(b"a", b"b")
    driver.poll()
    driver.response(stored(base_offset, error_code=ErrorCode.DUPLICATE_SEQUENCE_NUMBER))
    offsets = [1, 2] if base_offset == 1 else [-1, -1]
    assert [delivery.outcome for delivery in deliveries] == [
        Delivered(TOPIC, 0, offset, 5) for offset in offsets
    ]


@pytest.mark.parametrize("error_code", sorted(RETRIABLE_ERRORS))
def test_retriable_errors_are_retried(error_code: int) -> None:
    driver = started()
    (delivery,) = driver.send()
    (before,) = driver.poll()
    driver.response(stored(-1, error_code=error_code))
    driver.at(driver.now + 12)
    if isinstance(driver.requests[0][1], MetadataRequest):
        driver.tell_metadata()
    (after,) = [*driver.produce_requests]
    assert isinstance(before, ProduceRequest)
    assert numbers(after) == numbers(before) == (0, 1)
    assert after.data == before.data, "a retry is the same bytes"
    assert delivery.outcome is None


@pytest.mark.parametrize("error_code", [17, 29, 32, 47, 76, 87, -1])
def test_other_errors_fail_the_batch_and_start_a_new_epoch(error_code: int) -> None:
    driver = started()
    (delivery,) = driver.send()
    driver.poll()
    driver.response(stored(-1, error_code=error_code))
    assert isinstance(delivery.outcome, DeliveryRefusedError)
    assert delivery.outcome.error_code == error_code
    assert delivery.outcome.is_possibly_stored == (error_code == -1)
    driver.send()
    driver.poll()
    assert [numbers(request) for request in driver.produce_requests] == [(1, 0)]


@pytest.mark.parametrize("error_code", [45, 59])
def test_out_of_order_without_earlier_batches_in_flight_starts_a_new_epoch(
    error_code: int,
) -> None:
    driver = started()
    (delivery,) = driver.send()
    driver.poll()
    driver.response(stored(-1, error_code=error_code))
    driver.at(driver.now + 12)
    assert [numbers(request) for request in driver.produce_requests] == [(1, 0)]
    driver.response(stored(1))
    assert delivery.outcome == Delivered(TOPIC, 0, 1, 5)


def test_a_batch_out_of_order_after_a_retried_one_keeps_its_sequence_numbers() -> None:
    driver = started(batch_size=1)
    driver.send(b"a", b"b")
    driver.poll()
    driver.response(stored(-1, error_code=ErrorCode.NOT_ENOUGH_REPLICAS))
    driver.response(stored(-1, error_code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER))
    driver.at(driver.now + 12)
    assert [numbers(request) for request in driver.produce_requests] == [(0, 1)]
    driver.response(stored(1))
    driver.poll()
    assert [numbers(request) for request in driver.produce_requests] == [(0, 2)]


def test_retries_have_a_bound() -> None:
    driver = started(retries=2)
    (delivery,) = driver.send()
    for _ in range(3):
        assert delivery.outcome is None
        driver.at(driver.now + 50)
        driver.response(stored(-1, error_code=ErrorCode.NOT_ENOUGH_REPLICAS))
    assert isinstance(delivery.outcome, DeliveryRefusedError)
    assert delivery.outcome.attempts == 3


def test_a_batch_that_is_too_large_is_split_and_keeps_its_sequence_numbers() -> None:
    driver = started()
    deliveries = driver.send(b"a", b"b", b"c")
    driver.poll()
    driver.response(stored(-1, error_code=ErrorCode.MESSAGE_TOO_LARGE))
    driver.at(driver.now + 1)
    assert [numbers(request) for request in driver.produce_requests] == [(0, 1)]
    driver.response(stored(1))
    driver.poll()
    assert [numbers(request) for request in driver.produce_requests] == [(0, 2)]
    driver.response(stored(2))
    assert [resolved.outcome for resolved in deliveries] == [
        Delivered(TOPIC, 0, offset, 5) for offset in (1, 2, 3)
    ]
    (delivery,) = driver.send(b"alone")
    driver.poll()
    driver.response(stored(-1, error_code=ErrorCode.MESSAGE_TOO_LARGE))
    assert isinstance(delivery.outcome, DeliveryRefusedError)


def test_batches_on_a_lost_connection_are_sent_again_unchanged() -> None:
    driver = started()
    (delivery,) = driver.send()
    (before,) = driver.poll()
    driver.disconnect(1)
    driver.at(driver.now + 30)
    driver.connect()
    assert isinstance(before, ProduceRequest)
    driver.poll()
    (after,) = driver.produce_requests
    assert after.data == before.data
    assert delivery.outcome is None


def test_a_response_without_the_partition_counts_as_lost() -> None:
    driver = started()
    driver.send()
    driver.poll()
    driver.response(ProduceResponse({}))
    driver.at(driver.now + 12)
    assert len(driver.produce_requests) == 1


def test_an_unsupported_version_fails_waiting_records() -> None:
    driver = Driver()
    (delivery,) = driver.send()
    driver.poll()
    driver.connect()
    driver.poll()
    error = UnsupportedVersionError("no Metadata")
    driver.response(RequestFailed(error), MetadataRequest)
    assert delivery.outcome is error


def test_closing_fails_everything_once() -> None:
    driver = started(max_in_flight_requests_per_connection=1, batch_size=1)
    deliveries = driver.send(b"on the wire", b"queued", b"not placed")
    deliveries += driver.send(topic="unknown")
    driver.poll()
    error: ClientError = ProducerClosedError("closed")
    driver.core.fail_all(error)
    assert [delivery.outcome for delivery in deliveries] == [error] * 4
    driver.response(stored(1))
    assert driver.core.bytes_reserved == 0


def test_a_request_timeout_closes_the_connection() -> None:
    driver = started()
    driver.send()
    driver.at(driver.now + 99)
    assert driver.disconnects == []
    driver.at(driver.now + 1)
    assert driver.disconnects == [1]
