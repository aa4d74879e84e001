"""One picture a phase: what each client did with the time, as KIP-91's figure shows phases."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scenarios.delivery_timeout.measuring import Measurement
from scenarios.delivery_timeout.phases import Phase
from scenarios.picture import require_matplotlib, save

_WAITING, _TEXT, _QUIET = "#d9dde3", "#1f2933", "#7b8794"
_COLOURS = {"Produce": "#2f6fb3", "Metadata": "#c58b1b"}
_DELIVERED, _FAILED = ("o", "#2e7d32"), ("X", "#b3261e")
_LEAST_MS = 15.0
"""A request that was answered at once is drawn as wide as this."""


def draw(phase: Phase, measurements: Sequence[Measurement], deadline_ms: int, out: Path) -> Path:
    """Draw a phase into the folder `out`; returns the file."""
    figure = require_matplotlib()(figsize=(10, 1.6 + 0.62 * len(measurements)))
    axes = figure.subplots()
    end_ms = deadline_ms * 2.6
    for line, measured in enumerate(measurements):
        _draw_line(axes, line, measured, end_ms)
    axes.axvline(deadline_ms, color="#b3261e", linewidth=1.2, linestyle="--", zorder=1)
    label = f"delivery.timeout.ms = {deadline_ms}"
    axes.text(deadline_ms, -0.75, label, color="#b3261e", ha="center")
    axes.set_yticks(range(len(measurements)), [measurement.subject for measurement in measurements])
    axes.set_ylim(len(measurements) - 0.4, -0.6)
    axes.set_xlim(0, end_ms)
    axes.set_xlabel("ms since the first send")
    axes.set_title(f"{phase.name}: {phase.title}", loc="left", color=_TEXT, pad=24)
    axes.tick_params(length=0, colors=_TEXT)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    _draw_legend(figure)
    return save(figure, out, f"delivery-timeout-{phase.name.replace(' ', '-')}")


def _draw_line(axes: Any, line: int, measured: Measurement, end_ms: float) -> None:
    """A client: the wait for its last outcome, the requests the broker saw, the outcomes."""
    if not measured.sent_ms:
        axes.text(0, line, measured.outcome, color=_QUIET, va="center")
        return
    began_ms = measured.sent_ms[0]
    heard_ms = measured.heard_after_ms
    last_ms = end_ms if heard_ms is None else max(at for _, at, _ in measured.heard) - began_ms
    axes.barh(line, last_ms, height=0.5, color=_WAITING, zorder=0)
    for request in measured.requests:
        colour = _COLOURS.get(request.api)
        if colour is None:
            continue
        start_ms = request.received_ms - began_ms
        lasted_ms = end_ms if request.ended_ms is None else request.ended_ms - request.received_ms
        axes.barh(
            line, max(lasted_ms, _LEAST_MS), left=start_ms, height=0.28, color=colour, zorder=2
        )
    for _, at, error in measured.heard:
        marker, colour = _DELIVERED if error is None else _FAILED
        axes.plot(at - began_ms, line, marker, color=colour, markersize=8, zorder=3)
    note = f"{measured.outcome}" if heard_ms is None else f"{heard_ms} ms  {measured.outcome}"
    note_ms = min(last_ms, end_ms * 0.42) + end_ms * 0.015
    axes.text(note_ms, line - 0.33, note, color=_TEXT, fontsize=8)


def _draw_legend(figure: Any) -> None:
    # With the picture, not before: it is slow to load, and perhaps not there.
    from matplotlib.lines import Line2D  # noqa: PLC0415
    from matplotlib.patches import Patch  # noqa: PLC0415

    figure.legend(
        handles=[
            Patch(color=_WAITING, label="waiting for the outcome"),
            Patch(color=_COLOURS["Produce"], label="Produce at the broker"),
            Patch(color=_COLOURS["Metadata"], label="Metadata at the broker"),
            *(
                Line2D([], [], marker=marker, color=colour, linestyle="", label=label)
                for (marker, colour), label in ((_DELIVERED, "delivered"), (_FAILED, "failed"))
            ),
        ],
        loc="lower center",
        ncols=5,
        frameon=False,
        bbox_to_anchor=(0.5, -0.12),
    )
