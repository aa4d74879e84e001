"""The histograms of a run as files of HdrHistogram, one set for each measure."""

import re
from collections.abc import Iterator, Sequence

from loadgen.analysis.hdr_histogram import Interval, distribution_of, log_of
from loadgen.analysis.measures import (
    MEASURES,
    Measured,
    by_period,
    of_measure,
    periods_in,
)
from loadgen.plan.plan import Plan

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def histogram_files(
    measured: Sequence[Measured], plan: Plan, began_epoch_s: float
) -> dict[str, str]:
    """Return the files by name.

    `MEASURE.hlog` has an interval for each period: without a tag those of all tenants together,
    with a tag those of one tenant (and group). `NAME.MEASURE.hgrm` is the distribution of a tenant
    (and group) over the run. Measures that nobody has are left out.

    Args:
        measured: the latencies.
        plan: of the run.
        began_epoch_s: when it began.
    """
    found = {}
    for measure in MEASURES:
        parts = of_measure(measured, measure)
        if parts:
            found[f"{measure}.hlog"] = log_of(_intervals(parts, plan), began_epoch_s)
        for part in parts:
            found[f"{_name(part)}.{measure}.hgrm"] = distribution_of(part.total.by_time())
    return found


def _intervals(parts: Sequence[Measured], plan: Plan) -> Iterator[Interval]:
    together = by_period(parts)
    for number, start_s, length_s in periods_in(plan):
        if number in together:
            yield Interval(start_s, length_s, "", together[number].by_time())
        for part in parts:
            if number in part.periods:
                counts = part.periods[number].by_time()
                yield Interval(start_s, length_s, _name(part), counts)


def _name(part: Measured) -> str:
    """Return the name of a tenant and group, as files and tags may have it."""
    names = [part.tenant, part.group_id] if part.group_id else [part.tenant]
    return ".".join(_UNSAFE.sub("_", name) for name in names)
