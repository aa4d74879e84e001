"""The figures of a load so far: sums of what each batch of rows adds.

Memory is bounded by tenants, kinds of requests, bins of latency and the seconds that are shown; it
depends neither on the number of requests nor on that of events.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import floor
from typing import Any

from loadgen.analysis.checks import Verdict
from loadgen.analysis.event_figures import PERCENTILES
from loadgen.analysis.latencies import Latencies, bin_of
from loadgen.analysis.quota_bounds import quota_verdicts
from loadgen.analysis.transactions import TRANSACTION_QUERIES, transaction_verdicts
from loadgen.analysis.verdicts import (
    error_label,
    lateness_verdict,
    request_verdicts,
    stored_verdicts,
)
from loadgen.expected_answers import NO_ERRORS
from loadgen.live.quota_bounds import NO_BOUNDS, QuotaBounds
from loadgen.plan.plan import Plan
from loadgen.plan.run_spec import PreparedTarget

Rows = list[dict[str, Any]]

SHOWN_S = 300
"""The series have the newest seconds."""
SERIES_PERCENTILES = (0.5, 0.9, 0.99)
AFTER_THE_RUN = "known when the topics are read back, after the run"
TOO_MANY = "too many rows to judge during the run; the summary will"
_CELLS_PER_S = 100
Key = tuple[str, str, str, str, int | None]
"""Tenant, API, status, kind and error code."""


@dataclass(slots=True)
class Batch:
    """What the queries of `loadgen.live.queries` find in a batch of rows."""

    requests: Rows = field(default_factory=list)
    lateness: Rows = field(default_factory=list)
    latencies: Rows = field(default_factory=list)
    quota_rows: Rows = field(default_factory=list)


@dataclass(slots=True)
class _Throttles:
    throttled: int = 0
    throttle_total_ms: int = 0
    throttle_max_ms: int = 0
    sent_early: int = 0
    early_max_us: int = 0
    responded_early: int = 0


@dataclass(slots=True)
class _Second:
    requests: int = 0
    responded: int = 0
    errors: int = 0
    throttled: int = 0
    throttle_max_ms: int = 0


@dataclass(slots=True)
class _Events:
    """Events of one tenant."""

    completed: int = 0
    response_max_us: int | None = None
    expired: int = 0
    latest_us: int | None = None
    latencies: Latencies = field(default_factory=Latencies)
    unfinished: Counter[float] = field(default_factory=Counter)
    """The events that did not complete, by their intended time in seconds, in cells of 10 ms."""
    by_second: defaultdict[int, Latencies] = field(default_factory=lambda: defaultdict(Latencies))
    """Latencies of completed events, for the seconds that are shown."""
    percentiles_us: dict[int, list[float] | None] = field(default_factory=dict)
    """Those of the seconds that have not changed since they were computed."""

    def take(self, row: Mapping[str, Any]) -> None:
        """Add events, or take them away where they are no longer."""
        self.expired += row["expired"]
        self.latest_us = _largest(self.latest_us, row["latest_us"])
        second = int(row["second"])
        if second < 0:  # the warm-up
            return
        if row["bin"] is None:
            self._add_unfinished((row["unfinished_cell"] + 0.5) / _CELLS_PER_S, row["events"])
            return
        self.completed += row["events"]
        self.response_max_us = _largest(self.response_max_us, row["response_max_us"])
        self.latencies.add(row["bin"], row["events"])
        self.by_second[second].add(row["bin"], row["events"])
        self.percentiles_us.pop(second, None)

    def _add_unfinished(self, at_s: float, count: int) -> None:
        self.unfinished[at_s] += count
        if not self.unfinished[at_s]:
            del self.unfinished[at_s]

    def percentiles_of_us(self, second: int) -> list[float] | None:
        """Return the percentiles of the completed events of a second."""
        if second not in self.percentiles_us:
            found = self.by_second[second].percentiles_us(SERIES_PERCENTILES)
            self.percentiles_us[second] = found
        return self.percentiles_us[second]

    def forget_before(self, oldest_s: int) -> None:
        """Keep less of the seconds that are shown no longer."""
        for second in [second for second in self.by_second if second < oldest_s]:
            del self.by_second[second]
            self.percentiles_us.pop(second, None)
        # After five minutes the error of a second is one of 0.2 %.
        fine = [at_s for at_s in self.unfinished if at_s < oldest_s and at_s % 1 != 0.5]
        for at_s in fine:
            self._add_unfinished(floor(at_s) + 0.5, self.unfinished.pop(at_s))


class LiveFigures:
    """Adds batches up, and describes the run so far."""

    def __init__(self, plan: Plan, target: PreparedTarget) -> None:
        """Begin without rows."""
        self._plan, self._target = plan, target
        self._requests: Counter[Key] = Counter()
        self._throttles: defaultdict[str, _Throttles] = defaultdict(_Throttles)
        self._seconds: defaultdict[tuple[int, str], _Second] = defaultdict(_Second)
        self._totals: Counter[str] = Counter()
        self._measured_responded = 0
        self._events: defaultdict[str, _Events] = defaultdict(_Events)
        self._lateness = Latencies()
        self._read_us: dict[int, int] = {}
        self._bounds = QuotaBounds(plan, target)
        self._end_us = 0
        self._ended_us: int | None = None

    @property
    def newest_us(self) -> int:
        """The newest time in the rows so far."""
        return self._end_us

    @property
    def read_us(self) -> int:
        """The time until which the rows of all workers have been read."""
        return min(self._read_us.values(), default=0)

    def end(self, ended_us: int | None) -> None:
        """Note that all rows have been read; `ended_us` is when the last worker ended, if known."""
        self._ended_us = ended_us

    def take(self, batch: Batch) -> None:
        """Add what the queries found in a batch."""
        for row in batch.requests:
            self._take_requests(row)
        for row in batch.lateness:
            if row["read_us"] is not None:
                worker = row["worker"]
                self._read_us[worker] = max(self._read_us.get(worker, 0), row["read_us"])
            if row["bin"] is not None:
                self._lateness.add(row["bin"], row["events"])
        for row in batch.latencies:
            self._events[row["tenant"]].take(row)
        self._bounds.take(batch.quota_rows)
        self._forget_seconds()

    def _take_requests(self, row: Mapping[str, Any]) -> None:
        tenant, status, code = row["tenant"], row["status"], row["error_code"]
        count = row["requests"]
        self._requests[tenant, row["api"], status, row["kind"], code] += count
        throttles = self._throttles[tenant]
        for name in ("throttled", "throttle_total_ms", "sent_early", "responded_early"):
            setattr(throttles, name, getattr(throttles, name) + (row[name] or 0))
        for name in ("throttle_max_ms", "early_max_us"):
            setattr(throttles, name, max(getattr(throttles, name), row[name] or 0))
        is_responded = status == "responded"
        errors = count if is_responded and code not in NO_ERRORS else 0
        self._totals[status] += count
        self._totals["errors"] += errors
        self._totals["throttled"] += row["throttled"]
        self._end_us = max(self._end_us, row["end_us"] or 0)
        if row["second"] is None:
            return
        second = int(row["second"])
        self._totals["requests"] += count
        if is_responded and 0 <= second < self._plan.duration_s:
            self._measured_responded += count
        shown = self._seconds[second, tenant]
        shown.requests += count
        shown.responded += count if is_responded else 0
        shown.errors += errors
        shown.throttled += row["throttled"]
        shown.throttle_max_ms = max(shown.throttle_max_ms, row["throttle_max_ms"] or 0)

    def _forget_seconds(self) -> None:
        oldest = self._oldest_s
        for key in [key for key in self._seconds if key[0] < oldest]:
            del self._seconds[key]
        for events in self._events.values():
            events.forget_before(oldest)

    @property
    def _oldest_s(self) -> int:
        """The first second that is shown."""
        return self._end_us // 1_000_000 - SHOWN_S

    @property
    def _until_us(self) -> int:
        """The time until which events that did not complete count."""
        return max(self._end_us, self._measured_us)

    @property
    def _measured_us(self) -> int:
        """How much of the measured part has been read."""
        until_us = self.read_us if self._ended_us is None else self._ended_us
        return max(0, min(until_us, round(self._plan.duration_s * 1e6)))

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values, with the names that `summary.json` has for them."""
        measured_s = self._measured_us / 1e6
        statuses = ("responded", "no_response", "lost", "not_sent", "expired")
        counted = ("requests", *statuses, "errors", "throttled")
        return {
            "read_s": self.read_us / 1e6,
            "measured_s": measured_s,
            "responses_per_s": round(self._measured_responded / measured_s, 1) if measured_s else 0,
            "totals": {name: self._totals[name] for name in counted},
            "tenants": self._tenants(),
            "requests": self._request_rows(),
            "throttles": [row for row in self._throttle_rows() if row["throttled"]],
            "lateness_us": self._lateness.percentiles_us((0.5, 0.99)),
            "verdicts": [
                {**verdict.as_dict(), "is_provisional": True} for verdict in self._verdicts()
            ],
            "series": {"seconds": self._second_rows(), "latencies": self._latency_rows()},
        }

    def _tenants(self) -> Rows:
        end_us = self._until_us
        newest = max((second for second, _ in self._seconds), default=0)
        found = []
        for tenant in self._plan.tenants:
            events = self._events.get(tenant.name, _Events())
            late_us = {end_us - at_s * 1e6: count for at_s, count in events.unfinished.items()}
            unfinished = Latencies((bin_of(late), count) for late, count in late_us.items())
            latencies = events.latencies + unfinished
            longest_us = _largest(events.response_max_us, *map(round, late_us))
            # The newest second is not complete.
            last = self._seconds.get((newest - 1, tenant.name), _Second())
            found.append(
                {
                    "tenant": tenant.name,
                    "events": latencies.counts.total(),
                    "completed": events.completed,
                    "response_us": latencies.percentiles_us(PERCENTILES, longest_us),
                    "response_max_us": longest_us,
                    "requests_per_s": last.requests,
                    "responses_per_s": last.responded,
                }
            )
        return sorted(found, key=lambda row: str(row["tenant"]))

    def _request_rows(self) -> Rows:
        return [
            {
                "tenant": tenant,
                "api": api,
                "status": status,
                "kind": kind,
                "error": error_label(code),
                "requests": count,
            }
            for (tenant, api, status, kind, code), count in sorted(
                self._requests.items(), key=lambda item: tuple(map(str, item[0]))
            )
        ]

    def _throttle_rows(self) -> Rows:
        return [
            {
                "tenant": tenant,
                "throttled": row.throttled,
                "throttle_total_ms": row.throttle_total_ms,
                "throttle_max_ms": row.throttle_max_ms,
                "sent_early": row.sent_early,
                "early_max_us": row.early_max_us,
                "responded_early": row.responded_early,
            }
            for tenant, row in sorted(self._throttles.items())
        ]

    def _second_rows(self) -> Rows:
        return [
            {
                "second": second,
                "tenant": tenant,
                "requests": row.requests,
                "responded": row.responded,
                "errors": row.errors,
                "throttled": row.throttled,
                "throttle_max_ms": row.throttle_max_ms,
            }
            for (second, tenant), row in sorted(self._seconds.items())
        ]

    def _latency_rows(self) -> Rows:
        found: dict[tuple[int, str], list[float] | None] = {}
        end_us, oldest = self._until_us, self._oldest_s
        for tenant, events in self._events.items():
            unfinished: defaultdict[int, Latencies] = defaultdict(Latencies)
            for at_s, count in events.unfinished.items():
                if at_s >= oldest:
                    unfinished[floor(at_s)].add(bin_of(end_us - at_s * 1e6), count)
            for second in events.by_second.keys() - unfinished.keys():
                found[second, tenant] = events.percentiles_of_us(second)
            for second, waiting in unfinished.items():
                latencies = waiting + events.by_second.get(second, Latencies())
                found[second, tenant] = latencies.percentiles_us(SERIES_PERCENTILES)
        return [
            {"second": second, "tenant": tenant, "response_us": percentiles_us}
            for (second, tenant), percentiles_us in sorted(found.items())
        ]

    def _verdicts(self) -> list[Verdict]:
        bounds = self._bounds.rows()
        duplicates = [
            {"kind": kind, "error_code": code, "requests": count}
            for (_, api, _, kind, code), count in self._requests.items()
            if kind != "new" and api == "Produce"
        ]
        expiries = []
        for tenant in self._plan.tenants:
            if tenant.name in self._events:
                events = self._events[tenant.name]
                row = {"expired": events.expired, "latest_us": events.latest_us}
                expiries.append({"tenant": tenant.name, **row})
        found = {
            "throttles": self._throttle_rows(),
            "duplicates": sorted(duplicates, key=lambda row: str(row["kind"])),
            "expiries": expiries,
            **(bounds or NO_BOUNDS),
        }
        plan = self._plan
        verdicts = request_verdicts(plan, self._target, found)
        if bounds is None:
            unknown = quota_verdicts(plan, self._target, NO_BOUNDS)
            verdicts = [_later(row, TOO_MANY) if row in unknown else row for row in verdicts]
        if plan.read_back and plan.topics:
            after = [
                *stored_verdicts(plan, {"batches": []}),
                *transaction_verdicts(plan, {name: [] for name in TRANSACTION_QUERIES}),
            ]
            verdicts += [_later(verdict, AFTER_THE_RUN) for verdict in after]
        return [*verdicts, lateness_verdict(plan, self._lateness.percentiles_us((0.5, 0.99)))]


def _later(verdict: Verdict, reason: str) -> Verdict:
    return replace(verdict, verdict="not checked", details=reason)


def _largest(*values: int | None) -> int | None:
    return max((value for value in values if value is not None), default=None)
