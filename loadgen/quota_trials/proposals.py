"""Propose a value and a window for each quota, and try it beside others."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, log10

from loadgen.command_error import CommandError
from loadgen.quota_trials.candidates import (
    CONSUMER_BYTES,
    KEYS,
    MUTATIONS,
    PRODUCER_BYTES,
    WINDOWS,
    By,
    Candidate,
    Window,
    charged,
    scopes_of,
)
from loadgen.quota_trials.replay import Refused, replay
from loadgen.quota_trials.requirements import required
from loadgen.quota_trials.traffic import Traffic
from quotas.limits import Tags

BYTE_KEYS = (PRODUCER_BYTES, CONSUMER_BYTES)
"""They share the window of a broker."""
TIGHTER = 0.5
WINDOWS_MIN = 3
"""How many windows the traffic must last for a window to be tried; the default is always tried."""
_DIGITS = 2


class ProtectionError(CommandError):
    """A tenant that must never be throttled is not in the traffic; the message is one line."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What one candidate would do."""

    candidate: Candidate
    label: str
    """Why it was tried: `proposed`, `other window`, `half of it` or `--try`."""
    refused: Sequence[Refused]

    def refused_of(self, scopes: Collection[Tags]) -> list[Refused]:
        """Return what it would do to these scopes."""
        return [one for one in self.refused if one.scope in scopes]


@dataclass(slots=True)
class KeyResult:
    """The proposal for one quota key, and the candidates that were tried."""

    key: str
    requests: int
    """How many requests the quota charges."""
    by: By
    protected: frozenset[Tags]
    """The scopes of the tenants that must never be throttled."""
    required: Mapping[Window, Mapping[Tags, float]] = field(default_factory=dict)
    """By window, the smallest value that never throttles each scope."""
    proposal: Candidate | None = None
    """None if no protected tenant uses the quota."""
    trials: list[Trial] = field(default_factory=list)

    @property
    def required_by_protected(self) -> float:
        """The smallest value of the proposed window that never throttles a protected tenant."""
        assert self.proposal is not None
        values = self.required[self.proposal.window]
        return max(value for scope, value in values.items() if scope in self.protected)


def protected_clients(
    traffic: Traffic, names: Sequence[str], tenants: Mapping[str, tuple[str, str]]
) -> list[int]:
    """Return the numbers of the clients that must never be throttled; all of them without names.

    A name is that of a tenant of a plan, a user, or a client id.

    Raises:
        ProtectionError: a name is none of these.
    """
    if not names:
        return list(range(len(traffic.clients)))
    found: list[int] = []
    for name in names:
        matching = [
            number
            for number, client in enumerate(traffic.clients)
            if name in client or tenants.get(name) == client
        ]
        if not matching:
            known = sorted(
                {*tenants, *(part for client in traffic.clients for part in client)} - {""}
            )
            raise ProtectionError(
                f"--never-throttle {name}: {traffic.source} has no such tenant, user or client id;"
                f" it has {', '.join(known[:20])}{', ...' if len(known) > 20 else ''}"
            )
        found += matching
    return found


def propose(
    traffic: Traffic, protected: Collection[int], by: By, headroom: float
) -> dict[str, KeyResult]:
    """Return the result of each key that the traffic uses, without trials.

    `headroom` is a share: 0.2 proposes 20 % more than the protected tenants require.
    """
    results: dict[str, KeyResult] = {}
    proposals: dict[str, dict[Window, Candidate]] = {}
    for key in KEYS:
        rows = charged(traffic, key)
        if not len(rows):
            continue
        tags = scopes_of(traffic, Candidate(key, 1, WINDOWS[key][0], by))
        result = KeyResult(key, len(rows), by, frozenset(tags[number] for number in protected))
        default, *others = WINDOWS[key]
        windows = [default, *(one for one in others if is_covered(one, traffic))]
        result.required = {window: required(traffic, key, window, by) for window in windows}
        results[key] = result
        proposals[key] = {
            window: Candidate(key, _rounded_up(key, most * (1 + headroom)), window, by)
            for window, values in result.required.items()
            if (most := max((v for s, v in values.items() if s in result.protected), default=0))
        }
    for keys in (BYTE_KEYS, *((key,) for key in KEYS if key not in BYTE_KEYS)):
        used = [key for key in keys if proposals.get(key)]
        if used:
            window = _best_window([proposals[key] for key in used])
            for key in used:
                results[key].proposal = proposals[key][window]
    for key, result in results.items():
        alternatives = [one for one in proposals[key].values() if one != result.proposal]
        _try_all(traffic, result, alternatives)
    return results


def is_covered(window: Window, traffic: Traffic) -> bool:
    """Return whether the traffic is long enough to say what a window needs."""
    return WINDOWS_MIN * window.count * window.seconds * 1000 <= traffic.span_ms


def try_candidate(traffic: Traffic, result: KeyResult, candidate: Candidate, label: str) -> Trial:
    """Replay a candidate and add the trial to the result of its key.

    Raises:
        ValueError: the value of the candidate is invalid.
    """
    values = result.required.get(candidate.window)
    if values is None:
        values = required(traffic, candidate.key, candidate.window, candidate.by)
    trial = Trial(candidate, label, replay(traffic, candidate, values))
    result.trials.append(trial)
    return trial


def _try_all(traffic: Traffic, result: KeyResult, others: Sequence[Candidate]) -> None:
    proposal = result.proposal
    if proposal is None:
        return
    try_candidate(traffic, result, proposal, "proposed")
    half = _rounded_up(result.key, proposal.value * TIGHTER)
    if half < proposal.value:
        candidate = Candidate(result.key, half, proposal.window, result.by)
        try_candidate(traffic, result, candidate, "half of it")
    for other in others:
        try_candidate(traffic, result, other, "other window")


def _best_window(proposals: Sequence[Mapping[Window, Candidate]]) -> Window:
    """Return the window with which one client can do the least in a minute, or day.

    With several keys each one counts in relation to its own best window. A tie is the first one's.
    """
    least = [min(one.admitted for one in of_key.values()) for of_key in proposals]

    def cost(window: Window) -> float:
        pairs = zip(proposals, least, strict=True)
        return sum(of_key[window].admitted / minimum for of_key, minimum in pairs)

    return min(proposals[0], key=cost)


def _rounded_up(key: str, value: float) -> float:
    """Round up to two digits; only topic mutations may be a fraction."""
    unit = 10.0 ** (floor(log10(value)) - _DIGITS + 1)
    if key != MUTATIONS:
        unit = max(1.0, unit)
    rounded = ceil(round(value / unit, 6)) * unit
    return float(f"{rounded:.12g}")
