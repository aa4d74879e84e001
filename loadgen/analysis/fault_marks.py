"""Mark the faults of a run in a chart over seconds: a band while one lasts, a line otherwise."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from loadgen.svg_chart import GROUND, INK, YELLOW

LABEL_LENGTH_MAX = 28


def mark_faults(axes: Axes, faults: Sequence[Mapping[str, Any]], duration_s: float) -> None:
    """Draw each fault that was carried out, with its name, over the whole height.

    Args:
        axes: a chart whose x axis has seconds of the plan.
        faults: their rows, as `FaultRow.as_dict` returns them.
        duration_s: where a fault ends that lasts until the end of the run.
    """
    for fault in faults:
        if fault["begun_us"] is None:
            continue
        begun_s = fault["begun_us"] / 1e6
        if fault["has_end"]:
            ended_us = fault["ended_us"]
            ended_s = duration_s if ended_us is None else min(duration_s, ended_us / 1e6)
            axes.axvspan(begun_s, max(begun_s, ended_s), color=YELLOW, alpha=0.2, linewidth=0)
        axes.axvline(begun_s, color=INK, linewidth=0.8, linestyle="--")
        name = fault["name"]
        if len(name) > LABEL_LENGTH_MAX:
            name = f"{name[: LABEL_LENGTH_MAX - 1]}…"
        axes.annotate(
            name,
            (begun_s, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(2, -2),
            textcoords="offset points",
            rotation=90,
            ha="left",
            va="top",
            fontsize=7,
            color=INK,
            bbox={"facecolor": GROUND, "alpha": 0.75, "edgecolor": "none", "pad": 1},
        )
