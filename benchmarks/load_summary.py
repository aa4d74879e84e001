"""Measure the summary of a large run: CPU time and memory of driver, JVM and Python workers.

python -m benchmarks.load_summary [--rows N] [--copy-ms T] [--run DIR] [--out DIR] [--master M]

The rows are those of a small run, repeated: each copy is `--copy-ms` later, and has events,
producer ids and offsets that no other copy has. `--run` is the `--out` of such a run; by default
one is made, of ten tenants with quotas, a group and topics that are created. It takes 20 seconds,
and more copies at the same time are a higher rate. The copies in `--out` stay there, and
another measurement uses them again.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import structs

from benchmarks.report import print_line, progress
from benchmarks.server_process import status_bytes
from loadgen.analysis.read_back import RECORD as READ_BACK
from loadgen.host_info import cpu_us_of
from loadgen.outputs import INVALID, OK, summary_of_run
from loadgen.receipts import RECEIPTS
from loadgen.rows import EVENT_STEP, RESULTS
from loadgen.run_record import read_record, run_ids
from loadgen.spark_session import jvm_pid, load_session
from loadgen.storage import Storage
from loadgen.worker_reports import RECORD as REPORTS
from loadgen.worker_reports import WorkerReport, write_reports

SMALL_RUN = ("mixed-tenants", "--with", "producer-churn", "--seed", "1")
COPY_MS = 10_000
ROWS_PER_FILE = 100_000
SAMPLE_S = 0.25
TIMES = ("intended_us", "submitted_us", "sent_us", "response_us", "received_us")
OFFSETS = ("base_offset", "first_offset", "next_offset", "high_watermark")


def make_small_run(folder: str) -> None:
    # In a process for itself, since PySpark starts one JVM in a process.
    command = [sys.executable, "-m", "mock_kafka", "load", *SMALL_RUN, "--out", folder]
    # On a busy machine the generator is late, which does not matter here.
    if subprocess.run(command, check=False).returncode not in {OK, INVALID}:
        raise SystemExit("the small run failed")


def copies(
    table: pa.Table, ends: dict[tuple[str, int], int], ids: dict[str, int], copy_ms: int
) -> Any:
    """Return a function that returns the rows of the copy with a number.

    Args:
        table: the rows of the small run.
        ends: the end of each partition.
        ids: how many events and producer ids a copy has.
        copy_ms: the time between two copies.
    """
    places = zip(table["topic"].to_pylist(), table["partition"].to_pylist(), strict=True)
    steps: dict[str, Any] = dict.fromkeys(TIMES, copy_ms * 1000)
    steps |= dict.fromkeys(OFFSETS, np.array([ends.get(place, 0) for place in places]))
    steps |= ids

    def copy(number: int) -> pa.Table:
        found = table
        for name in steps.keys() & set(table.column_names):
            index = table.column_names.index(name)
            column = table[name].combine_chunks()
            moved = pc.add(column, pa.array(np.broadcast_to(steps[name] * number, len(column))))
            if name in ids:
                moved = pc.if_else(pc.less(column, 0), column, moved)
            found = found.set_column(index, table.field(index), moved.cast(column.type))
        return found

    return copy


def ends_of(tables: list[pa.Table]) -> dict[tuple[str, int], int]:
    """Return the end of each partition."""
    found: dict[tuple[str, int], int] = {}
    for table in tables:
        ends = (
            table["next_offset"]
            if "next_offset" in table.column_names
            else pc.add(table["base_offset"], table["records"].cast(pa.int64()))
        )
        columns = (table["topic"], table["partition"], ends)
        for topic, partition, end in zip(*(c.to_pylist() for c in columns), strict=True):
            if end is not None:
                found[topic, partition] = max(end, found.get((topic, partition), 0))
    return found


def write_copies(small: Storage, large: Storage, rows: int, copy_ms: int) -> None:
    """Write as many copies of a run as have about so many rows."""
    [run_id] = run_ids(small)
    record = read_record(small, run_id)
    tables = {
        name: pq.read_table(small.of(*record.folder(name)), partitioning=None)
        for name in (RESULTS, READ_BACK, RECEIPTS)
    }
    results = tables[RESULTS]
    if pc.max(results["event_id"]).as_py() >= EVENT_STEP:
        raise SystemExit("a closed loop cannot be repeated")
    number = ceil(rows / results.num_rows)
    copies_per_file = max(1, ROWS_PER_FILE // results.num_rows)
    ends = ends_of(list(tables.values()))
    producer_ids = pc.min_max(results["producer_id"]).as_py()
    ids = {
        "event_id": pc.max(results["event_id"]).as_py() + 1,
        "producer_id": producer_ids["max"] + 1 - producer_ids["min"],
    }
    for name, table in tables.items():
        large.create(*record.folder(name))
        copy = copies(table, ends, ids, copy_ms)
        for start in range(0, number, copies_per_file):
            part = [copy(n) for n in range(start, min(number, start + copies_per_file))]
            file = large.of(*record.folder(name), f"part-00000-{start:06}.parquet")
            texts = [field.name for field in table.schema if field.type == pa.string()]
            pq.write_table(pa.concat_tables(part), file, compression="lz4", use_dictionary=texts)
    duration_s = record.plan.duration_s + copy_ms * (number - 1) / 1000
    plan = structs.replace(record.plan, duration_s=duration_s)
    ended = WorkerReport(
        0, "ended", rows=number * results.num_rows, t_us=int(plan.duration_s * 1e6)
    )
    write_reports(large, record.folder(REPORTS), [ended])
    record.plan, record.workers, record.reasons = plan, 1, []
    record.write(large)


def measure(storage: Storage, master: str) -> dict[str, Any]:
    """Summarise the run in a folder, and return its summary and what that took."""
    [run_id] = run_ids(storage)
    record = read_record(storage, run_id)
    with tempfile.TemporaryDirectory() as folder, load_session(master, Path(folder)) as spark:
        began_s = time.monotonic()
        with ProcessTree(jvm_pid(spark)) as processes:
            summary = summary_of_run(spark, storage, record).summary
        cpu_s = {name: round(us / 1e6, 1) for name, us in processes.cpu_us.items()}
        figures = {
            **{f"{name}_cpu_s": used_s for name, used_s in cpu_s.items()},
            "cpu_s": round(sum(processes.cpu_us.values()) / 1e6, 1),
            "wall_s": round(time.monotonic() - began_s, 1),
            "memory_max_mb": round(processes.memory_max_bytes / 1e6),
            **{f"{kind}_mb": round(n / 1e6) for kind, n in processes.memory_bytes.items()},
            "rows": sum(row["requests"] for row in summary["requests"]),
        }
    storage.write(json.dumps(summary, indent=1).encode(), "summary.json")
    return figures


class ProcessTree:
    """What the driver, its JVM and the Python workers of it use within the block.

    Attributes:
        cpu_us: CPU time by `driver`, `jvm` and `python`, also of workers that have ended if they
            ran for longer than a sample.
        memory_max_bytes: the largest sum of their memory in any sample; what several share counts
            once.
        memory_bytes: that of each kind of process at that time.
    """

    def __init__(self, jvm: int | None) -> None:
        assert jvm is not None, "the benchmark has started it"
        self.cpu_us: Counter[str] = Counter()
        self.memory_bytes: Counter[str] = Counter()
        self._jvm, self._is_over = jvm, threading.Event()
        self._first_us: dict[int, int] = {}
        self._last_us: dict[int, int] = {}
        self._thread = threading.Thread(target=self._sample_all)

    def __enter__(self) -> Self:
        self._sample()
        self._first_us = dict(self._last_us)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._sample()
        for pid, used_us in self._last_us.items():
            self.cpu_us[self._kind(pid)] += used_us - self._first_us.get(pid, 0)

    @property
    def memory_max_bytes(self) -> int:
        return self.memory_bytes.total()

    def _kind(self, pid: int) -> str:
        return {os.getpid(): "driver", self._jvm: "jvm"}.get(pid, "python")

    def _sample_all(self) -> None:
        while not self._is_over.wait(SAMPLE_S):
            self._sample()

    def _sample(self) -> None:
        memory_bytes: Counter[str] = Counter()
        for pid in [os.getpid(), self._jvm, *_descendants(self._jvm)]:
            used_us = cpu_us_of(pid)
            if used_us is not None:
                self._last_us[pid] = used_us
                memory_bytes[self._kind(pid)] += _memory_bytes(pid)
        if memory_bytes.total() > self.memory_bytes.total():
            self.memory_bytes = memory_bytes


def _memory_bytes(pid: int) -> int:
    """Return the resident memory of a process, with its share of what it shares."""
    with suppress(OSError, LookupError):  # it has ended
        return status_bytes(pid, "Pss", "smaps_rollup")
    return 0


def _descendants(pid: int) -> list[int]:
    found = []
    with suppress(OSError):
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, path.read_text(encoding="ascii").split()):
                found += [child, *_descendants(child)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6, help="about so many (default 1e6)")
    parser.add_argument(
        "--copy-ms", type=int, default=COPY_MS, help=f"between two copies (default {COPY_MS})"
    )
    parser.add_argument("--run", help="the --out of a small run to repeat")
    parser.add_argument("--out", help="where the copies are, or are kept")
    parser.add_argument("--master", default="local[2]", help="Spark master (default: local[2])")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        large = Storage(options.out or f"{folder}/large")
        if not run_ids(large):
            if not options.run:
                progress("a small run")
                make_small_run(f"{folder}/small")
            progress(f"{options.rows:,.0f} rows")
            small = Storage(options.run or f"{folder}/small")
            write_copies(small, large, round(options.rows), options.copy_ms)
        progress("summary")
        print_line(
            {
                "measurement": "load summary",
                "master": options.master,
                "figures": measure(large, options.master),
                "command": " ".join(["python -m benchmarks.load_summary", *sys.argv[1:]]),
            }
        )


if __name__ == "__main__":
    main()
