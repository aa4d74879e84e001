"""Write the folder of a run whose latencies are known."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from loadgen.comparison.differences import Side
from loadgen.comparison.run_figures import read_run
from loadgen.storage import Storage

VERDICT = {"check": "stored once", "scope": "tenant a", "verdict": "passed", "details": ""}
LATE = {"check": "lateness", "scope": "this run", "verdict": "failed", "details": ""}


def rows(latency_us: np.ndarray[Any, Any], *, errors: int = 0, throttled: int = 0) -> pa.Table:
    """Return one row per latency; the first rows have errors, or throttle times of 50 ms."""
    count = len(latency_us)
    intended_us = np.linspace(0, 1_999_999, count).astype(np.int64)
    codes = np.where(np.arange(count) < errors, 89, 0).astype(np.int16)
    return pa.table(
        {
            "tenant": ["a"] * count,
            "api": ["Produce"] * count,
            "intended_us": intended_us,
            "response_us": intended_us + latency_us.astype(np.int64),
            "status": ["responded"] * count,
            "error_code": codes,
            "throttle_time_ms": np.where(np.arange(count) < throttled, 50, 0).astype(np.int32),
        }
    )


def write_run(folder: Path, seed: int, table: pa.Table, **changes: Any) -> Path:
    """Write a run of 2 s; `changes` replace values of its summary."""
    results = folder / "results" / "run=x-1"
    results.mkdir(parents=True)
    pq.write_table(table, results / "part-00000-000000.parquet")
    (results / "_run.json").write_text("{}")
    errors = int(np.count_nonzero(np.asarray(table["error_code"])))
    throttled = int(np.count_nonzero(np.asarray(table["throttle_time_ms"])))
    counts = {"responded": table.num_rows // 2, "errors": errors, "throttled": throttled}
    seconds = [{"tenant": "a", "second": s, **counts} for s in (0, 1)]
    latencies = [{"tenant": "a", "second": s, "response_us": [1e3, 2e3, 3e3]} for s in (0, 1)]
    summary = {
        "plan": "<x>",
        "seed": seed,
        "run_id": "x-1",
        "is_complete": True,
        "measured_s": 2.0,
        "verdicts": [VERDICT],
        "series": {"seconds": seconds, "latencies": latencies},
    }
    (folder / "summary.json").write_text(json.dumps(summary | changes))
    return folder


def write_side(folder: Path, factor: float, **options: Any) -> str:
    """Write runs with the seeds 1, 2 and 3, about 2 ms times `factor`; return the folder."""
    for seed in (1, 2, 3):
        generator = np.random.default_rng(seed)
        latency_us = factor * 1e3 * (1.5 + generator.random(1000))
        write_run(folder / f"seed-{seed}", seed, rows(latency_us, **options))
    return str(folder)


def side(folder: Path, factor: float = 1.0, **options: Any) -> Side:
    """Return the runs of `write_side` as a side with the name of the folder."""
    path = Path(write_side(folder, factor, **options))
    return Side(folder.name, [read_run(Storage(str(child))) for child in sorted(path.iterdir())])
