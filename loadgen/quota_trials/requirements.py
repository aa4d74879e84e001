"""The smallest quota with which a client is never throttled, computed from its traffic.

As long as nobody is throttled, what a quota measures does not depend on its value. So the smallest
byte rate is the largest rate that the broker's `SampledRate` would have after any request. A token
bucket is never below zero before a charge if its burst covers the largest excess of the charges
over the refill; that excess is found by bisection, and new producer ids by the broker's filter.
"""

from bisect import bisect_left
from collections.abc import Mapping
from math import ceil

import numpy as np

from loadgen.quota_trials.candidates import (
    CONSUMER_BYTES,
    MUTATIONS,
    PRODUCER_BYTES,
    By,
    Candidate,
    Window,
    charged,
    groups,
    scopes_of,
)
from loadgen.quota_trials.traffic import Integers, Traffic
from quotas.limits import Tags
from quotas.producer_id_cache import ProducerIdQuotaManagerCache

LAYERS, FALSE_POSITIVE_RATE = 4, 0.001
"""The defaults of a broker's filter of producer ids."""
SEED = bytes(16)
"""Of the filter's hashes; a fixed one gives the same result in each run."""
_PRECISION = 1e-6
_RATE_MIN, MUTATION_RATE_MIN = 1e-7, 1e-3
_BROKERS = 1_000_000


def required(traffic: Traffic, key: str, window: Window, by: By) -> Mapping[Tags, float]:
    """Return for each scope that uses a quota the smallest value that never throttles it.

    Byte rates and producer ids are whole numbers. A quota of a broker counts at each broker alone.
    """
    tags = scopes_of(traffic, Candidate(key, 1, window, by))
    names = list(dict.fromkeys(tags))
    scope = np.array([names.index(tag) for tag in tags], np.int64)[traffic.client]
    rows = charged(traffic, key)
    if key == MUTATIONS:
        return {
            names[number]: _mutation_rate(traffic, mine, window)
            for number, mine in groups(rows, scope)
        }
    found: dict[Tags, float] = {}
    for number, mine in groups(rows, scope * _BROKERS + traffic.broker):
        name = names[number // _BROKERS]
        if key in {PRODUCER_BYTES, CONSUMER_BYTES}:
            value = _byte_rate(traffic, mine, window)
        else:
            value = _ids_rate(traffic, mine, window)
        found[name] = max(value, found.get(name, 0))
    return found


def _byte_rate(traffic: Traffic, rows: Integers, window: Window) -> int:
    totals, spans_ms = sampled_rates(traffic.time_ms[rows], traffic.size_bytes[rows], window)
    rates = totals / spans_ms
    # Whole numbers decide between rates that are the same as floats.
    near = np.flatnonzero(rates >= rates.max() * (1 - 1e-12))
    pairs = zip(totals[near].tolist(), spans_ms[near].tolist(), strict=True)
    return max(1, *(-(-int(total) * 1000 // int(span_ms)) for total, span_ms in pairs))


def sampled_rates(times_ms: Integers, sizes: Integers, window: Window) -> tuple[Integers, Integers]:
    """Return the total of `SampledRate` and the time that it spans in ms, after each request.

    It is computed for all requests together, because a day has millions of them. A sample begins
    with the first request after the previous one spanned a window; a sample is dropped when its
    last request is older than all windows.
    """
    window_ms = window.seconds * 1000
    span_ms, bearing_ms = window.count * window_ms, (window.count - 1) * window_ms
    firsts, times = [0], times_ms.tolist()
    while (first := bisect_left(times, times[firsts[-1]] + window_ms)) < len(times):
        firsts.append(first)
    starts = np.array(firsts)
    sample = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(times)))
    last_ms = times_ms[np.append(starts[1:], len(times)) - 1]
    oldest = np.searchsorted(last_ms, times_ms - span_ms, side="right")
    oldest = np.maximum(np.minimum(oldest, sample), sample - window.count)
    sums = np.concatenate([[0], np.cumsum(sizes)])
    elapsed_ms = times_ms - times_ms[starts[oldest]]
    is_short = elapsed_ms < bearing_ms
    spans_ms = np.where(is_short, bearing_ms + elapsed_ms % window_ms, np.maximum(1, elapsed_ms))
    return sums[1:] - sums[starts[oldest]], spans_ms


def _mutation_rate(traffic: Traffic, rows: Integers, window: Window) -> float:
    mutations = traffic.mutations[rows]
    # The last topic of a request may take the bucket below zero.
    last = mutations // np.minimum(traffic.topics[rows], mutations)
    burst_s = window.count * window.seconds
    rate = _smallest_rate(traffic.time_ms[rows], mutations, last, burst_s, 0.0)
    return max(MUTATION_RATE_MIN, rate)


def _ids_rate(traffic: Traffic, rows: Integers, window: Window) -> int:
    new_ms = new_id_times_ms(traffic, rows, window)
    ones = np.ones(len(new_ms), np.int64)
    # A quota of Q refills Q in a window, and its burst is Q - 1.
    rate = _smallest_rate(new_ms, ones, ones, window.seconds, -1.0)
    return max(1, ceil(rate * window.seconds * (1 - 2 * _PRECISION)))


def new_id_times_ms(traffic: Traffic, rows: Integers, window: Window) -> Integers:
    """Return when each of these requests of one user at one broker used a new producer id."""
    cache = ProducerIdQuotaManagerCache(
        window_ms=window.seconds * 1000,
        layer_count=LAYERS,
        false_positive_rate=FALSE_POSITIVE_RATE,
        new_seed=lambda: SEED,
    )
    found: list[int] = []
    known: dict[int, int] = {}
    times_ms, ids = traffic.time_ms[rows].tolist(), traffic.producer_id[rows].tolist()
    for now_ms, producer_id in zip(times_ms, ids, strict=True):
        if now_ms < known.get(producer_id, 0):
            continue
        expiry_ms = cache.next_expiry_ms
        if expiry_ms is not None and expiry_ms <= now_ms:
            cache.expire(now_ms)
        if not cache.contains_and_refresh("", producer_id, now_ms):
            cache.add("", producer_id, now_ms)
            found.append(now_ms)
        known[producer_id] = cache.known_until_ms("")
    return np.array(found, np.int64)


def _smallest_rate(
    times_ms: Integers, costs: Integers, last: Integers, burst_s: float, burst_more: float
) -> float:
    """Return the smallest rate per second whose bucket is never below zero before a charge.

    The burst is `rate * burst_s + burst_more`. A request of `costs` is charged in parts, of which
    the last one is `last`.
    """
    if not len(times_ms):
        return 0.0
    before = np.cumsum(costs) - costs
    seconds = (times_ms - times_ms[0]) / 1000

    def is_enough(rate: float) -> bool:
        line = before - rate * seconds
        excess = line + (costs - last) - np.minimum.accumulate(line)
        return bool(excess.max() <= rate * burst_s + burst_more)

    low, high = _RATE_MIN, 1 / burst_s
    if is_enough(low):
        return low
    while not is_enough(high):
        high *= 2
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return high
