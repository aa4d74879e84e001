"""Replay traffic on a moved clock through the managers that a broker charges its requests with.

The rules are those of quotas in shadow mode (ADR 19): a request that arrives while its connection
would be muted is held. If it is over the quota too, it is not charged, because under the enforced
quota the client would send it later.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from loadgen.quota_trials.candidates import (
    CONSUMER_BYTES,
    IDS,
    MUTATIONS,
    PRODUCER_BYTES,
    Candidate,
    charged,
    scopes_of,
)
from loadgen.quota_trials.requirements import FALSE_POSITIVE_RATE, LAYERS, SEED
from loadgen.quota_trials.traffic import Integers, Traffic
from quotas.client_rate import FETCH, PRODUCE, ClientRateQuotaManager
from quotas.controller_mutation import ControllerMutationQuotaManager
from quotas.limits import Tags
from quotas.producer_ids import ProducerIdQuotaManager
from quotas.shadow import ShadowCounter, ShadowEvent

MUTED_MAX = 2000
"""The number of muted times of a scope; times that are close become one if there are more."""


@dataclass(slots=True)
class Refused:
    """What a candidate would do to one scope."""

    scope: Tags
    counter: ShadowCounter
    """The counts of the broker's shadow report, at all brokers together."""
    last_ms: int = 0
    muted_ms: list[tuple[int, int]] = field(default_factory=list)
    """When a connection would have been muted, from and until."""
    gap_ms: int = 0
    """Times that are at most so far apart are one in `muted_ms`."""

    def mute(self, from_ms: int, until_ms: int) -> None:
        """Add a time; they come in the order of their beginnings."""
        _add(self.muted_ms, from_ms, until_ms, self.gap_ms)
        while len(self.muted_ms) > MUTED_MAX:
            self.gap_ms = 2 * self.gap_ms or 1
            merged: list[tuple[int, int]] = []
            for times in self.muted_ms:
                _add(merged, *times, self.gap_ms)
            self.muted_ms = merged


def _add(muted_ms: list[tuple[int, int]], from_ms: int, until_ms: int, gap_ms: int) -> None:
    if muted_ms and from_ms <= muted_ms[-1][1] + gap_ms:
        first_ms, last_ms = muted_ms[-1]
        muted_ms[-1] = first_ms, max(last_ms, until_ms)
    else:
        muted_ms.append((from_ms, until_ms))


class _Row(NamedTuple):
    """What a quota would do to one request."""

    client: int
    now_ms: int
    connection: int
    throttle_ms: int
    amount: int
    """What is over the quota, in its unit; a producer id for new ids."""


_Throttled = Generator[_Row, bool, None]
"""Yields the requests over the quota; gets whether the connection would be muted at that time."""


def replay(
    traffic: Traffic, candidate: Candidate, required_values: Mapping[Tags, float]
) -> list[Refused]:
    """Return what the candidate would do to each scope that it would throttle.

    Scopes whose required value is not above the candidate's are never throttled, and are skipped.

    Raises:
        ValueError: the value of the candidate is invalid.
    """
    tags = scopes_of(traffic, candidate)
    over = {tag for tag, value in required_values.items() if value > candidate.value}
    is_over = np.array([tag in over for tag in tags], np.bool_)
    rows = charged(traffic, candidate.key)
    rows = rows[is_over[traffic.client[rows]]]
    throttled = _CHARGES[candidate.key](traffic, candidate, rows)
    found: dict[Tags, Refused] = {}
    muted_until_ms: dict[int, int] = {}
    row = next(throttled, None)
    while row is not None:
        now_ms = row.now_ms
        scope = tags[row.client]
        refused = found.get(scope)
        if refused is None:
            found[scope] = refused = Refused(scope, ShadowCounter(now_ms))
        refused.last_ms = now_ms
        is_held = now_ms < muted_until_ms.get(row.connection, 0)
        if is_held:
            refused.counter.held += 1
        else:
            event = ShadowEvent(now_ms, row.throttle_ms, *traffic.clients[row.client])
            refused.counter.throttle(event)
            muted_until_ms[row.connection] = now_ms + row.throttle_ms
            refused.mute(now_ms, now_ms + row.throttle_ms)
        if candidate.key == IDS:
            refused.counter.exceed_with_id(row.amount)
        elif is_held or candidate.key != PRODUCER_BYTES:
            refused.counter.exceed(row.amount)
        row = _after(throttled, is_held=is_held)
    return sorted(found.values(), key=lambda one: -one.counter.throttle_time_total_ms)


def _after(throttled: _Throttled, *, is_held: bool) -> _Row | None:
    try:
        return throttled.send(is_held)
    except StopIteration:
        return None


def _bytes(traffic: Traffic, candidate: Candidate, rows: Integers) -> _Throttled:
    limits, window = candidate.limits().limits[candidate.key], candidate.window
    is_fetch = candidate.key == CONSUMER_BYTES
    kind = FETCH if is_fetch else PRODUCE
    managers = {
        broker: ClientRateQuotaManager(limits, kind, window.count, window.seconds)
        for broker in np.unique(traffic.broker[rows]).tolist()
    }
    names = _names(traffic)
    for client, now_ms, connection, broker, size_bytes in zip(
        *_columns(rows, traffic.client, traffic.time_ms, traffic.connection, traffic.broker),
        *_columns(rows, traffic.size_bytes),
        strict=True,
    ):
        user, client_id = names[client]
        throttle_ms = managers[broker].record(user, client_id, size_bytes, now_ms)
        if throttle_ms:
            is_held = yield _Row(client, now_ms, connection, throttle_ms, size_bytes)
            # A throttled Fetch is empty and costs nothing.
            if is_fetch or is_held:
                managers[broker].unrecord(user, client_id, size_bytes, now_ms)


def _ids(traffic: Traffic, candidate: Candidate, rows: Integers) -> _Throttled:
    limits = candidate.limits().limits[candidate.key]
    managers = {
        broker: ProducerIdQuotaManager(
            limits,
            sample_count=1,
            window_seconds=candidate.window.seconds,
            layer_count=LAYERS,
            false_positive_rate=FALSE_POSITIVE_RATE,
            new_seed=lambda: SEED,
        )
        for broker in np.unique(traffic.broker[rows]).tolist()
    }
    names = _names(traffic)
    known: dict[tuple[int, int], tuple[int, int]] = {}
    for client, now_ms, connection, broker, producer_id in zip(
        *_columns(rows, traffic.client, traffic.time_ms, traffic.connection, traffic.broker),
        *_columns(rows, traffic.producer_id),
        strict=True,
    ):
        # As a broker does, skip an id that the connection has just used.
        known_id, until_ms = known.get((connection, broker), (-1, 0))
        if known_id == producer_id and now_ms < until_ms:
            continue
        manager = managers[broker]
        expiry_ms = manager.next_expiry_ms
        if expiry_ms is not None and expiry_ms <= now_ms:
            manager.expire(now_ms)
        user = names[client][0]
        throttle_ms = manager.track(user, producer_id, now_ms)
        if throttle_ms:
            yield _Row(client, now_ms, connection, throttle_ms, producer_id)
        else:
            known[connection, broker] = producer_id, manager.known_until_ms(user)


def _mutations(traffic: Traffic, candidate: Candidate, rows: Integers) -> _Throttled:
    window = candidate.window
    limits = candidate.limits().limits[candidate.key]
    manager = ControllerMutationQuotaManager(limits, window.count, window.seconds)
    names = _names(traffic)
    for client, now_ms, connection, mutations, topics in zip(
        *_columns(rows, traffic.client, traffic.time_ms, traffic.connection, traffic.mutations),
        *_columns(rows, np.minimum(traffic.topics, traffic.mutations)),
        strict=True,
    ):
        (user, client_id), (cost, more) = names[client], divmod(mutations, topics)
        for number in range(topics):
            # Topics are charged one by one; after a refused one all others are refused too.
            throttle_ms = manager.try_charge(user, client_id, cost + (number < more), now_ms)
            if throttle_ms:
                refused = (topics - number) * cost + max(0, more - number)
                yield _Row(client, now_ms, connection, throttle_ms, refused)
                break


_CHARGES: Mapping[str, Callable[[Traffic, Candidate, Integers], _Throttled]] = {
    PRODUCER_BYTES: _bytes,
    CONSUMER_BYTES: _bytes,
    MUTATIONS: _mutations,
    IDS: _ids,
}


def _names(traffic: Traffic) -> list[tuple[str, str | None]]:
    return [(user, client_id or None) for user, client_id in traffic.clients]


def _columns(rows: Integers, *columns: Integers) -> list[list[int]]:
    return [column[rows].tolist() for column in columns]
