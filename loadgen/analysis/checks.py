"""What a broker promises, judged by what its clients saw: numbers in, verdicts out.

A client sees a decision somewhere between sending and being answered. Every bound here gives the
broker the benefit of that: time runs from when the first request was sent to when the last one was
answered, so a promise that was kept is never called broken.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Word = Literal["kept", "broken", "not judged"]
THIS_RUN = "this run"
"""What the generator's own punctuality is about; no broker answers for it."""
TICK_MS = 100.0
"""How late a caller may hear of an expired batch."""
MUTE_TOLERANCE_US = 2_000
FLOAT_SLACK = 1e-6
CLOCK_US = 1_000
"""A broker's clock ticks in milliseconds, so a time between two ticks may seem one longer."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One promise about one user, tenant or the whole run."""

    promise: str
    about: str
    verdict: Word
    found: str
    """The figures, in words."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def _word(*, is_kept: bool) -> Word:
    return "kept" if is_kept else "broken"


def ids_activated(
    user: str, node: int, quota: float, window_s: float, times_us: Sequence[int], begin_us: int
) -> Verdict:
    """KIP-936: in any time t a user's unseen ids are at most Q + t·Q/T.

    Args:
        user: whose.
        node: the promise is one broker's.
        quota: Q, ids per window.
        window_s: T.
        times_us: when the first success of each id was answered, in order.
        begin_us: when the first request with an id was sent.
    """
    allowed = [quota + (t - begin_us + CLOCK_US) / 1e6 * quota / window_s for t in times_us]
    excess = max((number - most for number, most in enumerate(allowed, 1)), default=0.0)
    return Verdict(
        "new producer ids: at most Q + t·Q/T",
        f"user {user} at broker {node}",
        _word(is_kept=excess <= FLOAT_SLACK),
        f"{len(times_us)} ids, at most {max(allowed, default=quota):.1f}"
        f" (Q={quota:g}, T={window_s:g} s)",
    )


def mutations_admitted(
    about: str,
    rate: float,
    burst: float,
    admitted: Sequence[tuple[int, int]],
    begin_us: int,
    topic_mutations: int,
) -> Verdict:
    """KIP-599: in any time t the mutations that are admitted are at most R·t + B.

    Args:
        about: whose.
        rate: R, mutations per second.
        burst: B.
        admitted: when each request was answered, and what it changed; in order.
        begin_us: when the first one was sent.
        topic_mutations: the most that one topic costs: it passes whole when the bucket isn't empty.
    """
    total, excess, allowed = 0, 0.0, burst
    for response_us, mutations in admitted:
        total += mutations
        allowed = rate * (response_us - begin_us + CLOCK_US) / 1e6 + burst
        excess = max(excess, total - topic_mutations - allowed)
    return Verdict(
        "topic mutations: at most R·t + B, and the topic that empties the bucket",
        about,
        _word(is_kept=excess <= FLOAT_SLACK),
        f"{total} mutations, at most {allowed:.0f} + {topic_mutations} (R={rate:g}/s, B={burst:g})",
    )


def shadow_quota(row: Mapping[str, Any]) -> Verdict:
    """What a quota in shadow mode would have done; nothing is promised by it.

    `row` is one entry of the broker's shadow report.
    """
    user, client_id, broker = row["user"], row["client_id"], row["broker"]
    words = (("user", user), ("client id", client_id))
    about = ", ".join(f"{kind} {name}" for kind, name in words if name is not None)
    if broker is not None:
        about += f" at broker {broker}"
    return Verdict(
        f"shadow quota {row['quota']}: evaluated, not enforced",
        about.strip(),
        "not judged",
        f"requests it would have throttled: {row['throttled']}, for"
        f" {row['throttle_time_total_ms']} ms in all and {row['throttle_time_max_ms']} ms at most;"
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
"""What `over_quota` of the broker's shadow report counts, by quota key."""


def exactly_once(
    tenant: str, acknowledged: int, missing: int, repeated: int, *, can_repeat: bool
) -> Verdict:
    """What was acknowledged is there, and once.

    `can_repeat`: the tenant's behaviour sends a batch again under another id, which no broker can
    recognise.
    """
    promise = "acknowledged batches are there, " + ("at least once" if can_repeat else "once")
    found = f"{acknowledged} acknowledged, {missing} missing, {repeated} stored twice"
    if not acknowledged:
        return Verdict(promise, f"tenant {tenant}", "not judged", "nothing was acknowledged")
    is_kept = missing == 0 and (can_repeat or repeated == 0)
    return Verdict(promise, f"tenant {tenant}", _word(is_kept=is_kept), found)


def duplicates(kind: str, outcomes: Mapping[str, int]) -> Verdict:
    """Batches that are sent again are recognised: success with the old offset, or error 46."""
    recognised = sum(outcomes.get(code, 0) for code in ("NONE", "DUPLICATE_SEQUENCE_NUMBER"))
    others = {code: count for code, count in outcomes.items() if count and code not in _RECOGNISED}
    refused = sum(count for code, count in others.items() if code not in _LATER)
    told = ", ".join(f"{count} x {code}" for code, count in sorted(outcomes.items()))
    if not recognised + refused:
        return Verdict("batches sent again are recognised", kind, "not judged", told or "none")
    return Verdict("batches sent again are recognised", kind, _word(is_kept=not refused), told)


_RECOGNISED = {"NONE", "DUPLICATE_SEQUENCE_NUMBER"}
_LATER = {"no response", "THROTTLING_QUOTA_EXCEEDED", "NOT_LEADER_OR_FOLLOWER"}
"""These say nothing about the sequence: the client comes again."""


def throttles(
    tenant: str, asked_ms: int, early: int, responded_early: int, *, obeys: bool
) -> Verdict:
    """KIP-219: who obeys sends nothing meanwhile; who does not is not answered meanwhile."""
    if obeys:
        return Verdict(
            "throttled: the client keeps quiet as long as it was asked to",
            f"tenant {tenant}",
            _word(is_kept=early == 0) if asked_ms else "not judged",
            f"asked for {asked_ms} ms in all, {early} requests sent too early",
        )
    return Verdict(
        "throttled: the broker stays mute as long as it said",
        f"tenant {tenant}",
        _word(is_kept=responded_early == 0) if early else "not judged",
        f"{early} requests sent too early, {responded_early} of them answered too early",
    )


def deliveries(tenant: str, timeout_ms: int, expired: int, latest_ms: float | None) -> Verdict:
    """KIP-91: the caller hears of each batch within its time."""
    promise = f"told within delivery.timeout.ms={timeout_ms}, to a tick of {TICK_MS:g} ms"
    if latest_ms is None:
        return Verdict(promise, f"tenant {tenant}", "not judged", "no batch was decided")
    return Verdict(
        promise,
        f"tenant {tenant}",
        _word(is_kept=latest_ms <= timeout_ms + TICK_MS),
        f"{expired} expired; the latest word came after {latest_ms:.0f} ms",
    )


def punctuality(lateness_p99_ms: float | None, limit_ms: float) -> Verdict:
    """The generator's own: a run that was late itself is no evidence."""
    promise = f"the load generator itself: p99 of its lateness at most {limit_ms:g} ms"
    if lateness_p99_ms is None:
        return Verdict(promise, THIS_RUN, "not judged", "no event had a time of its own")
    return Verdict(
        promise,
        THIS_RUN,
        _word(is_kept=lateness_p99_ms <= limit_ms),
        f"{lateness_p99_ms:.2f} ms",
    )


def fairness(shares: Iterable[float]) -> float | None:
    """Jain's index of what each tenant got of what it asked for: 1 when all got the same share."""
    found = list(shares)
    squares = sum(share * share for share in found)
    return None if not squares else sum(found) ** 2 / (len(found) * squares)


def bucket_levels(
    rate: float, burst: float, charges: Sequence[tuple[int, float]], begin_us: int, end_us: int
) -> list[tuple[int, float]]:
    """A token bucket that begins full, as the corners of a line: (time in µs, tokens).

    Args:
        rate: tokens per second that come back.
        burst: how many it holds.
        charges: time in µs and tokens of each, in order.
        begin_us: where the line begins.
        end_us: where it ends, unless a charge is later.
    """
    corners = [(begin_us, burst)]
    for time_us, tokens in [*charges, (end_us, 0.0)]:
        last_us, level = corners[-1]
        full_us = last_us + round((burst - level) / rate * 1e6)
        if last_us < full_us < time_us:
            corners.append((full_us, burst))
        level = min(burst, level + rate * max(0, time_us - last_us) / 1e6)
        corners += [(max(time_us, last_us), level), (max(time_us, last_us), level - tokens)]
    return corners
