"""When candidates would throttle whom, as SVG, one for each quota key."""

from collections.abc import Mapping
from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from loadgen.quota_trials.proposals import KeyResult, Trial
from loadgen.quota_trials.quota_page import name_of
from loadgen.quota_trials.traffic import Traffic
from loadgen.svg_chart import BLUE, RED, svg_of

SCOPES_MAX = 10
_PROTECTED, _OTHER = RED, BLUE
_WIDTH, _LINE = 9.0, 0.24
_STEPS_S = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 86_400)
_THIN_SHARE = 0.002
"""A throttle is drawn at least this wide, as a share of the whole time."""


def draw(traffic: Traffic, results: Mapping[str, KeyResult]) -> dict[str, str]:
    """Return the chart of each key of which a candidate throttles anyone."""
    found = {}
    for key, result in results.items():
        trials = [trial for trial in result.trials if trial.refused]
        if trials:
            found[key] = _chart(key, traffic, result, trials)
    return found


def _chart(key: str, traffic: Traffic, result: KeyResult, trials: list[Trial]) -> str:
    lines = [min(SCOPES_MAX, len(trial.refused)) for trial in trials]
    figure = Figure(
        figsize=(_WIDTH, sum(lines) * _LINE + 0.7 * len(trials) + 0.5),
        layout="constrained",
    )
    panels = figure.subplots(
        len(trials), 1, squeeze=False, sharex=True, height_ratios=[line + 1 for line in lines]
    )
    end_s = max(1, ceil(traffic.span_ms / 1000))
    for axes, trial in zip(panels.flat, trials, strict=True):
        _panel(axes, result, trial, end_s)
    panels.flat[-1].set_xlim(0, end_s)
    panels.flat[-1].set_xlabel("time since the first request", fontsize=9)
    panels.flat[-1].xaxis.set_major_locator(MultipleLocator(_step_s(end_s)))
    panels.flat[-1].xaxis.set_major_formatter(FuncFormatter(lambda value, _: _clock(value, end_s)))
    return svg_of(figure, key)


def _panel(axes: Axes, result: KeyResult, trial: Trial, end_s: int) -> None:
    shown = trial.refused[:SCOPES_MAX]
    for line, one in enumerate(shown):
        spans = [
            (from_ms / 1000, max((until_ms - from_ms) / 1000, _THIN_SHARE * end_s))
            for from_ms, until_ms in one.muted_ms
        ]
        is_protected = one.scope in result.protected
        axes.broken_barh(spans, (line - 0.4, 0.8), color=_PROTECTED if is_protected else _OTHER)
    axes.set_yticks(range(len(shown)), [name_of(one.scope) for one in shown], fontsize=8)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_title(f"{trial.candidate} ({trial.label})", loc="left", fontsize=9, fontweight="bold")
    axes.tick_params(labelsize=8)
    for edge in ("top", "right"):
        axes.spines[edge].set_visible(False)


def _step_s(end_s: int) -> int:
    """Return the distance of the labels: a round time, with at most a dozen of them."""
    return next((step for step in _STEPS_S if end_s <= 12 * step), end_s)


def _clock(value_s: float, end_s: int) -> str:
    if end_s < 600:
        return f"{value_s:g} s"
    return f"{int(value_s) // 3600}:{int(value_s) // 60 % 60:02}"
