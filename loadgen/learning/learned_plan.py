"""Put tenants together to a plan file, and measure how well its schedule fits the trace."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml

from loadgen.clients.produce_frames import record_batch
from loadgen.learning.arrivals import arrivals_of, span_us
from loadgen.learning.distances import Values, ks_distance, resolution_us, rounded
from loadgen.learning.tenant_fit import TenantFit, fit_of
from loadgen.learning.tenant_names import free_name
from loadgen.learning.traffic import Numbers, Traffic, streams_of
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.plan_file import parse_plan
from loadgen.plan.schedule import event_counts, events

EVENTS_MIN = 10
DIMENSIONS = ("gaps", "times", "sizes", "producer_ids")
PASSWORD = "${env:LOAD_PASSWORD}"  # noqa: S105 - a reference
_DURATION_MIN_S = 0.001


@dataclass(frozen=True, slots=True)
class Distance:
    """How far a tenant of the plan is from the trace: 0 to 1, by Kolmogorov-Smirnov."""

    tenant: str
    dimension: str
    value: float
    sample: int
    """How many recorded values there are."""


@dataclass(frozen=True, slots=True)
class LearnedPlan:
    """A plan as YAML, its distances from the trace, and the requests that are not in it."""

    text: str
    tenants: int
    distances: list[Distance]
    left_out: dict[str, int]
    """The number of requests by API."""
    needs_password: bool


def learn(traffic: Traffic, name: str, source: str, events_min: int = EVENTS_MIN) -> LearnedPlan:
    """Return the plan of a trace.

    Streams with fewer than `events_min` events are left out. `source` names the trace.

    Raises:
        ValueError: nothing can be learned from it.
    """
    streams = streams_of(traffic)
    fits = [
        fit
        for fit in (fit_of(stream, traffic) for stream in streams if len(stream.rows))
        if fit is not None and len(fit.times_us) >= events_min
    ]
    if not fits:
        raise ValueError(
            f"no client has sent {events_min} requests of a kind that a plan can have"
            " (batches, transactions, polls of a group, changes of topics)"
        )
    ends = np.array([span_us(fit.times_us) for fit in fits])
    zero_us, end_us = int(ends[:, 0].min()), int(ends[:, 1].max())
    names = _names(fits)
    for fit, tenant_name in zip(fits, names, strict=True):
        _complete(fit, tenant_name, zero_us, end_us)
    content: dict[str, Any] = {
        "name": name,
        "duration_s": max(_DURATION_MIN_S, round((end_us - zero_us) / 1e6, 3)),
        "topics": _topics(fits, traffic),
        "tenants": [fit.fields for fit in fits],
    }
    plan = parse_plan(_yaml(content), f"the plan of {source}")
    distances = _distances(plan, fits, zero_us)
    users = {fit.stream.user for fit in fits}
    needs_password = users != {"ANONYMOUS"}
    if needs_password:
        for fit in fits:
            fit.fields |= {"user": fit.stream.user, "password": PASSWORD}
    used = np.zeros(len(traffic), bool)
    for fit in fits:
        used[fit.stream.rows] = True
    numbers, counts = np.unique(traffic.columns["api"][~used], return_counts=True)
    left_out = dict(zip((traffic.texts["api"][n] for n in numbers), counts.tolist(), strict=True))
    return LearnedPlan(
        _header(source, distances) + _yaml(content), len(fits), distances, left_out, needs_password
    )


def _complete(fit: TenantFit, name: str, zero_us: int, end_us: int) -> None:
    """Add name and arrivals to the fields of a tenant."""
    arrivals = arrivals_of(fit.times_us, zero_us, end_us)
    fit.fields = {
        "name": name,
        **({"client_id": fit.stream.client_id} if fit.stream.client_id not in {"", name} else {}),
        "behaviour": fit.fields.pop("behaviour"),
        "arrival": arrivals.arrival,
        "rate": round(arrivals.rate, 4) or 0.0001,
        **{
            key: value
            for key in ("start_s", "stop_s", "burst_every_s")
            if (value := getattr(arrivals, key)) is not None
        },
        **fit.fields,
    }


def _names(fits: Sequence[TenantFit]) -> list[str]:
    """Return a name for each tenant: its client id, and what else distinguishes it."""
    found: list[str] = []
    for fit in fits:
        stream = fit.stream
        words = [stream.client_id or stream.user]
        found.append(free_name(words, stream.topic or stream.kind, found))
    return found


def _topics(fits: Sequence[TenantFit], traffic: Traffic) -> list[dict[str, Any]]:
    """Return the topics of the tenants, with as many partitions as the trace has named."""
    found = []
    for name in sorted({fit.fields["topic"] for fit in fits if "topic" in fit.fields}):
        is_topic = traffic.columns["topic"] == traffic.number_of("topic", name)
        partitions = int(traffic.columns["partition"][is_topic].max()) + 1
        found.append({"name": name, "partitions": max(1, partitions)})
    return found


def _distances(plan: Plan, fits: Sequence[TenantFit], zero_us: int) -> list[Distance]:
    """Compare each tenant's events in the trace with those of the plan's schedule."""
    counts = event_counts(plan)
    first, found = 0, []
    for tenant, fit, count in zip(plan.tenants, fits, counts, strict=True):
        batch = events(plan, np.arange(first, first + count, dtype=np.int64))
        first += count
        planned_us, salts = (batch.column(name).to_numpy() for name in ("t_us", "salt"))
        order = np.argsort(planned_us, kind="stable")
        planned_us, salts = planned_us[order], salts[order]
        unit_us = resolution_us(fit.times_us)
        as_recorded = rounded(planned_us + zero_us, unit_us)
        samples: dict[str, tuple[Values, Values]] = {
            "gaps": (np.diff(fit.times_us), np.diff(as_recorded)),
            "times": (fit.times_us, as_recorded),
            "sizes": (fit.batch_bytes, _planned_sizes(tenant, salts)),
            "producer_ids": (fit.new_ids_us, _planned_ids(tenant, as_recorded, salts)),
        }
        found += [
            Distance(tenant.name, dimension, ks_distance(recorded, planned), len(recorded))
            for dimension, (recorded, planned) in samples.items()
            if len(recorded) and len(planned)
        ]
    return found


def _planned_sizes(tenant: Tenant, salts: Numbers) -> Numbers:
    sizes = [len(record_batch(tenant.records, size, 0)[0]) for size in tenant.record_sizes]
    return np.array(sizes, np.int64).take(salts % len(sizes))


def _planned_ids(tenant: Tenant, times_us: Numbers, salts: Numbers) -> Numbers:
    """Return when the plan uses new producer ids."""
    if tenant.behaviour == "new-producer-per-error":
        is_new = salts % tenant.error_every == 0
        is_new[: tenant.clients] = True
        return times_us.compress(is_new)
    return times_us


def _header(source: str, distances: Sequence[Distance]) -> str:
    lines = [f"# Learned from {source}. Kolmogorov-Smirnov distances, 0 (equal) to 1:"]
    for tenant in dict.fromkeys(distance.tenant for distance in distances):
        values = ", ".join(
            f"{found.dimension} {found.value:.3f}" for found in distances if found.tenant == tenant
        )
        lines.append(f"#   {tenant}: {values}")
    return "\n".join(lines) + "\n"


def _yaml(content: dict[str, Any]) -> str:
    return yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=120)
