"""One object does what a bucket and a rate do together."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from quotas.metered_bucket import MeteredBucket
from quotas.sampled_rate import SampledRate
from quotas.token_bucket import TokenBucket, exact

RATES = st.sampled_from([0.1, 1 / 3, 1.5, 2.0, 1e-9, 1e15]).map(exact)
SAMPLES, WINDOW_MS = 3, 1000

steps = st.lists(
    st.tuples(
        st.sampled_from(("try_charge", "try_charge", "charge", "measure", "limit", "unlimit")),
        st.sampled_from((0, 0, 1, 400, 1000, 5000, 10**7)),
        st.integers(-3, 200),
        RATES,
    )
)


@given(RATES, steps)
def test_a_metered_bucket_is_a_bucket_and_a_rate(
    rate: Fraction, steps: list[tuple[str, int, int, Fraction]]
) -> None:
    metered, measured = MeteredBucket(SAMPLES, WINDOW_MS), SampledRate(SAMPLES, WINDOW_MS)
    metered.limit_to(rate, rate * 5, 0)
    bucket: TokenBucket | None = TokenBucket(rate, rate * 5, 0)
    now_ms = 0
    for step, pause_ms, cost, other in steps:
        now_ms += pause_ms
        if step == "try_charge":
            wait_ms = 0 if bucket is None else bucket.try_charge(cost, now_ms)
            if not wait_ms:
                measured.record(cost, now_ms)
            assert metered.try_charge(cost, now_ms) == wait_ms
        elif step == "charge":
            measured.record(cost, now_ms)
            wait_ms = 0 if bucket is None else bucket.charge(cost, now_ms)
            assert metered.charge(cost, now_ms) == wait_ms
        elif step == "limit":
            if bucket is None:
                bucket = TokenBucket(other, other * 7, now_ms)
            else:
                bucket.set_rate(other, other * 7)
            metered.limit_to(other, other * 7, now_ms)
        elif step == "unlimit":
            bucket = None
            metered.remove_limit()
        else:
            assert metered.rate(now_ms) == measured.rate(now_ms)
        assert metered.has_bucket == (bucket is not None)
        if bucket is not None:
            assert metered.tokens(now_ms) == bucket.tokens(now_ms)
            assert metered.full_in_ms(now_ms) == bucket.full_in_ms(now_ms)
    assert metered.total(now_ms) == measured.total(now_ms)


def test_time_that_goes_back_changes_no_balance() -> None:
    metered = MeteredBucket(SAMPLES, WINDOW_MS)
    metered.limit_to(Fraction(1), Fraction(5), 10_000)
    assert metered.try_charge(9, 10_000) == 0
    assert metered.try_charge(1, 9_000) == 4_000
    assert metered.tokens(10_000) == -4
