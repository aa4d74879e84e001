"""Charts of a run as SVG."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, cycle
from math import ceil, isnan, log10, nan
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure

from loadgen.analysis.checks import bucket_levels
from loadgen.analysis.fault_marks import mark_faults
from loadgen.analysis.measures import (
    END_TO_END,
    PUBLISH,
    PUBLISH_DELAY,
    RESPONSE,
    SHARES,
    measure_label,
)
from loadgen.plan.plan import Plan, Tenant
from loadgen.svg_chart import BLUE, COLOURS, GRID, INK, LABEL, PALE, RED, YELLOW, svg_of

_PERCENTILES = (("p50", BLUE), ("p90", YELLOW), ("p99", RED))
_STYLES = {PUBLISH: "--", PUBLISH_DELAY: ":", END_TO_END: "-"}
_HEAT = LinearSegmentedColormap.from_list("heat", [to_rgba(RED, 0.12), to_rgba(RED, 1.0)])
"""Shades of one colour on whatever the background is."""
_BINS = 24
_BIN_FIRST_US = 64
_WIDTH = 9.0
_PANEL_HEIGHT = 1.9
_TIME = "seconds from the start of the measured part"
Rows = Sequence[Mapping[str, Any]]


class _Bucket(NamedTuple):
    """What the promise says about one quota of one user."""

    name: str
    """Of what it counts, with the quota's numbers."""
    corners: list[tuple[int, float]]
    burst: float


def draw(summary: Mapping[str, Any], plan: Plan, config: Mapping[str, float]) -> dict[str, str]:
    """Return the charts as SVG by name; charts without data are left out."""
    series, faults = summary["series"], summary["faults"]
    found: dict[str, str] = {}
    if series["seconds"]:
        found["rates"] = _rates(series["seconds"], plan, faults)
        buckets = _buckets(series, plan, config)
        throttles = _throttles_by_user(series["seconds"], plan)
        if buckets or throttles:
            found["users"] = _users(buckets, throttles, plan)
    if series["latencies"]:
        found["latencies"] = _latencies(series["latencies"], plan, faults)
        found["heat-map"] = _heat(series["heat"], plan, faults)
    if series["lags"]:
        found["lags"] = _lags(series["lags"], plan, faults)
    if any(row["measure"] != RESPONSE for row in summary["latencies"]):
        found["measures"] = _by_measure(summary["latencies"])
    allowed = {
        users[0].principal: quota.value
        for quota, users in plan.buckets("producer_ids_rate").values()
    }
    ids = [row for row in series["ids"] if row["user"] in allowed]
    if ids:
        window_s = config["producer.id.quota.window.size.seconds"]
        found["ids"] = _ids(ids, allowed, window_s, plan)
    return found


def _panels(rows: int, columns: int, height: float) -> tuple[Figure, list[list[Axes]]]:
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    panels: list[list[Axes]] = figure.subplots(rows, columns, squeeze=False).tolist()
    for axes in (panel for row in panels for panel in row):
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.grid(visible=True, axis="y", color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=8)
    return figure, panels


def _title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=9, fontweight="bold")


def _over_time(axes: Axes, plan: Plan) -> None:
    """Show the whole duration of the plan, with the warm-up in grey."""
    axes.set_xlim(-plan.warm_up_s, plan.duration_s)
    if plan.warm_up_s:
        axes.axvspan(-plan.warm_up_s, 0, color=PALE, zorder=0)


def _legend(axes: Axes) -> None:
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _by(rows: Rows, key: str) -> dict[Any, list[Mapping[str, Any]]]:
    found: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def _rates(seconds: Rows, plan: Plan, faults: Rows) -> str:
    """Draw the requests per second of each tenant, and the errors of all tenants."""
    figure, [[axes]] = _panels(1, 1, 3.1)
    # Handshakes come before this range, late requests after it.
    last = min(max(row["second"] for row in seconds), ceil(plan.duration_s) - 1)
    span = range(-ceil(plan.warm_up_s), last + 1)
    middles = [second + 0.5 for second in span]
    errors = dict.fromkeys(span, 0)
    for row in seconds:
        if row["second"] in errors:
            errors[row["second"]] += row["errors"]
    if any(errors.values()):
        axes.bar(
            middles, list(errors.values()), width=0.9, color=RED, alpha=0.25, label="all errors"
        )
    gaps = sorted({row["second"] for row in seconds if row["unreachable"]} & errors.keys())
    for index, second in enumerate(gaps):
        label = "a broker cannot be reached" if not index else None
        axes.axvspan(second, second + 1, color=INK, alpha=0.15, linewidth=0, label=label)
    for colour, (tenant, rows) in zip(cycle(COLOURS), _in_order(seconds, plan), strict=False):
        counts = {row["second"]: row["requests"] for row in rows}
        values = [counts.get(second, 0) for second in span]
        axes.plot(middles, values, color=colour, label=tenant, linewidth=1.6)
    _over_time(axes, plan)
    axes.set_ylim(bottom=0)
    mark_faults(axes, faults, plan.duration_s)
    axes.set_ylabel("requests per second")
    axes.set_xlabel(_TIME)
    _title(axes, "Requests per second of each tenant")
    _legend(axes)
    return svg_of(figure, "rates")


def _in_order(rows: Rows, plan: Plan) -> Iterator[tuple[str, Rows]]:
    """Yield the rows of each tenant in the plan's order."""
    by_tenant = _by(rows, "tenant")
    for tenant in plan.tenants:
        if tenant.name in by_tenant:
            yield tenant.name, by_tenant[tenant.name]


def _latencies(latencies: Rows, plan: Plan, faults: Rows) -> str:
    """Draw the percentiles of each second, with a panel for each tenant and a common scale."""
    tenants = list(_in_order(latencies, plan))
    columns = min(2, len(tenants))
    lines = ceil(len(tenants) / columns)
    figure, panels = _panels(lines, columns, _PANEL_HEIGHT * lines + 0.6)
    flat = [axes for row in panels for axes in row]
    values = [value / 1000 for row in latencies for value in row["response_us"] if value > 0]
    bottom, top = min(values, default=1.0) / 1.5, max(values, default=1.0) * 1.5
    for axes, (tenant, rows) in zip(flat, tenants, strict=False):
        for index, (name, colour) in enumerate(_PERCENTILES):
            points = [(row["second"] + 0.5, row["response_us"][index] / 1000) for row in rows]
            axes.plot(
                *zip(*points, strict=True),
                color=colour,
                label=name,
                linewidth=1.5,
                marker="." if len(points) < 30 else None,
            )
        axes.set_yscale("log")
        axes.set_ylim(bottom, top)
        axes.yaxis.set_major_formatter(_milliseconds)
        axes.yaxis.set_minor_formatter("")
        axes.set_xlim(0, plan.duration_s)
        mark_faults(axes, faults, plan.duration_s)
        _title(axes, tenant)
    for axes in flat[len(tenants) :]:
        axes.set_visible(False)
    figure.supylabel("ms from the intended time", fontsize=9)
    figure.supxlabel(_TIME, fontsize=9)
    figure.legend(
        *flat[0].get_legend_handles_labels(),
        frameon=False,
        fontsize=8,
        ncols=len(_PERCENTILES),
        loc="outside upper right",
    )
    return svg_of(figure, "latencies")


def _lags(lags: Rows, plan: Plan, faults: Rows) -> str:
    """Draw the lag of each group over time."""
    figure, [[axes]] = _panels(1, 1, 2.8)
    for pause in dict.fromkeys(pause for tenant in plan.tenants for pause in tenant.pauses):
        axes.axvspan(pause.at_s, pause.end_s, color=INK, alpha=0.12, linewidth=0)
    for colour, (group, rows) in zip(cycle(COLOURS), _by(lags, "group_id").items(), strict=False):
        times = [row["end_s"] for row in rows]
        axes.plot(times, [row["lag"] for row in rows], color=colour, label=group, linewidth=1.4)
    _over_time(axes, plan)
    axes.set_ylim(bottom=0)
    mark_faults(axes, faults, plan.duration_s)
    axes.set_ylabel("records")
    axes.set_xlabel(_TIME)
    _title(axes, "Lag of each group")
    _legend(axes)
    return svg_of(figure, "lags")


def _by_measure(rows: Rows) -> str:
    """Draw each measure of each tenant over the percentiles, as far as there are figures."""
    figure, [[axes]] = _panels(1, 1, 3.4)
    places = [-log10(1 - share) for share in SHARES.values()]
    shown = [row for row in rows if row["measure"] != RESPONSE and row["count"]]
    for colour, row in zip(cycle(COLOURS), shown, strict=False):
        axes.plot(
            places,
            [max(1.0, row[name]) / 1000 for name in SHARES],
            color=colour,
            linestyle=_STYLES[row["measure"]],
            label=f"{row['tenant']}: {measure_label(row)}",
            linewidth=1.4,
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(_milliseconds)
    axes.yaxis.set_minor_formatter("")
    axes.set_xticks(places, [f"{share * 100:g} %" for share in SHARES.values()])
    axes.set_ylabel("ms")
    _title(axes, "Latencies by percentile")
    _legend(axes)
    return svg_of(figure, "measures")


def _heat(heat: Mapping[str, Any], plan: Plan, faults: Rows) -> str:
    """Draw the number of events by time and latency."""
    figure, [[axes]] = _panels(1, 1, 3.4)
    cells = max(1, round(plan.duration_s * 1e6 / heat["cell_us"]))
    grid = [[nan] * cells for _ in range(_BINS)]
    for row in heat["cells"]:
        if 0 <= row["cell"] < cells:
            grid[int(row["bin"])][int(row["cell"])] = log10(1 + row["events"])
    image = axes.imshow(
        grid,
        aspect="auto",
        origin="lower",
        cmap=_HEAT,
        vmin=0,
        extent=(0, plan.duration_s, 0, _BINS),
        interpolation="none",
    )
    axes.grid(visible=False)
    mark_faults(axes, faults, plan.duration_s)
    # Each bin begins at its tick. The first one has everything below, the last everything above.
    ticks = [*range(0, _BINS - 3, 3), _BINS - 1]
    labels = [_milliseconds(_BIN_FIRST_US / 1000 * 2 ** (tick / 1.5)) for tick in ticks]
    labels[0], labels[-1] = "0", f"{labels[-1]} and more"
    axes.set_yticks(ticks, labels)
    axes.set_ylabel("ms from the intended time")
    axes.set_xlabel(_TIME)
    _title(axes, "Events by time and latency, all tenants together")
    bar = figure.colorbar(image, ax=axes, pad=0.01)
    assert bar.solids is not None
    bar.solids.set_rasterized(True)
    top = int(max((value for row in grid for value in row if not isnan(value)), default=0)) + 1
    bar.set_ticks([log10(1 + 10**n) for n in range(top)], labels=[str(10**n) for n in range(top)])
    bar.set_label("events", fontsize=8)
    return svg_of(figure, "heat-map")


def _buckets(
    series: Mapping[str, Any], plan: Plan, config: Mapping[str, float]
) -> dict[str, list[_Bucket]]:
    """The buckets of each user as the checks have them, whether or not something was taken."""
    begin_us, end_us = round(-plan.warm_up_s * 1e6), round(plan.duration_s * 1e6)
    found: dict[str, list[_Bucket]] = {}
    window_s = config["producer.id.quota.window.size.seconds"]
    for quota, users in plan.buckets("producer_ids_rate").values():
        if quota.shadow:
            continue  # in shadow mode nothing is charged
        user = users[0].principal
        by_node = _by([row for row in series["ids"] if row["user"] == user], "node")
        busiest = max(by_node.values(), key=_ids_in, default=[])
        charges = sorted((row["first_us"], float(row["ids"])) for row in busiest)
        name = f"producer ids: {quota.value:g} per {window_s:g} s, at the busiest broker"
        rate = quota.value / window_s
        corners = bucket_levels(rate, quota.value, charges, begin_us, end_us)
        found.setdefault(user, []).append(_Bucket(name, corners, quota.value))
    seconds = config["controller.quota.window.num"] * config["controller.quota.window.size.seconds"]
    for quota, users in plan.buckets("controller_mutation_rate").values():
        if quota.shadow:
            continue
        names = {tenant.name for tenant in users}
        charges = [
            (row["response_us"], float(row["mutations"]))
            for row in series["mutations"]
            if row["tenant"] in names
        ]
        burst = quota.value * seconds
        name = f"topic mutations: {quota.value:g}/s, {burst:g} at once"
        if "user" not in quota.entity:
            name += f" (client id {users[0].client_id})"
        corners = bucket_levels(quota.value, burst, charges, begin_us, end_us)
        for user in dict.fromkeys(map(_owner, users)):
            found.setdefault(user, []).append(_Bucket(name, corners, burst))
    return found


def _owner(tenant: Tenant) -> str:
    """Return who is charged, as the chart names it: without a user it is the client id."""
    return tenant.user or f"client id {tenant.client_id}"


def _throttles_by_user(seconds: Rows, plan: Plan) -> dict[str, list[tuple[float, int]]]:
    """Return the longest throttle of each user in each second, for users with throttles."""
    users = {tenant.name: _owner(tenant) for tenant in plan.tenants}
    found: dict[str, dict[int, int]] = {}
    for row in seconds:
        longest = found.setdefault(users[row["tenant"]], {})
        second = row["second"]
        longest[second] = max(longest.get(second, 0), row["throttle_max_ms"] or 0)
    return {
        user: [(second + 0.5, longest[second]) for second in sorted(longest)]
        for user, longest in found.items()
        if any(longest.values())
    }


def _users(
    buckets: Mapping[str, list[_Bucket]],
    throttles: Mapping[str, list[tuple[float, int]]],
    plan: Plan,
) -> str:
    """Draw, for each user, the levels of its buckets and its throttles."""
    users = [
        user
        for user in dict.fromkeys(
            owner for tenant in plan.tenants for owner in (_owner(tenant), tenant.principal)
        )
        if user in buckets or user in throttles
    ]
    figure, panels = _panels(len(users), 2, _PANEL_HEIGHT * len(users) + 0.5)
    for user, (left, right) in zip(users, panels, strict=True):
        _title(left, f"{user}: tokens left")
        for bucket, colour in zip(buckets.get(user, ()), cycle(COLOURS), strict=False):
            times = [time_us / 1e6 for time_us, _ in bucket.corners]
            levels = [level for _, level in bucket.corners]
            left.plot(times, levels, color=colour, linewidth=1.3, label=bucket.name)
            left.axhline(bucket.burst, color=colour, linewidth=0.8, linestyle=":")
        if user in buckets:
            left.axhline(0, color=INK, linewidth=0.8)
            left.legend(frameon=False, fontsize=7, loc="best")
        else:
            _write(left, "no quota of ids or topic changes in the plan")
        _title(right, f"{user}: longest throttle_time_ms of each second")
        points = throttles.get(user)
        if points:
            middles, longest = zip(*points, strict=True)
            right.bar(middles, longest, width=0.85, color=RED, alpha=0.75)
            right.set_ylim(bottom=0)
        else:
            _write(right, "never throttled")
        for axes in (left, right):
            _over_time(axes, plan)
    figure.supxlabel(_TIME, fontsize=9)
    return svg_of(figure, "users")


def _write(axes: Axes, text: str) -> None:
    """Write a text into a panel without data."""
    axes.set_yticks([])
    axes.text(
        0.5, 0.5, text, ha="center", va="center", fontsize=8, color=LABEL,
        transform=axes.transAxes,
    )  # fmt: skip


def _ids_in(rows: Rows) -> int:
    return sum(row["ids"] for row in rows)


def _ids(ids: Rows, allowed: Mapping[str, float], window_s: float, plan: Plan) -> str:
    """Draw the new ids of each user at its busiest broker, and the limit of the quota."""
    figure, [[axes]] = _panels(1, 1, 3.1)
    by_user = _by(ids, "user")
    users = [user for user in allowed if user in by_user]
    for colour, user in zip(cycle(COLOURS), users, strict=False):
        busiest = max(_by(by_user[user], "node").values(), key=_ids_in)
        points = sorted((row["first_us"] / 1e6, row["ids"]) for row in busiest)
        times = [time_s for time_s, _ in points]
        counts = list(accumulate(ids for _, ids in points))
        axes.step(times, counts, where="post", color=colour, label=user, linewidth=1.6)
    for limit in sorted(set(allowed.values())):
        ends = (0.0, plan.duration_s)
        most = [limit + t * limit / window_s for t in ends]
        axes.plot(ends, most, color=INK, linestyle="--", linewidth=1)
        axes.annotate(
            f"allowed: {limit:g} + t·{limit:g}/{window_s:g}",
            (ends[1], most[1]),
            ha="right",
            va="bottom",
            fontsize=8,
            color=INK,
        )
    _over_time(axes, plan)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("producer ids with a first success")
    axes.set_xlabel(_TIME)
    _title(axes, "New producer ids of each user, at its busiest broker")
    _legend(axes)
    return svg_of(figure, "ids")


def _milliseconds(value: float, _position: object = None) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
