import pytest

from client.producer.delivery import (
    Delivered,
    Delivery,
    DeliveryOutcome,
    DeliveryRefusedError,
    DeliveryTimeoutError,
    Phase,
)


def test_the_error_names_the_phase_and_what_happened_before() -> None:
    error = DeliveryTimeoutError(
        "orders", 3, Phase.BACKOFF, 1_000, attempts=4, last_error="NOT_ENOUGH_REPLICAS"
    )
    assert str(error) == (
        "orders-3: not delivered after 1000 ms, phase: backoff"
        " (4 attempts, last error NOT_ENOUGH_REPLICAS)"
    )
    assert not error.is_possibly_stored


def test_a_refusal_has_the_error_code_and_the_brokers_message() -> None:
    assert str(DeliveryRefusedError("orders", 0, 87, "bad record")) == "orders-0: bad record"
    assert str(DeliveryRefusedError("orders", None, 29)) == "orders: TOPIC_AUTHORIZATION_FAILED"


def test_an_unknown_offset_is_reported_as_unknown() -> None:
    assert not Delivered("orders", 0, -1, 5).has_offset
    assert Delivered("orders", 0, 0, 5).has_offset


def test_a_record_is_resolved_once() -> None:
    heard: list[DeliveryOutcome] = []
    delivery = Delivery(heard.append)
    delivery.resolve(Delivered("orders", 0, 0, 5))
    assert heard == [delivery.outcome]
    with pytest.raises(AssertionError):
        delivery.resolve(Delivered("orders", 0, 0, 5))
