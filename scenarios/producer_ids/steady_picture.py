"""Layers as bars, and the id as it is used: known, or called new."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scenarios.picture import require_matplotlib, save

_LAYER, _USED, _NEW, _TEXT = "#c9d7e8", "#2e7d32", "#b3261e", "#1f2933"
_LANES = 4


class Layer(NamedTuple):
    """When a layer began, and when it is dropped, in s."""

    begun_s: int
    expires_s: int


class Timeline(NamedTuple):
    """A filter's layers, when the id was used, and when it was called new."""

    name: str
    layers: Sequence[Layer]
    used_s: Sequence[int]
    new_s: Sequence[int]


def draw(broker: Timeline, textbook: Timeline, out: Path) -> Path:
    """Draw both filters into the folder `out`; returns the file."""
    figure = require_matplotlib()(figsize=(10, 5), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True)
    for axes, timeline in zip(panels, (broker, textbook), strict=True):
        _draw_timeline(axes, timeline)
    panels[-1].set_xlabel("hours, by the moved clock", color=_TEXT)
    figure.suptitle("An id in steady use while layers go", x=0.01, ha="left", color=_TEXT)
    panels[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False)
    return save(figure, out, "steady-id")


def _draw_timeline(axes: Any, timeline: Timeline) -> None:
    end_s = timeline.used_s[-1]
    for number, layer in enumerate(timeline.layers):
        lasts_s = min(layer.expires_s, end_s) - layer.begun_s
        axes.barh(
            number % _LANES,
            lasts_s / 3_600,
            left=layer.begun_s / 3_600,
            height=0.7,
            color=_LAYER,
            edgecolor="white",
            label=None if number else "a layer",
        )
    known_s = [at_s for at_s in timeline.used_s if at_s not in timeline.new_s]
    for times_s, marker, colour, label in (
        (known_s, ".", _USED, "used, and known"),
        (timeline.new_s, "X", _NEW, "called new"),
    ):
        hours = [at_s / 3_600 for at_s in times_s]
        line = [_LANES] * len(hours)
        axes.plot(hours, line, marker, color=colour, markersize=8, label=label, linestyle="")
    axes.set_xlim(-0.1, end_s / 3_600 + 0.1)
    axes.set_yticks([*range(_LANES), _LANES], [*("layer",) * _LANES, "the id"])
    axes.set_title(timeline.name, loc="left", color=_TEXT)
    axes.tick_params(length=0, colors=_TEXT)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
