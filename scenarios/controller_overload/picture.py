"""The controller's queue over time, and how long elections took, without and with the quota."""

from pathlib import Path
from typing import Any

from scenarios.controller_overload.experiment import OverloadResult
from scenarios.picture import require_matplotlib, save

_OFF, _ON, _TEXT, _GRID = "#b3261e", "#2f6fb3", "#1f2933", "#d5dae0"


def draw(
    creation: tuple[OverloadResult, OverloadResult],
    deletion: tuple[OverloadResult, OverloadResult],
    out: Path,
) -> Path:
    """Draw both experiments, each without and with the quota, into `out`; return the file."""
    figure = require_matplotlib()(figsize=(10, 5.6), layout="constrained")
    panels = figure.subplots(2, 2, sharex="col", sharey="row", squeeze=False)
    titles = ("5,000 topics are created", "5,000 topics are deleted")
    for column, (title, outcomes) in enumerate(zip(titles, (creation, deletion), strict=True)):
        queue, latency = panels[0][column], panels[1][column]
        for outcome, color, name in zip(
            outcomes, (_OFF, _ON), ("quota off", "quota on"), strict=True
        ):
            _draw_queue(queue, outcome, color, name)
            _draw_latency(latency, outcome, color)
        queue.set_title(title, loc="left", fontsize=10, color=_TEXT)
        latency.set_xlabel("seconds since the first request", color=_TEXT)
    # Only now: limits that are set end autoscaling, which the columns share.
    for axes in panels.flat:
        _style(axes)
    panels[0][0].set_ylabel("controller's queue\nin seconds of work", color=_TEXT)
    panels[1][0].set_ylabel("election latency in s,\nby the time of the failure", color=_TEXT)
    panels[0][0].legend(frameon=False, labelcolor=_TEXT)
    return save(figure, out, "controller-overload")


def _draw_queue(axes: Any, outcome: OverloadResult, color: str, name: str) -> None:
    seconds = [sample.at_ms / 1000 for sample in outcome.samples]
    axes.plot(
        seconds, [sample.queue_ms / 1000 for sample in outcome.samples], color=color, label=name
    )


def _draw_latency(axes: Any, outcome: OverloadResult, color: str) -> None:
    for failure, latency_ms in sorted(outcome.latency_ms.items()):
        at_s, latency_s = failure.at_ms / 1000, latency_ms / 1000
        axes.plot(at_s, latency_s, "o", color=color, markersize=5)
        axes.annotate(
            f"{latency_s:.1f}",
            (at_s, latency_s),
            textcoords="offset points",
            xytext=(6, 3),
            fontsize=8,
            color=color,
        )


def _style(axes: Any) -> None:
    axes.grid(color=_GRID, linewidth=0.6)
    axes.set_ylim(bottom=0)
    axes.tick_params(colors=_TEXT, length=0, labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
