"""A chart has a line for each scope that a candidate would throttle."""

import pytest
from matplotlib.axes import Axes

from loadgen.quota_trials.quota_chart import draw
from tests.loadgen.quota_trials.made_results import results, two_users


def test_each_key_with_throttles_has_a_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    labels: list[str] = []
    set_yticks = Axes.set_yticks

    def recording(axes: Axes, ticks: object, names: list[str], **options: object) -> object:
        labels.extend(names)
        return set_yticks(axes, ticks, names, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Axes, "set_yticks", recording)
    charts = draw(two_users(), results())
    assert set(charts) == {"producer_byte_rate"}
    assert charts["producer_byte_rate"].startswith("<svg ")
    assert {"user alice", "user bob"} == set(labels)


def test_without_a_throttle_there_is_no_chart() -> None:
    found = results((0, 1))
    for result in found.values():
        result.trials = [trial for trial in result.trials if not trial.refused]
    assert draw(two_users(), found) == {}
