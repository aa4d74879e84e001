import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.producer.backoff import backoff_ms


@pytest.mark.parametrize(
    ("attempts", "wait_ms"), [(1, 100), (2, 200), (3, 400), (4, 800), (5, 1_000), (99, 1_000)]
)
def test_backoff_doubles_up_to_the_maximum(attempts: int, wait_ms: int) -> None:
    assert backoff_ms(100, 1_000, attempts, lambda: 0.5) == wait_ms


@pytest.mark.parametrize(("random", "wait_ms"), [(0.0, 80), (0.5, 100), (0.999, 119)])
def test_jitter_is_twenty_percent(random: float, wait_ms: int) -> None:
    assert backoff_ms(100, 1_000, 1, lambda: random) == wait_ms


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 2**31), st.floats(0, 1))
def test_backoff_with_jitter_stays_below_the_maximum(
    base_ms: int, max_ms: int, attempts: int, random: float
) -> None:
    assert 0 <= backoff_ms(base_ms, max_ms, attempts, lambda: random) <= max_ms
