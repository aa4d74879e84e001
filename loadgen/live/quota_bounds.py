"""What quotas allow, during the run: the figures of `analysis.quota_bounds` from batches of rows.

Memory is bounded by `ROWS_MAX`. A broker that keeps its promise stays below it, because quotas
limit what counts here.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from loadgen.analysis.checks import CLOCK_US
from loadgen.analysis.quota_bounds import id_quotas, mutation_buckets
from loadgen.plan.plan import Plan
from loadgen.plan.run_spec import PreparedTarget

Rows = list[dict[str, Any]]

NO_BOUNDS: Mapping[str, Rows] = {"id_bounds": [], "mutation_bounds": []}
ROWS_MAX = 200_000
"""New producer ids and times of accepted mutations; 30 MB."""


class QuotaBounds:
    """The first success of each producer id, and the accepted mutations."""

    def __init__(self, plan: Plan, target: PreparedTarget) -> None:
        """Begin without rows."""
        self._quotas = id_quotas(plan, target)
        self._buckets = mutation_buckets(plan, target)
        self._bucket_of = {
            tenant: bucket for bucket, (tenants, *_) in self._buckets.items() for tenant in tenants
        }
        self._ids: defaultdict[tuple[str, int], dict[int, int]] = defaultdict(dict)
        self._ids_start_us: dict[tuple[str, int], int] = {}
        self._mutations: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self._mutations_start_us: dict[str, int] = {}
        self._has_too_many = False

    def take(self, rows: Rows) -> None:
        """Add the rows of `queries.QUOTA_ROWS`."""
        if self._has_too_many:
            return
        for row in rows:
            sent_us, response_us = row["sent_us"], row["response_us"]
            if row["mutations"]:
                bucket = self._bucket_of[row["tenant"]]
                _lower(self._mutations_start_us, bucket, sent_us)
                self._mutations[bucket][response_us] += row["mutations"]
                continue
            user = (row["user"], row["node"])
            _lower(self._ids_start_us, user, sent_us)
            if row["producer_id"] >= 0:
                _lower(self._ids[user], row["producer_id"], response_us)
        parts = (*self._ids.values(), *self._mutations.values())
        if sum(map(len, parts)) > ROWS_MAX:
            self._has_too_many = True
            self._ids.clear()
            self._mutations.clear()

    def rows(self) -> dict[str, Rows] | None:
        """Return what the queries of `analysis.quota_bounds` find; None for too many rows."""
        if self._has_too_many:
            return None
        return {
            "id_bounds": [self._id_row(*user) for user in sorted(self._ids_start_us)],
            "mutation_bounds": [self._mutation_row(bucket) for bucket in sorted(self._mutations)],
        }

    def _id_row(self, user: str, node: int) -> dict[str, Any]:
        quota, window_s = self._quotas[user]
        first_us = np.sort(np.array(list(self._ids[user, node].values()), np.int64))
        since_us = first_us - self._ids_start_us[user, node] + CLOCK_US
        allowed = quota + since_us / 1e6 * quota / window_s
        totals = np.arange(1, len(first_us) + 1)
        return {"user": user, "node": node, "ids": len(first_us), **_compared(totals, allowed)}

    def _mutation_row(self, bucket: str) -> dict[str, Any]:
        _, rate, burst, _ = self._buckets[bucket]
        accepted = sorted(self._mutations[bucket].items())
        times_us, mutations = (np.array(column, np.int64) for column in zip(*accepted, strict=True))
        since_us = times_us - self._mutations_start_us[bucket] + CLOCK_US
        totals = np.cumsum(mutations)
        return {
            "bucket": bucket,
            "mutations": int(totals[-1]),
            **_compared(totals, rate * since_us / 1e6 + burst),
        }


def _lower(found: dict[Any, int], key: object, time_us: int) -> None:
    found[key] = min(found.get(key, time_us), time_us)


def _compared(totals: Any, allowed: Any) -> dict[str, float | None]:
    if not len(totals):
        return {"allowed": None, "excess": None}
    return {"allowed": float(allowed.max()), "excess": float((totals - allowed).max())}
