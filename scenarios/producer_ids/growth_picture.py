"""Ids, tokens, waits and bytes over the hours, without the quota and with it side by side."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scenarios.picture import require_matplotlib, save

_OFF, _ON, _PROMISED, _TEXT = "#b3261e", "#2f6fb3", "#2e7d32", "#1f2933"


class Sample(NamedTuple):
    """What a broker held at one moment.

    `ids`: activated by the careless user; None where there is no quota to promise or count.
    """

    hours: float
    ids: int
    promised: int | None
    tokens: float | None
    throttle_max_s: float
    """The longest throttle time that a response had since the sample before."""
    state_ids: int
    state_bytes: int


_PANELS: tuple[tuple[str, Callable[[Sample], float | None]], ...] = (
    ("ids activated", lambda sample: sample.ids),
    ("tokens left", lambda sample: sample.tokens),
    ("longest throttle time, s", lambda sample: sample.throttle_max_s),
    ("producer state, kB", lambda sample: sample.state_bytes / 1_000),
)


def draw(name: str, title: str, off: Sequence[Sample], on: Sequence[Sample], out: Path) -> Path:
    """Draw a story into the folder `out`; returns the file."""
    figure = require_matplotlib()(figsize=(10, 8.5), layout="constrained")
    columns = (("quota off", off, _OFF), ("quota on", on, _ON))
    panels = figure.subplots(len(_PANELS), 2, sharex=True, sharey="row")
    for (label, value), pair in zip(_PANELS, panels, strict=True):
        for (_, samples, colour), axes in zip(columns, pair, strict=True):
            _draw_line(axes, samples, value, colour)
        pair[0].set_ylabel(label, color=_TEXT)
    for (heading, _, _), axes in zip(columns, panels[0], strict=True):
        axes.set_title(heading, loc="left", color=_TEXT)
    _draw_promise(panels[0], on)
    panels[1][1].axhline(0, color=_PROMISED, linewidth=1, linestyle="--")
    panels[1][0].text(
        0.5, 0.5, "nothing is counted", transform=panels[1][0].transAxes, ha="center", color=_TEXT
    )
    for axes in panels[-1]:
        axes.set_xlabel("hours, by the moved clock", color=_TEXT)
    figure.suptitle(title, x=0.01, ha="left", color=_TEXT)
    return save(figure, out, name)


def _draw_line(
    axes: Any, samples: Sequence[Sample], value: Callable[[Sample], float | None], colour: str
) -> None:
    points = [(sample.hours, value(sample)) for sample in samples if value(sample) is not None]
    if points:
        hours, values = zip(*points, strict=True)
        axes.step(hours, values, where="post", color=colour, linewidth=1.8)
    axes.tick_params(colors=_TEXT)
    axes.grid(axis="y", color="#d9dde3", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _draw_promise(pair: Sequence[Any], on: Sequence[Sample]) -> None:
    hours = [sample.hours for sample in on]
    promised = [sample.promised for sample in on]
    for axes in pair:
        axes.plot(hours, promised, color=_PROMISED, linewidth=1.2, linestyle="--")
        axes.set_ylim(bottom=0)
    pair[0].text(
        hours[-1], promised[-1] or 0, "promised ", color=_PROMISED, ha="right", va="bottom"
    )
