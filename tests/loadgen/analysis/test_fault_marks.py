"""Faults in a chart."""

import numpy as np
from matplotlib.figure import Figure

from loadgen.analysis.fault_marks import mark_faults
from loadgen.fault_rows import FaultRow


def test_a_fault_is_a_band_or_a_line_with_its_name() -> None:
    axes = Figure().subplots()
    rows = [
        FaultRow(0, "down", "stop_broker", 1, begun_us=1_000_000, ended_us=3_000_000),
        FaultRow(1, "moved", "move_leader", 1, has_end=False, begun_us=4_000_000),
        FaultRow(2, "stays", "rule", 1, begun_us=5_000_000, ended_us=20_000_000),
        FaultRow(3, "never", "rule", 1),
    ]
    mark_faults(axes, [row.as_dict() for row in rows], 10.0)
    assert [text.get_text() for text in axes.texts] == ["down", "moved", "stays"]
    spans = [patch.get_extents().transformed(axes.transData.inverted()) for patch in axes.patches]
    assert [(round(span.x0, 3), round(span.x1, 3)) for span in spans] == [(1, 3), (5, 10)]
    assert [np.asarray(line.get_xdata())[0] for line in axes.lines] == [1.0, 4.0, 5.0]
