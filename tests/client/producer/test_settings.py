import warnings
from dataclasses import fields
from typing import Any

import pytest

from client.producer.settings import ConfigurationError, ProducerSettings, delivery_timeout_in_force

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


@pytest.mark.parametrize(
    ("linger_ms", "request_timeout_ms", "delivery_timeout_ms", "in_force"),
    [
        (0, 30_000, 30_000, 30_000),
        (0, 30_000, 29_999, None),
        (100, 30_000, 30_099, None),
        (100, 30_000, 30_100, 30_100),
        (0, 30_000, None, 120_000),
        (INT_MAX, 30_000, INT_MAX, INT_MAX),
        (INT_MAX, 30_000, INT_MAX - 1, None),
    ],
)
def test_the_delivery_timeout_is_at_least_linger_and_request_timeout(
    linger_ms: int, request_timeout_ms: int, delivery_timeout_ms: int | None, in_force: int | None
) -> None:
    arguments = delivery_timeout_ms, linger_ms, request_timeout_ms
    if in_force is None:
        with pytest.raises(ConfigurationError, match="linger_ms"):
            delivery_timeout_in_force(*arguments)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert delivery_timeout_in_force(*arguments) == in_force


@pytest.mark.parametrize(
    ("linger_ms", "request_timeout_ms", "in_force"),
    [(100_000, 30_000, 130_000), (INT_MAX, 30_000, INT_MAX), (0, 200_000, 200_000)],
)
def test_an_unset_delivery_timeout_is_raised_with_a_warning(
    linger_ms: int, request_timeout_ms: int, in_force: int
) -> None:
    with pytest.warns(UserWarning, match=f"to {in_force}"):
        made = ProducerSettings(linger_ms=linger_ms, request_timeout_ms=request_timeout_ms)
    assert made.delivery_deadline_ms == in_force


def test_defaults_are_kafkas() -> None:
    made = ProducerSettings()
    assert (made.delivery_deadline_ms, made.linger_ms, made.request_timeout_ms) == (
        120_000,
        0,
        30_000,
    )
    assert made.retries == INT_MAX
    assert made.enable_idempotence


@pytest.mark.parametrize(
    "changes",
    [
        {"acks": 2},
        {"acks": 1},  # idempotent
        {"compression_type": "rar"},
        {"max_in_flight_requests_per_connection": 0},
        {"linger_ms": -1},
        {"retries": INT_MAX + 1},
        {"transactional_id": ""},
        {"transactional_id": "t", "enable_idempotence": False},
    ],
)
def test_invalid_settings_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        ProducerSettings(**changes)


BOUNDS = {
    "batch_size": (0, INT_MAX),
    "buffer_memory": (0, LONG_MAX),
    "connection_setup_timeout_ms": (0, LONG_MAX),
    "delivery_timeout_ms": (30_000, INT_MAX),  # the sum of linger_ms and request_timeout_ms
    "linger_ms": (0, LONG_MAX),
    "max_block_ms": (0, LONG_MAX),
    "max_in_flight_requests_per_connection": (1, INT_MAX),
    "max_in_flight_sequence_number_per_connection": (1, 2**30),
    "max_request_size": (0, INT_MAX),
    "metadata_max_age_ms": (0, LONG_MAX),
    "reconnect_backoff_max_ms": (0, LONG_MAX),
    "reconnect_backoff_ms": (0, LONG_MAX),
    "request_timeout_ms": (0, INT_MAX),
    "retries": (0, INT_MAX),
    "retry_backoff_max_ms": (0, LONG_MAX),
    "retry_backoff_ms": (0, LONG_MAX),
    "transaction_timeout_ms": (1, INT_MAX),
}


def test_every_number_has_a_range() -> None:
    numbers = {declared.name for declared in fields(ProducerSettings) if declared.init} - {
        "acks",
        "compression_type",
        "enable_idempotence",
        "transactional_id",
    }
    assert numbers == set(BOUNDS)


@pytest.mark.filterwarnings("ignore:delivery_timeout_ms is raised")
@pytest.mark.parametrize(("name", "bounds"), BOUNDS.items())
def test_a_number_outside_its_range_is_refused_with_its_name_and_the_range(
    name: str, bounds: tuple[int, int]
) -> None:
    smallest, largest = bounds
    allowed: list[dict[str, Any]] = [{name: smallest}, {name: largest}]
    for changes in allowed:
        assert getattr(ProducerSettings(**changes), name) == changes[name]
    refused: tuple[Any, ...] = (-1, largest + 1, 0.5, "5", True)
    for value in refused:
        with pytest.raises(ConfigurationError) as caught:
            ProducerSettings(**{name: value})
        stated_smallest = 0 if name == "delivery_timeout_ms" else smallest
        assert str(caught.value) == (
            f"{name}={value!r} is not a whole number from {stated_smallest} to {largest}"
        )


@pytest.mark.parametrize(
    ("is_idempotent", "configured", "window", "limit"),
    [
        (True, None, None, 5),
        (True, None, 10_000_000, INT_MAX),
        (True, 1, 10_000_000, 1),
        (True, 3, None, 3),
        (True, 20, None, 5),
        (True, 20, 10_000_000, 20),
        (False, None, None, 5),
        (False, 20, None, 20),
    ],
)
def test_with_a_window_the_limit_of_five_requests_does_not_apply(
    is_idempotent: bool, configured: int | None, window: int | None, limit: int
) -> None:
    made = ProducerSettings(
        enable_idempotence=is_idempotent, max_in_flight_requests_per_connection=configured
    )
    assert made.in_flight_max(window) == limit
