"""The outputs of a run: its summary, report and charts, and the exit status."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console

from loadgen import host_info, terminal
from loadgen.analysis.benchmark_result import benchmark_result
from loadgen.analysis.checks import THIS_RUN
from loadgen.analysis.histogram_files import histogram_files
from loadgen.analysis.tables import as_csv
from loadgen.fault_rows import RECORD as FAULTS
from loadgen.fault_rows import read_rows
from loadgen.phases import Phases
from loadgen.plan.plan import RECORDS
from loadgen.plan.redaction import without_passwords
from loadgen.receipts import RECEIPTS
from loadgen.rows import RESULTS
from loadgen.run_record import STARTED_FORMAT, RunRecord
from loadgen.spark_session import end_python_jobs
from loadgen.storage import Storage
from loadgen.worker_reports import RECORD, ended_us, missing_in, read_reports, rows_in, summary_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from loadgen.analysis.summary import Summarised

OK, FAILED, INVALID = 0, 1, 3
BENCHMARK_FILE = "openmessaging.json"


def summary_of_run(
    spark: "SparkSession", storage: Storage, record: RunRecord, *, ends_session: bool = False
) -> "Summarised":
    """Return the content of `summary.json` for a run whose rows are in the storage, and histograms.

    It names what is missing. A record that the plan does not keep is removed. `ends_session` says
    that nothing follows in the session.
    """
    from loadgen.analysis.summary import (  # noqa: PLC0415 - slow to import
        RunData,
        is_distributed,
        summarise,
    )

    plan = record.plan
    reports = read_reports(storage, record.folder(RECORD))
    missing = missing_in(reports, record.workers)
    reasons = [*record.reasons, *missing]
    end_us = ended_us(reports) or 0
    rows = rows_in(reports, record.workers)
    uses_python = rows is None or is_distributed(rows)
    read_back_path = storage.of(*record.folder("read-back")) if record.has_read_back else None
    has_receipts = storage.has(*record.folder(RECEIPTS))
    data = RunData(
        plan,
        record.target,
        storage.of(*record.folder(RESULTS)),
        read_back_path,
        end_us if reasons else None,
        record.shadow_report,
        record.offsets,
        rows,
        storage.of(*record.folder(RECEIPTS)) if has_receipts else None,
        read_rows(storage, record.folder(FAULTS)),
        storage.settings,
    )
    # The end of the jobs in Python takes a second, which passes beside the summary if it has none.
    if ends_session and not uses_python:
        end_python_jobs(spark)
    summarised = summarise(spark, data)
    if ends_session and uses_python:
        end_python_jobs(spark)
    summary = summarised.summary
    by_worker = summary_of(reports)
    summary["workers"] = [row | by_worker.get(row["worker"], {}) for row in summary["workers"]]
    cpu_us = sum(worker["cpu_us"] for worker in summary["workers"])
    wall_us = max((worker["wall_us"] for worker in summary["workers"]), default=0)
    generator = host_info.percent(cpu_us, wall_us, os.cpu_count() or 1)
    summary["host"] = {
        "generator_percent": generator,
        "jvm_percent": None,
        "broker_percent": None,
        **record.host,
        **host_info.describe(),
    }
    summary["is_complete"], summary["abort_reasons"] = not reasons, reasons
    summary["missing"] = missing
    for name in set(RECORDS) - set(plan.record):
        storage.remove(*record.folder(name))
    summary |= {
        "plan": plan.name,
        "run_id": record.run_id,
        "started": record.started,
        "duration_s": plan.duration_s,
        "seed": plan.seed,
        "master": record.master,
        "workers_count": record.workers,
        "target": record.servers,
        "unsupported_quotas": record.target.unknown_quotas,
    }
    return summarised


def write_outputs(
    summarised: "Summarised", record: RunRecord, storage: Storage, phases: Phases | None = None
) -> None:
    """Write the summary, with the phases so far, then the report with its charts and histograms.

    Raises:
        StorageError: they cannot be written.
    """
    from loadgen.analysis.charts import draw  # noqa: PLC0415 - slow to import
    from loadgen.analysis.report import render  # noqa: PLC0415

    summary = summarised.summary
    summary["phases"] = phases.as_rows() if phases is not None else []
    text = json.dumps(summary, indent=1, ensure_ascii=False)
    storage.write(f"{text}\n".encode(), "summary.json")
    charts = draw(summary, record.plan, record.target.config)
    _replace_folder(
        storage, "charts", {f"{name}.svg": svg.encode() for name, svg in charts.items()}
    )
    tables = as_csv(summary)
    _replace_folder(storage, "tables", {f"{name}.csv": tables[name] for name in tables})
    began_epoch_s = (
        datetime.strptime(record.started, STARTED_FORMAT).replace(tzinfo=UTC).timestamp()
    )
    histograms = histogram_files(summarised.measured, record.plan, began_epoch_s)
    result = benchmark_result(summary, summarised.measured, summarised.cells, record.plan)
    files = {name: text.encode() for name, text in histograms.items()}
    files[BENCHMARK_FILE] = f"{json.dumps(result, indent=1)}\n".encode()
    _replace_folder(storage, "histograms", files)
    plan_text = without_passwords(record.plan.text)
    storage.write(render(summary, charts, plan_text).encode(), "report.html")
    storage.write(plan_text.encode(), "plan.yaml")


def _replace_folder(storage: Storage, folder: str, files: Mapping[str, bytes]) -> None:
    """Write the files of a folder, which has no others afterwards.

    Raises:
        StorageError: they cannot be written.
    """
    storage.create(folder)
    for stale in storage.names(folder):
        storage.remove(folder, stale)
    for name, content in files.items():
        storage.write(content, folder, name)


def print_outputs(summary: Mapping[str, Any], storage: Storage) -> None:
    """Print the verdicts and where the report is."""
    console = Console()
    # Without a terminal rich would wrap the lines at 80 columns.
    console = console if console.is_terminal else Console(width=140)
    terminal.print_summary(summary, storage.of("report.html"), console)


def exit_status_of(summary: Mapping[str, Any], console: Console) -> int:
    """Return the exit status, and print why it is INVALID."""
    status = exit_status(summary)
    if status == INVALID:
        console.print("invalid: the load generator was late, so its latencies are not reliable")
    return status


def exit_status(summary: Mapping[str, Any]) -> int:
    """Return FAILED for the target, INVALID if only the load generator failed its own check."""
    scopes = {v["scope"] for v in summary["verdicts"] if v["verdict"] == "failed"}
    if scopes - {THIS_RUN} or not summary["is_complete"]:
        return FAILED
    return INVALID if scopes else OK
