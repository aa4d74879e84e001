from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.token_bucket import THROTTLE_MAX_MS, TokenBucket, exact

RATES = st.one_of(
    st.integers(1, 50).map(Fraction),
    st.floats(0.001, 1000, allow_nan=False).map(exact),
    st.sampled_from([0.1, 1 / 3, 1.5, 2.0, 1e-9, 1e15]).map(exact),
)
BURST_SECONDS = st.integers(1, 100)
PAUSES_MS = st.integers(0, 20_000)
COSTS = st.integers(0, 200)


def bucket(rate: float, samples: int, window_seconds: int = 1, now_ms: int = 0) -> TokenBucket:
    return TokenBucket(exact(rate), exact(rate) * samples * window_seconds, now_ms)


def test_a_balance_grows_by_the_rate_and_falls_by_charges() -> None:
    tokens = bucket(5, 10, 2)

    assert tokens.tokens(0) == 100
    tokens.charge(60, 0)
    assert tokens.tokens(0) == 40
    tokens.charge(5, 2000)
    assert tokens.tokens(2000) == 45
    tokens.charge(60, 4000)
    assert tokens.tokens(4000) == -5


def test_returned_tokens_do_not_exceed_the_burst() -> None:
    tokens = bucket(5, 10, 2)

    tokens.charge(-60, 0)
    assert tokens.tokens(0) == 100
    tokens.charge(60, 2000)
    assert tokens.tokens(2000) == 40
    tokens.charge(-60, 4000)
    assert tokens.tokens(4000) == 100


@pytest.mark.parametrize(("cost", "full_in_ms"), [(0, 0), (1, 334), (2, 667), (60, 20_000)])
def test_full_in_ms_is_when_all_charged_tokens_are_refilled(cost: int, full_in_ms: int) -> None:
    tokens = bucket(3, 10)
    tokens.charge(cost, 0)

    assert tokens.full_in_ms(0) == full_in_ms
    assert tokens.tokens(full_in_ms) == 30


@pytest.mark.parametrize(
    ("tokens", "rate", "kafka_ms", "throttle_ms"),
    [
        ("0", 10, 0, 0),
        ("-5", 10, 500, 500),
        ("-10", 10, 1000, 1000),
        ("-1", 3, 333, 334),
        ("-2", 3, 667, 667),
        ("-0.4", 1000, 0, 1),
        ("-0.5", 1000, 1, 1),
        ("-60", 5, 12_000, 12_000),
    ],
)
def test_a_throttle_time_is_kafkas_rounded_up(
    tokens: str, rate: int, kafka_ms: int, throttle_ms: int
) -> None:
    # A burst with the fraction of the balance allows any balance.
    burst = Fraction(tokens) % 1
    empty = TokenBucket(Fraction(rate), burst, 0)
    empty.charge(int(burst - Fraction(tokens)), 0)

    assert empty.tokens(0) == Fraction(tokens)
    assert empty.throttle_time_ms(0) == throttle_ms
    assert throttle_ms - kafka_ms in {0, 1}


def test_a_new_bucket_is_full_at_any_time() -> None:
    assert bucket(5, 100, now_ms=0).tokens(0) == 500
    assert bucket(5, 100, now_ms=10**12).tokens(10**12) == 500


def test_a_balance_of_0_is_no_violation_and_below_0_is() -> None:
    tokens = bucket(10, 10)

    assert tokens.try_charge(100, 0) == 0
    assert tokens.tokens(0) == 0
    assert tokens.try_charge(1, 0) == 0
    assert tokens.try_charge(1, 0) == 100
    assert tokens.tokens(0) == -1, "the refused one was charged"


def test_a_charge_larger_than_the_burst_passes_once() -> None:
    tokens = bucket(1, 10)

    assert tokens.try_charge(1000, 0) == 0
    assert tokens.try_charge(1, 0) == 990_000


def test_the_worked_example_of_the_kip() -> None:
    tokens = bucket(5, 100)
    balances = []
    for _ in range(7):
        assert tokens.try_charge(80, 0) == 0
        balances.append(tokens.tokens(0))

    assert balances == [420, 340, 260, 180, 100, 20, -60]
    assert tokens.try_charge(80, 0) == 12_000
    assert tokens.try_charge(80, 11_999) == 1
    assert tokens.try_charge(80, 12_000) == 0
    assert tokens.tokens(12_000) == -80


@pytest.mark.parametrize(
    ("before", "charged", "changed_ms", "after", "expected"),
    [
        (10, 0, 0, 100, [(0, 110), (1000, 210), (11_000, 1100)]),
        (100, 0, 0, 10, [(0, 110)]),
        (10, 160, 1000, 100, [(1000, 50)]),
    ],
)
def test_a_new_rate_keeps_the_tokens_and_applies_since_the_last_use(
    before: int, charged: int, changed_ms: int, after: int, expected: list[tuple[int, int]]
) -> None:
    tokens = bucket(before, 11)
    tokens.charge(charged, 0)
    tokens.set_rate(Fraction(after), Fraction(after) * 11)

    assert expected[0][0] == changed_ms
    assert [(now_ms, int(tokens.tokens(now_ms))) for now_ms, _ in expected] == expected


def test_a_clock_that_goes_back_changes_no_balance() -> None:
    tokens = bucket(10, 10, now_ms=10_000)
    tokens.charge(150, 10_000)

    assert tokens.tokens(0) == -50
    assert tokens.tokens(10_000) == -50
    assert tokens.tokens(15_000) == 0


def test_a_wait_fits_into_the_throttle_time_field() -> None:
    tokens = bucket(0.000001, 1)

    assert tokens.charge(10**6, 0) == THROTTLE_MAX_MS


@pytest.mark.parametrize(
    ("number", "meant"), [(0.1, Fraction(1, 10)), (12.3, Fraction(123, 10)), (1e21, 10**21)]
)
def test_exact_is_the_decimal_number_that_was_written(number: float, meant: Fraction) -> None:
    assert exact(number) == meant


@given(
    RATES,
    BURST_SECONDS,
    st.lists(st.tuples(PAUSES_MS, st.integers(-50, 200), st.booleans(), RATES | st.none())),
)
def test_a_bucket_equals_its_definition_in_fractions(
    rate: Fraction,
    burst_seconds: int,
    steps: list[tuple[int, int, bool, Fraction | None]],
) -> None:
    tokens = TokenBucket(rate, rate * burst_seconds, 0)
    balance, now_ms, refilled_ms = rate * burst_seconds, 0, 0
    for pause_ms, cost, is_strict, new_rate in steps:
        now_ms += pause_ms
        if new_rate is not None:
            rate = new_rate
            tokens.set_rate(rate, rate * burst_seconds)
        burst = rate * burst_seconds
        balance = min(burst, balance + rate * (now_ms - refilled_ms) / 1000)
        refilled_ms = now_ms
        if is_strict:
            is_taken = tokens.try_charge(abs(cost), now_ms) == 0
            assert is_taken == (balance >= 0)
            balance -= abs(cost) if is_taken else 0
        else:
            tokens.charge(cost, now_ms)
            balance = min(burst, balance - cost)
        assert tokens.tokens(now_ms) == balance


@given(RATES, BURST_SECONDS, st.lists(st.tuples(PAUSES_MS, COSTS), min_size=1))
def test_a_client_that_waits_the_throttle_time_is_not_refused_again(
    rate: Fraction, burst_seconds: int, arrivals: list[tuple[int, int]]
) -> None:
    tokens = TokenBucket(rate, rate * burst_seconds, 0)
    now_ms = 0
    for pause_ms, cost in arrivals:
        now_ms += pause_ms
        throttle_ms = tokens.try_charge(cost, now_ms)
        if 0 < throttle_ms < THROTTLE_MAX_MS:
            assert tokens.throttle_time_ms(now_ms + throttle_ms - 1) > 0, "the wait is too long"
            now_ms += throttle_ms
            assert tokens.try_charge(cost, now_ms) == 0


@given(RATES, BURST_SECONDS, st.lists(st.tuples(PAUSES_MS, COSTS)))
def test_no_arrival_pattern_exceeds_rate_plus_burst_plus_one_charge(
    rate: Fraction, burst_seconds: int, arrivals: list[tuple[int, int]]
) -> None:
    burst = rate * burst_seconds
    tokens = TokenBucket(rate, burst, 0)
    now_ms, admitted = 0, 0
    for pause_ms, cost in arrivals:
        now_ms += pause_ms
        if tokens.try_charge(cost, now_ms) == 0:
            admitted += cost
            assert admitted <= rate * now_ms / 1000 + burst + cost
