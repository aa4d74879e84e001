"""One picture: the brokers' releases and outages, and what each client did during that time."""

from pathlib import Path
from typing import Any

from scenarios.picture import require_matplotlib, save
from scenarios.rolling_upgrade.upgrade import BROKERS, Upgrade, Written

_RELEASES = (("classic", "#c9cfd6"), ("phase 1", "#8fb4d9"), ("phase 2", "#2f6fb3"))
_IN_FLIGHT, _RATE, _LIMIT, _TEXT = "#2e7d32", "#c58b1b", "#b3261e", "#1f2933"
_BIN_MS = 500


def draw(upgrade: Upgrade, out: Path) -> Path:
    """Draw a run into the folder `out`; returns the file."""
    count = len(upgrade.written)
    figure = require_matplotlib()(figsize=(10, 1.8 + 1.7 * count), layout="constrained")
    panels = figure.subplots(
        count + 1, 1, sharex=True, squeeze=False, height_ratios=[1, *(1.5,) * count]
    )[:, 0]
    began_ms = upgrade.stages[0].began_ms
    _draw_brokers(panels[0], upgrade, began_ms)
    for axes, written in zip(panels[1:], upgrade.written, strict=True):
        _draw_client(axes, written, began_ms)
    for axes in panels:
        for stage in upgrade.stages:
            axes.axvline((stage.began_ms - began_ms) / 1_000, color="#d9dde3", zorder=0)
        axes.tick_params(length=0, colors=_TEXT)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    panels[-1].set_xlim(0, (upgrade.stages[-1].ended_ms - began_ms) / 1_000)
    panels[-1].set_xlabel("seconds", color=_TEXT)
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle("Three brokers roll to KIP-758 in two phases", x=0.01, ha="left", color=_TEXT)
    return save(figure, out, "rolling-upgrade")


def _draw_brokers(axes: Any, upgrade: Upgrade, began_ms: int) -> None:
    """A bar for each release of each broker, with gaps where it was down."""
    end_ms = upgrade.stages[-1].ended_ms
    for line, broker in enumerate(BROKERS):
        outages = [outage for outage in upgrade.outages if outage.broker == broker]
        starts = [began_ms, *(outage.ended_ms for outage in outages)]
        ends = [*(outage.began_ms for outage in outages), end_ms]
        for start_ms, stop_ms, (name, colour) in zip(starts, ends, _RELEASES, strict=True):
            left = (start_ms - began_ms) / 1_000
            width = (stop_ms - start_ms) / 1_000
            axes.barh(line, width, left=left, height=0.7, color=colour)
            axes.text(left + 0.1, line, name, va="center", fontsize=7, color=_TEXT)
    axes.set_yticks(range(len(BROKERS)), [f"broker {broker}" for broker in BROKERS])
    axes.invert_yaxis()


def _draw_client(axes: Any, written: Written, began_ms: int) -> None:
    """Requests in flight as steps, acknowledged records as a rate, and the limit of five."""
    seconds = [(at - began_ms) / 1_000 for at, _ in written.in_flight]
    counts = [count for _, count in written.in_flight]
    axes.step(seconds, counts, where="post", color=_IN_FLIGHT, linewidth=0.6, label="in flight")
    axes.axhline(5, color=_LIMIT, linewidth=0.8, linestyle="--", label="five in flight")
    axes.set_ylabel("requests", color=_TEXT)
    axes.set_ylim(0, 12)
    axes.set_title(written.name, loc="left", fontsize=9, color=_TEXT)
    rates: dict[int, int] = {}
    for at in written.acknowledged_ms.values():
        number = (at - began_ms) // _BIN_MS
        rates[number] = rates.get(number, 0) + 1
    numbers = range(max(rates, default=-1) + 1)
    right = axes.twinx()
    right.plot(
        [(number + 0.5) * _BIN_MS / 1_000 for number in numbers],
        [rates.get(number, 0) * 1_000 / _BIN_MS for number in numbers],
        color=_RATE,
    )
    right.set_ylim(0)
    right.set_ylabel("records/s", color=_RATE)
    right.tick_params(length=0, colors=_RATE)
    right.spines["top"].set_visible(False)
    axes.plot([], [], color=_RATE, label="acknowledged records/s")
