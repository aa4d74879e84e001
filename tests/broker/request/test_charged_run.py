"""Requests that are charged together are charged, throttled and measured as single ones."""

from itertools import accumulate
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from broker.request.charged_run import ChargedRun
from broker.request.throttling import charge_produce, end_run
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context
from tests.broker.request.byte_rate_driver import BURST


def charged(
    reads: list[tuple[int, list[tuple[int, int]]]],
    limits: list[tuple[str, float, bool]],
    *,
    in_runs: bool,
) -> list[Any]:
    """Return what becomes of requests with so many bytes and ns; a read ends with a throttle."""
    cluster = make_cluster(1)
    for key, limit, is_shadow in limits:
        entity = (("user", "ANONYMOUS"),)
        problem = cluster.quotas.clients.alter(entity, [(key, limit)], is_shadow=is_shadow)
        assert problem is None
    found: list[Any] = []
    run = ChargedRun() if in_runs else None
    now_ms = NOW_MS
    for wait_ms, requests in reads:
        now_ms += wait_ms
        for size_bytes, spent_ns in requests:
            context = make_context(ApiKey.PRODUCE, 9)
            context.now_ms, context.size_bytes, context.run = now_ms, size_bytes, run
            context.stopwatch = iter((spent_ns,)).__next__
            charge_produce(context, cluster, expects_response=True)
            shadow = {} if context.shadow is None else context.shadow.throttle_times_ms
            found.append((context.throttle_time_ms, context.muted_until_ms, shadow))
            if context.throttle_time_ms:
                break
        if run is not None and requests:
            end_run(context, cluster, run)
        quotas = cluster.quotas.brokers[1]
        for manager in (quotas.produce, quotas.request):
            found += [tuple(measured) for measured in manager.measurements(now_ms)]
    return found


@given(
    st.lists(
        st.tuples(
            st.sampled_from((0, 1, 500, 1000, 20_000)),
            st.lists(
                st.tuples(st.integers(1, 3000), st.integers(0, 50_000_000)), min_size=1, max_size=8
            ),
        ),
        max_size=8,
    ),
    st.lists(
        st.tuples(
            st.sampled_from(("producer_byte_rate", "request_percentage")),
            st.sampled_from((1.0, 30.0, 500.0, 1e9)),
            st.booleans(),
        ),
        min_size=1,
        max_size=2,
    ),
)
def test_requests_that_are_charged_together_are_charged_as_single_ones(
    reads: list[tuple[int, list[tuple[int, int]]]], limits: list[tuple[str, float, bool]]
) -> None:
    assert charged(reads, limits, in_runs=True) == charged(reads, limits, in_runs=False)


def test_a_throttle_begins_at_the_same_request_of_a_run() -> None:
    reads = [(0, [(1000, 0)] * 30)]
    limits = [("producer_byte_rate", 1000.0, False)]
    found = charged(reads, limits, in_runs=True)

    times_ms = [result[0] for result in found if len(result) == 3]
    burst = [total for total in accumulate([1000] * 30) if total <= BURST]
    assert times_ms[:-1] == [0] * len(burst)
    assert times_ms[-1] > 0
    assert found == charged(reads, limits, in_runs=False)
