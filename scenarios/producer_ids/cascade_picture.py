"""The brokers' ids, stage by stage: those with too many die, and their ids fall on others."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scenarios.picture import require_matplotlib, save

_DYING, _ALIVE, _GONE, _LIMIT, _TEXT = "#b3261e", "#2f6fb3", "#9aa5b1", "#2e7d32", "#1f2933"


class Stage(NamedTuple):
    """How many ids each broker leads, None when it is gone."""

    name: str
    ids: Mapping[int, int | None]


def draw(off: Sequence[Stage], on: Sequence[Stage], ids_max: int, out: Path) -> Path:
    """Draw both clusters into the folder `out`; returns the file."""
    columns = max(len(off), len(on))
    figure = require_matplotlib()(figsize=(1.9 * columns, 5.5), layout="constrained")
    panels = figure.subplots(2, columns, sharey=True, squeeze=False)
    for line, (name, stages) in enumerate((("quota off", off), ("quota on", on))):
        for axes, stage in zip(panels[line], stages, strict=False):
            _draw_stage(axes, stage, ids_max)
        for axes in panels[line][len(stages) :]:
            axes.set_visible(False)
        panels[line][0].set_ylabel(f"{name}\nids led", color=_TEXT)
    figure.suptitle(f"Brokers for {ids_max} producer ids each", x=0.01, ha="left", color=_TEXT)
    return save(figure, out, "cascade")


def _draw_stage(axes: Any, stage: Stage, ids_max: int) -> None:
    for broker, ids in stage.ids.items():
        if ids is None:
            axes.plot(broker, 0.1 * ids_max, "x", color=_GONE)
            continue
        axes.bar(broker, ids, color=_DYING if ids > ids_max else _ALIVE, width=0.7)
        axes.text(broker, ids, ids, ha="center", va="bottom", fontsize=7, color=_TEXT)
    axes.axhline(ids_max, color=_LIMIT, linewidth=1, linestyle="--")
    axes.set_title(stage.name, loc="left", fontsize=10, color=_TEXT)
    axes.set_xticks(list(stage.ids))
    axes.tick_params(colors=_TEXT, length=0, labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
