"""ListTransactions: filters by state, producer id, duration and name."""

from typing import Any

import pytest

from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS
from tests.broker.transactional_driver import TransactionDriver, make_driver

FILTERS: list[tuple[int, dict[str, Any], list[str]]] = [
    (0, {}, ["idle", "open"]),
    (0, {"states": ["Ongoing"]}, ["open"]),
    (0, {"states": ["Nonsense"]}, []),
    (0, {"states": ["PrepareEpochFence", "Dead"]}, []),
    (0, {"producer_ids": [1]}, ["open"]),
    (1, {"duration_ms": 999}, ["idle", "open"]),
    (1, {"duration_ms": 1000}, ["idle"]),
    (2, {"pattern": "o.*"}, ["open"]),
    (2, {"pattern": "o"}, []),
    (2, {"pattern": ""}, ["idle", "open"]),
]


@pytest.mark.parametrize(("version", "filters", "names"), FILTERS)
def test_filters(version: int, filters: dict[str, Any], names: list[str]) -> None:
    """An idle id has the begin -1, so every duration includes it, as in Kafka."""
    driver = make_driver()
    TransactionDriver(driver.cluster, transactional_id="idle").init()
    opened = TransactionDriver(driver.cluster, transactional_id="open")
    opened.add(opened.init()[1], 0)
    driver.now_ms = NOW_MS + 1000
    response = driver.list_transactions(version, **filters)
    assert [state.transactional_id for state in response.transaction_states] == names
    unknown = [name for name in filters.get("states", ()) if name == "Nonsense"]
    assert response.unknown_state_filters == unknown


def test_a_pattern_with_nested_repetitions_harms_nobody() -> None:
    driver = make_driver()
    TransactionDriver(driver.cluster, transactional_id="a" * 32 + "_").init()
    response = driver.list_transactions(pattern="(a+)+$")
    assert (response.error_code, response.transaction_states) == (ErrorCode.NONE, [])


def test_a_point_is_no_line_feed_as_in_re2j() -> None:
    driver = make_driver()
    TransactionDriver(driver.cluster, transactional_id="a\nb").init()
    assert driver.list_transactions(pattern="a.b").transaction_states == []
    assert len(driver.list_transactions(pattern="(?s)a.b").transaction_states) == 1
    assert len(driver.list_transactions(pattern="").transaction_states) == 1


@pytest.mark.parametrize("pattern", ["(", "a(?=b)", "a" * 3_000])
def test_an_invalid_pattern_is_an_error(pattern: str) -> None:
    response = make_driver().list_transactions(pattern=pattern)
    assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
