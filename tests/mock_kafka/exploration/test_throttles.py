"""Requests during a throttle are found, and no others."""

from typing import Any

import pytest

from mock_kafka.exploration.throttles import requests_during_throttles
from tests.mock_kafka.exploration.requests import request_of


def found(second_ms: int, throttled: dict[str, Any] | None = None, **second: Any) -> list[str]:
    fields: dict[str, Any] = {"throttle_time_ms": 500, **(throttled or {})}
    return requests_during_throttles(
        [request_of(1, "Produce", 1000, **fields), request_of(2, "Produce", second_ms, **second)]
    )


def test_a_request_during_the_throttle_is_found() -> None:
    (line,) = found(1200)
    assert line == (
        "#2 Produce of service came 301 ms before the end of the throttle of 500 ms in the"
        " response to #1 Produce"
    )


@pytest.mark.parametrize("second_ms", [1001, 1040, 1500, 2000])
def test_what_was_in_flight_or_comes_after_it_is_not(second_ms: int) -> None:
    assert found(second_ms) == []


def test_other_connections_and_muted_ones_are_not() -> None:
    assert found(1200, connection=2) == []
    assert found(1200, {"muted": True}) == []
    assert found(1200, {"throttle_time_ms": 0}) == []
    assert found(1200, kind="disconnect") == []


def test_clients_of_old_versions_wait_for_the_broker() -> None:
    assert found(1200, {"version": 5}) == []
    assert len(found(1200, {"version": 6})) == 1


def test_a_shorter_throttle_does_not_end_a_longer_one() -> None:
    requests = [
        request_of(1, "Produce", 1000, throttle_time_ms=500),
        request_of(2, "Metadata", 1010, throttle_time_ms=10),
        request_of(3, "Produce", 1300),
    ]
    assert len(requests_during_throttles(requests)) == 1
