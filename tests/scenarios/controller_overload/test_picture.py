from pathlib import Path

import pytest

from scenarios.controller_overload.experiment import Failure, OverloadResult, Sample
from scenarios.controller_overload.picture import draw


def test_both_experiments_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    off = OverloadResult(
        latency_ms={Failure(1000, 9): 110_000}, samples=[Sample(0, 0), Sample(1000, 120_000)]
    )
    on = OverloadResult(latency_ms={Failure(1000, 9): 3_300}, samples=[Sample(0, 3_000)])

    path = draw((off, on), (off, on), tmp_path)
    text = path.read_text()
    assert path.name == "controller-overload.svg"
    # matplotlib draws text as shapes and keeps it in a comment.
    assert [text.count(f"<!-- {label} -->") for label in ("110.0", "3.3", "quota on")] == [2, 2, 1]
