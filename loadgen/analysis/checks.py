"""Checks of a broker's guarantees against the measurements of its clients.

A client knows only that the broker decided between the send and the response. Each bound therefore
measures from the send of the first request to the response of the last one, so that a broker that
keeps its guarantee always passes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from protocol.errors import ErrorCode

Judgement = Literal["passed", "failed", "not checked"]
THIS_RUN = "this run"
"""The scope of the generator's own check, for which no broker is responsible."""
DUPLICATES_CHECK = "duplicate batches are detected"
END_TO_END_CHECK = "exactly once, end to end"
TICK_MS = 100.0
"""How late the producer may report an expired batch."""
MUTE_TOLERANCE_US = 2_000
FLOAT_SLACK = 1e-6
CLOCK_US = 1_000
"""The resolution of a broker's clock, by which it may measure too long a time."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one check of one user, tenant or the whole run."""

    check: str
    scope: str
    verdict: Judgement
    details: str
    """The measured figures."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)


def _judgement(*, has_passed: bool) -> Judgement:
    return "passed" if has_passed else "failed"


def producer_ids(
    user: str,
    node: int,
    quota: float,
    window_s: float,
    ids: int,
    allowed: float | None,
    excess: float | None,
) -> Verdict:
    """Check KIP-936: in any time t a user adds at most Q + t·Q/T new producer ids.

    Args:
        user: the user.
        node: the broker; each one has its own quota.
        quota: Q, ids per window.
        window_s: T, the window in seconds.
        ids: the ids with a successful response.
        allowed: how many were allowed when the last of them succeeded; None without ids.
        excess: by how many the ids were ever more than allowed; None without ids.
    """
    return Verdict(
        "new producer ids: at most Q + t·Q/T",
        f"user {user} at broker {node}",
        _judgement(has_passed=(excess or 0.0) <= FLOAT_SLACK),
        f"{ids} ids, at most {quota if allowed is None else allowed:.1f}"
        f" (Q={quota:g}, T={window_s:g} s)",
    )


def topic_mutations(
    scope: str,
    rate: float,
    burst: float,
    mutations: int,
    allowed: float | None,
    excess: float | None,
    mutations_per_topic_max: int,
) -> Verdict:
    """Check KIP-599: in any time t the broker accepts at most R·t + B mutations.

    Args:
        scope: the users or tenants that share the quota.
        rate: R, mutations per second.
        burst: B, the capacity of the bucket.
        mutations: the accepted mutations.
        allowed: R·t + B at the last response; None without mutations.
        excess: by how many the mutations were ever more than allowed; None without mutations.
        mutations_per_topic_max: the most mutations of one topic, which is accepted as a whole while
            the bucket is not empty.
    """
    has_passed = (excess or 0.0) - mutations_per_topic_max <= FLOAT_SLACK
    return Verdict(
        "topic mutations: at most R·t + B, plus the topic that empties the bucket",
        scope,
        _judgement(has_passed=has_passed),
        f"{mutations} mutations, at most {burst if allowed is None else allowed:.0f}"
        f" + {mutations_per_topic_max} (R={rate:g}/s, B={burst:g})",
    )


def shadow_quota(row: Mapping[str, Any]) -> Verdict:
    """Return what a quota in shadow mode would have done; there is nothing to check.

    `row` is one entry of the broker's shadow report.
    """
    user, client_id, broker = row["user"], row["client_id"], row["broker"]
    names = (("user", user), ("client id", client_id))
    scope = ", ".join(f"{kind} {name}" for kind, name in names if name is not None)
    if broker is not None:
        scope += f" at broker {broker}"
    return Verdict(
        f"shadow quota {row['quota']}: evaluated, not enforced",
        scope.strip(),
        "not checked",
        f"it would have throttled {row['throttled']} requests, for"
        f" {row['throttle_time_total_ms']} ms in total and at most"
        f" {row['throttle_time_max_ms']} ms each;"
        f" held: {row['held']};"
        f" over the quota: {row['over_quota']} {SHADOW_UNITS.get(row['quota'], '')}",
    )


SHADOW_UNITS = {
    "producer_byte_rate": "bytes",
    "consumer_byte_rate": "bytes",
    "request_percentage": "ms",
    "controller_mutation_rate": "partitions",
    "producer_ids_rate": "producer ids",
}
"""The unit of `over_quota` in the broker's shadow report, by quota key."""


def exactly_once(
    tenant: str,
    acknowledged: int,
    missing: int,
    repeated: int,
    *,
    can_repeat: bool,
    can_lose: bool = False,
) -> Verdict:
    """Check that each acknowledged batch is stored exactly once.

    A batch that the client sends again with another producer id or epoch is another batch.
    `can_repeat`: the batches have no producer id, so that the broker cannot detect duplicates; then
    they are stored at least once. `can_lose`: `acks` is 1; a change of leaders may lose them.
    """
    check = (
        "acknowledged batches are stored, " + ("at least" if can_repeat else "exactly") + " once"
    )
    details = f"{acknowledged} acknowledged, {missing} missing, {repeated} stored twice"
    if not acknowledged:
        return Verdict(check, f"tenant {tenant}", "not checked", "no batch was acknowledged")
    if missing and can_lose:
        details += "; with acks=1 a change of leaders may lose batches"
    if missing and can_lose and (can_repeat or not repeated):
        return Verdict(check, f"tenant {tenant}", "not checked", details)
    has_passed = (can_lose or not missing) and (can_repeat or not repeated)
    return Verdict(check, f"tenant {tenant}", _judgement(has_passed=has_passed), details)


def transactions(
    tenant: str,
    committed: int = 0,
    missing: int = 0,
    repeated: int = 0,
    uncommitted: int = 0,
    partial: int = 0,
) -> Verdict:
    """Check that read_committed has each committed transaction once, and no other.

    Args:
        tenant: the tenant.
        committed: events whose commit succeeded.
        missing: those with a record that is not read.
        repeated: events with a record that is read twice.
        uncommitted: events that are read, and whose commit was never requested.
        partial: events without a response to their commit, of which some records are read.
    """
    details = (
        f"{committed} committed, {missing} not complete, {repeated} read twice,"
        f" {uncommitted} not committed and read, {partial} read in part"
    )
    return _end_to_end(tenant, committed, missing + repeated + uncommitted + partial, details)


def consumed_and_produced(
    tenant: str, consumed: int = 0, missing: int = 0, repeated: int = 0, early: int = 0
) -> Verdict:
    """Check that there is one record for each consumed one.

    Args:
        tenant: the tenant.
        consumed: records of the source below the committed offsets.
        missing: those without a record in the topic.
        repeated: those with further records in the topic.
        early: records in the topic whose source is at or above the committed offset.
    """
    details = (
        f"{consumed} consumed, {missing} not produced, {repeated} produced twice,"
        f" {early} produced without their offset"
    )
    return _end_to_end(tenant, consumed, missing + repeated + early, details)


def _end_to_end(tenant: str, count: int, violations: int, details: str) -> Verdict:
    judgement = _judgement(has_passed=not violations) if count or violations else "not checked"
    return Verdict(END_TO_END_CHECK, f"tenant {tenant}", judgement, details)


def duplicates(kind: str, outcomes: Mapping[str, int]) -> Verdict:
    """Check that batches sent again get success with the old offset, or error 46."""
    recognised = sum(outcomes.get(code, 0) for code in ("NONE", "DUPLICATE_SEQUENCE_NUMBER"))
    refused = sum(outcomes.get(error.name, 0) for error in _REFUSALS)
    details = ", ".join(f"{count} x {code}" for code, count in sorted(outcomes.items()))
    if not recognised + refused:
        return Verdict(DUPLICATES_CHECK, kind, "not checked", details or "none")
    return Verdict(DUPLICATES_CHECK, kind, _judgement(has_passed=not refused), details)


_REFUSALS = (
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
)
"""Only these say that the broker does not know the batch; after others the client tries again."""


def throttles(
    tenant: str, throttle_total_ms: int, sent_early: int, responded_early: int, *, obeys: bool
) -> Verdict:
    """Check KIP-219: a throttled client sends nothing, or else gets no response until the end."""
    if obeys:
        return Verdict(
            "throttles: the client sends nothing while it is throttled",
            f"tenant {tenant}",
            _judgement(has_passed=sent_early == 0) if throttle_total_ms else "not checked",
            f"throttled for {throttle_total_ms} ms in total, {sent_early} requests sent too early",
        )
    return Verdict(
        "throttles: the broker sends no response while it throttles",
        f"tenant {tenant}",
        _judgement(has_passed=responded_early == 0) if sent_early else "not checked",
        f"{sent_early} requests sent too early, {responded_early} responses too early",
    )


def delivery_timeout(
    tenant: str, timeout_ms: int, expired: int, latest_ms: float | None
) -> Verdict:
    """Check KIP-91: the producer reports each batch within its delivery timeout."""
    check = f"reported within delivery.timeout.ms={timeout_ms}, plus {TICK_MS:g} ms"
    if latest_ms is None:
        return Verdict(check, f"tenant {tenant}", "not checked", "no batch was completed")
    return Verdict(
        check,
        f"tenant {tenant}",
        _judgement(has_passed=latest_ms <= timeout_ms + TICK_MS),
        f"{expired} expired; the slowest was reported after {latest_ms:.0f} ms",
    )


def lateness(lateness_p99_ms: float | None, limit_ms: float) -> Verdict:
    """Check the generator itself: a generator that is late gives no reliable latencies."""
    check = f"load generator: p99 of its lateness at most {limit_ms:g} ms"
    if lateness_p99_ms is None:
        return Verdict(check, THIS_RUN, "not checked", "no event had an intended time")
    return Verdict(
        check,
        THIS_RUN,
        _judgement(has_passed=lateness_p99_ms <= limit_ms),
        f"{lateness_p99_ms:.2f} ms",
    )


def fairness(shares: Iterable[float]) -> float | None:
    """Return Jain's fairness index of the tenants' completed shares: 1 when all are equal."""
    values = list(shares)
    squares = sum(share * share for share in values)
    return None if not squares else sum(values) ** 2 / (len(values) * squares)


def bucket_levels(
    rate: float, burst: float, charges: Sequence[tuple[int, float]], start_us: int, end_us: int
) -> list[tuple[int, float]]:
    """Return the level of a token bucket over time, as points (time in µs, tokens) of a line.

    Args:
        rate: tokens per second that are added.
        burst: the capacity; the bucket starts full.
        charges: time in µs and tokens of each charge, sorted.
        start_us: the start of the line.
        end_us: the end of the line, unless a charge is later.
    """
    corners = [(start_us, burst)]
    for time_us, tokens in [*charges, (end_us, 0.0)]:
        last_us, level = corners[-1]
        full_us = last_us + round((burst - level) / rate * 1e6)
        if last_us < full_us < time_us:
            corners.append((full_us, burst))
        level = min(burst, level + rate * max(0, time_us - last_us) / 1e6)
        corners += [(max(time_us, last_us), level), (max(time_us, last_us), level - tokens)]
    return corners
