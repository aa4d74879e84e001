"""A run's series as pictures: PNG bytes, and no window system anywhere."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO
from math import isnan, log10, nan
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from loadgen.plan import Plan
from loadgen.promises import bucket_levels

COLOURS = ("#2f6f9f", "#d1495b", "#3f8f5f", "#e2a03f", "#7a5195", "#5b8e9b", "#9c6644", "#666666")
_BINS = 24
_BIN_FIRST_US = 64
_DPI = 110
Rows = Sequence[Mapping[str, Any]]


def draw(summary: Mapping[str, Any], plan: Plan, config: Mapping[str, float]) -> dict[str, bytes]:
    """Each chart's PNG by its name; what there is nothing to draw of is left out."""
    series = summary["series"]
    found: dict[str, bytes] = {}
    if series["seconds"]:
        found["rates"] = _chart(lambda axes: _rates(axes, series["seconds"], plan))
    if series["latencies"]:
        found["latencies"] = _chart(lambda axes: _latencies(axes, series["latencies"]))
        found["heat-map"] = _chart(lambda axes: _heat(axes, series["heat"], plan), 3.4)
    if any(row["throttle_max_ms"] for row in series["seconds"]):
        found["throttles"] = _chart(lambda axes: _throttles(axes, series["seconds"]))
    tokens = _mutation_tokens(series["mutations"], plan, config)
    if tokens:
        found["tokens"] = _chart(lambda axes: _tokens(axes, tokens))
    quotas = {
        quota.entity.get("user"): quota.value
        for quota in plan.quotas
        if quota.key == "producer_ids_rate"
    }
    ids = [row for row in series["ids"] if row["user"] in quotas]
    if ids:
        window_s = config["producer.id.quota.window.size.seconds"]
        found["ids"] = _chart(lambda axes: _ids(axes, ids, quotas, window_s, plan))
    return found


def _chart(paint: Callable[[Axes], None], height: float = 2.9) -> bytes:
    figure = Figure(figsize=(9, height), dpi=_DPI, layout="constrained")
    axes = figure.subplots()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("seconds from the beginning of the measured part")
    paint(axes)
    data = BytesIO()
    figure.savefig(data, format="png")
    return data.getvalue()


def _legend(axes: Axes) -> None:
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _by(rows: Rows, key: str) -> dict[Any, list[Mapping[str, Any]]]:
    found: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def _rates(axes: Axes, seconds: Rows, plan: Plan) -> None:
    """Requests per second of each tenant, and errors of all."""
    begin = min(row["second"] for row in seconds)
    span = range(begin, max(row["second"] for row in seconds) + 1)
    for colour, (tenant, rows) in zip(_cycle(), _by(seconds, "tenant").items(), strict=False):
        counts = {row["second"]: row["requests"] for row in rows}
        values = [counts.get(second, 0) for second in span]
        axes.plot([s + 0.5 for s in span], values, color=colour, label=tenant, linewidth=1.6)
    errors: dict[int, int] = {}
    for row in seconds:
        errors[row["second"]] = errors.get(row["second"], 0) + row["errors"]
    if any(errors.values()):
        values = [errors.get(second, 0) for second in span]
        axes.bar(
            [s + 0.5 for s in span], values, width=0.9, color="#d1495b", alpha=0.25, label="errors"
        )
    if plan.warm_up_s:
        axes.axvspan(-plan.warm_up_s, 0, color="#f2f2f2", zorder=0)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("requests per second")
    _legend(axes)


def _latencies(axes: Axes, rows: Rows) -> None:
    """Percentiles of each second, from the intended time."""
    for index, (name, colour) in enumerate(zip(("p50", "p90", "p99"), COLOURS, strict=False)):
        points = [(row["second"] + 0.5, row["response_us"][index] / 1000) for row in rows]
        axes.plot(*zip(*points, strict=True), color=colour, label=name, linewidth=1.6)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(_milliseconds)
    axes.set_ylabel("ms from the intended time")
    _legend(axes)


def _heat(axes: Axes, heat: Mapping[str, Any], plan: Plan) -> None:
    """How many events of a moment took how long."""
    cells = max(1, round(plan.duration_s * 1e6 / heat["cell_us"]))
    grid = [[nan] * cells for _ in range(_BINS)]
    for row in heat["cells"]:
        if 0 <= row["cell"] < cells:
            grid[int(row["bin"])][int(row["cell"])] = log10(1 + row["events"])
    image = axes.imshow(
        grid,
        aspect="auto",
        origin="lower",
        cmap="magma_r",
        extent=(0, plan.duration_s, 0, _BINS),
        interpolation="nearest",
    )
    axes.grid(visible=False)
    ticks = range(0, _BINS, 3)
    axes.set_yticks(
        list(ticks), [_milliseconds(_BIN_FIRST_US / 1000 * 2 ** (t / 1.5)) for t in ticks]
    )
    axes.set_ylabel("ms from the intended time")
    bar = axes.figure.colorbar(image, ax=axes, pad=0.01)
    top = int(max(value for row in grid for value in row if not isnan(value))) + 1
    bar.set_ticks([log10(1 + 10**n) for n in range(top)], labels=[str(10**n) for n in range(top)])
    bar.set_label("events")


def _throttles(axes: Axes, seconds: Rows) -> None:
    """The longest throttle that each tenant was asked for, per second."""
    by_tenant = {
        tenant: rows
        for tenant, rows in _by(seconds, "tenant").items()
        if any(row["throttle_max_ms"] for row in rows)
    }
    for colour, (tenant, rows) in zip(_cycle(), by_tenant.items(), strict=False):
        points = [(row["second"] + 0.5, row["throttle_max_ms"] or 0) for row in rows]
        axes.plot(
            *zip(*points, strict=True),
            color=colour,
            label=tenant,
            linewidth=1.6,
            marker=".",
        )
    axes.set_ylim(bottom=0)
    axes.set_ylabel("longest throttle_time_ms")
    _legend(axes)


def _mutation_tokens(
    mutations: Rows, plan: Plan, config: Mapping[str, float]
) -> dict[str, list[tuple[int, float]]]:
    """The bucket of each quota as the promise has it, after each request that changed something."""
    seconds = config["controller.quota.window.num"] * config["controller.quota.window.size.seconds"]
    found = {}
    for quota in plan.quotas:
        if quota.key != "controller_mutation_rate":
            continue
        users, clients = quota.entity.get("user"), quota.entity.get("client-id")
        tenants = {
            tenant.name
            for tenant in plan.tenants
            if users in {None, "", tenant.principal} and clients in {None, "", tenant.client_id}
        }
        charges = [
            (row["answered_us"], float(row["mutations"]))
            for row in mutations
            if row["tenant"] in tenants
        ]
        name = " ".join(f"{kind} {value or 'default'}" for kind, value in quota.entity.items())
        if charges:
            found[name] = bucket_levels(quota.value, quota.value * seconds, charges)
    return found


def _tokens(axes: Axes, levels: Mapping[str, list[tuple[int, float]]]) -> None:
    for colour, (name, points) in zip(_cycle(), levels.items(), strict=False):
        axes.step(
            [time_us / 1e6 for time_us, _ in points],
            [level for _, level in points],
            where="post",
            color=colour,
            label=name,
            linewidth=1.6,
        )
    axes.axhline(0, color="#333333", linewidth=0.8)
    axes.set_ylabel("tokens left after each change")
    _legend(axes)


def _ids(
    axes: Axes, ids: Rows, quotas: Mapping[str | None, float], window_s: float, plan: Plan
) -> None:
    """New ids of each user at its busiest broker, and what the quota allows."""
    for colour, (user, rows) in zip(_cycle(), _by(ids, "user").items(), strict=False):
        busiest = max(_by(rows, "node").values(), key=len)
        times = sorted(row["first_us"] / 1e6 for row in busiest)
        counts = range(1, len(times) + 1)
        axes.step(times, counts, where="post", color=colour, label=user, linewidth=1.6)
    for limit in sorted(set(quotas.values())):
        ends = (0.0, plan.duration_s)
        allowed = [limit + t * limit / window_s for t in ends]
        axes.plot(ends, allowed, color="#333333", linestyle="--", linewidth=1)
        axes.annotate(
            f"allowed: {limit:g} + t·{limit:g}/{window_s:g}",
            (ends[1], allowed[1]),
            ha="right",
            va="bottom",
            fontsize=8,
            color="#333333",
        )
    axes.set_ylim(bottom=0)
    axes.set_ylabel("producer ids with a first success")
    _legend(axes)


def _milliseconds(value: float, _position: object = None) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _cycle() -> Iterable[str]:
    while True:
        yield from COLOURS
