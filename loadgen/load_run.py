"""One run of a plan, from the preparation of the target to the report."""

import argparse
import json
import os
import resource
import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace
from rich.console import Console

from loadgen import clock, host_info, terminal
from loadgen.admin_port import AdminPort, AdminPortError
from loadgen.analysis.checks import THIS_RUN
from loadgen.analysis.committed_offsets import CommittedOffset, committed_offsets
from loadgen.ctrl_c import CtrlC
from loadgen.plan.plan import RECORDS, Plan
from loadgen.plan.plan_file import load_plan
from loadgen.plan.redaction import without_passwords
from loadgen.plan.run_spec import STOPPED_BY_USER, PreparedTarget, RunSpec
from loadgen.plan.schedule import event_counts
from loadgen.plan.yaml_reader import PlanError
from loadgen.preparation import open_files_needed, prepare, slots_error
from loadgen.progress import ProgressListener
from loadgen.spark_session import first_line, slots_of, wrong_spark_settings
from protocol.environment import EnvironmentVariableError, resolve_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OK, FAILED, INVALID = 0, 1, 3


class OwnBroker(Protocol):
    """A cluster that was started for the run."""

    @property
    def bootstrap_servers(self) -> str:
        """Its addresses."""

    @property
    def pid(self) -> int:
        """Its process id."""

    @property
    def admin_url(self) -> str:
        """The URL of its admin port, if it was started with one."""


OwnBrokerFactory = Callable[[int, dict[str, str], bool], AbstractContextManager[OwnBroker]]
"""Starts a cluster: number of brokers, configuration, whether it has an admin port."""


class LoadError(Exception):
    """The run failed and has no results; the message is one line."""


@dataclass(frozen=True, slots=True)
class Paths:
    """The files of a run. Rows are kept for each run; other files are those of the last run."""

    out: Path
    run_id: str

    def of(self, record: str) -> str:
        """Return the folder of one of `plan.RECORDS`."""
        return f"{self.out}/{record}/run={self.run_id}"


def run(
    options: argparse.Namespace,
    session: Callable[[], AbstractContextManager["SparkSession"]],
    own_broker: OwnBrokerFactory,
) -> int:
    """Run the plan and return the exit status.

    It is FAILED after an abort or a failed check of the broker. It is INVALID if only the check of
    the load generator failed.

    Raises:
        LoadError, PlanError, PreparationError, SessionError: the load could not start.
    """
    plan = _plan_of(options)
    slots = slots_of(options.master)
    clients = sum(tenant.clients for tenant in plan.tenants)
    workers = options.workers or min(slots or 2, clients)
    error = slots_error(plan, workers, slots or workers)
    if error is not None:
        raise LoadError(error)
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise LoadError("Spark needs Java 17 or newer: there is no `java` on the PATH")
    _allow_open_files(open_files_needed(plan, workers))
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    started = datetime.now(UTC)  # noqa: TID251 - names the run and its report
    run_id = f"{plan.name}-{started:%Y%m%dT%H%M%S}"
    paths = Paths(options.out, run_id)
    console = Console(stderr=True)
    ctrl_c = CtrlC()
    with ExitStack() as until_written:
        with ExitStack() as stack:
            servers = options.bootstrap_server or plan.target.bootstrap_servers
            broker: OwnBroker | None = None
            if servers is None:
                broker = stack.enter_context(
                    own_broker(
                        plan.target.brokers, plan.own_broker_config(), plan.has_shadow_quotas
                    )
                )
                servers = broker.bootstrap_servers
            admin_port = _admin_port(options, plan, broker)
            sets_quotas = broker is not None or options.set_quotas
            target = prepare(plan, run_id, servers, sets_quotas=sets_quotas, admin_port=admin_port)
            if target.is_shadow:
                plan = plan.all_in_shadow()
            console.print(f"{plan.name}: {sum(event_counts(plan)):,} events, target {servers}")
            spark = stack.enter_context(session())
            until_written.enter_context(ctrl_c.handled(console))
            summary = _send_and_summarise(
                spark, plan, target, paths, workers, console, ctrl_c, broker, admin_port
            )
            summary |= {
                "plan": plan.name,
                "run_id": run_id,
                "started": f"{started:%Y-%m-%d %H:%M:%S} UTC",
                "duration_s": plan.duration_s,
                "seed": plan.seed,
                "master": options.master,
                "workers_count": workers,
                "target": servers,
                "unsupported_quotas": target.unknown_quotas,
            }
        _write(summary, plan, target, paths)
        console = Console()
        # Without a terminal rich would wrap the lines at 80 columns.
        console = console if console.is_terminal else Console(width=140)
        terminal.print_summary(summary, paths.out / "report.html", console)
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


def _plan_of(options: argparse.Namespace) -> Plan:
    if options.rate_scale <= 0 or (options.duration is not None and options.duration <= 0):
        raise PlanError("--rate-scale and --duration must be greater than 0")
    plan = load_plan(options.plan).scaled(options.rate_scale, options.duration)
    plan = plan if options.seed is None else replace(plan, seed=options.seed)
    event_counts(plan)  # raises for too many events
    return plan


def _admin_port(
    options: argparse.Namespace, plan: Plan, broker: OwnBroker | None
) -> AdminPort | None:
    if broker is None:
        return AdminPort(options.admin, _admin_token(options)) if options.admin else None
    if not plan.has_shadow_quotas:
        return None
    return AdminPort(broker.admin_url, plan.target.config.get("broker.admin.token"))


def _admin_token(options: argparse.Namespace) -> str | None:
    if options.admin_token is None:
        return None
    try:
        return resolve_environment(options.admin_token, os.environ)
    except EnvironmentVariableError as error:
        raise LoadError(f"--admin-token {error}") from error


def _send_and_summarise(
    spark: "SparkSession",
    plan: Plan,
    target: PreparedTarget,
    paths: Paths,
    workers: int,
    console: Console,
    ctrl_c: CtrlC,
    broker: OwnBroker | None,
    admin_port: AdminPort | None,
) -> dict[str, Any]:
    """Send the load, read its topics back, and return the summary.

    A later step that fails is one of the summary's abort reasons.
    """
    from loadgen.analysis.read_back import read_back  # noqa: PLC0415
    from loadgen.analysis.summary import RunData, summarise  # noqa: PLC0415
    from loadgen.spark_job import run_load  # noqa: PLC0415 - these import Spark and Arrow

    wrong_settings = wrong_spark_settings(spark)
    if wrong_settings:
        raise LoadError("; ".join(wrong_settings))
    started_us = clock.now_us()
    pids = {"jvm_percent": _jvm_pid(spark), "broker_percent": broker.pid if broker else None}
    cpu_us = {name: host_info.cpu_us_of(pid) for name, pid in pids.items()}
    driver = spark.conf.get("spark.driver.host", None) or "127.0.0.1"
    with (
        terminal.progress_bar(plan, console) as show,
        ProgressListener(show, driver) as listener,
    ):
        spec = RunSpec(paths.run_id, plan, target.topology, workers, listener.address)
        ctrl_c.stop_workers(listener)
        try:
            run_load(spark, spec, str(paths.out))
        except Exception as error:
            raise LoadError(f"the Spark job failed: {first_line(error)}") from error
        ctrl_c.finish()
        reasons, ended_us = listener.progress.reasons, round(listener.progress.t_s * 1e6)
    wall_us = clock.now_us() - started_us
    cpus = os.cpu_count() or 1
    shares = {
        name: host_info.percent(_cpu_us_since(cpu_us[name], pid), wall_us, cpus)
        for name, pid in pids.items()
    }
    shadow_report = []
    if admin_port is not None:
        try:
            # Before the topics are read back: quotas on fetched bytes would count that.
            shadow_report = admin_port.shadow_report()
        except AdminPortError as error:
            reasons.append(f"no report of shadow quotas: {error}")
    read_back_path: str | None = None
    offsets: list[CommittedOffset] = []
    # Reading the topics back takes long.
    if plan.read_back and plan.topics and STOPPED_BY_USER not in reasons:
        try:
            with ctrl_c.cancelling(spark.sparkContext.cancelAllJobs):
                read_back(spark, spec, paths.of("read-back"))
                offsets = committed_offsets(spec)
            read_back_path = paths.of("read-back")
        except Exception as error:  # noqa: BLE001 - Spark wraps errors in its own types
            reason = f"the topics could not be read back: {first_line(error)}"
            reasons.append(STOPPED_BY_USER if ctrl_c.was_pressed else reason)
    stopped_us = ended_us if reasons else None
    data = RunData(
        plan, target, paths.of("results"), read_back_path, stopped_us, shadow_report, offsets
    )
    summary = summarise(spark, data)
    workers_cpu_us = sum(worker["cpu_us"] for worker in summary["workers"])
    workers_wall_us = max((worker["wall_us"] for worker in summary["workers"]), default=0)
    generator = host_info.percent(workers_cpu_us, workers_wall_us, cpus)
    summary["host"] = {"generator_percent": generator, **shares, **host_info.describe()}
    summary["is_complete"], summary["abort_reasons"] = not reasons, reasons
    for record in set(RECORDS) - set(plan.record):
        shutil.rmtree(paths.of(record), ignore_errors=True)
    return summary


def _cpu_us_since(before_us: int | None, pid: int | None) -> int | None:
    now_us = host_info.cpu_us_of(pid)
    return None if before_us is None or now_us is None else now_us - before_us


def _jvm_pid(spark: "SparkSession") -> int | None:
    """Return the process id of the driver's JVM if this process started it."""
    gateway = getattr(getattr(spark, "sparkContext", None), "_gateway", None)
    process = getattr(gateway, "proc", None)
    return None if process is None else int(process.pid)


def _allow_open_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


def _write(summary: dict[str, Any], plan: Plan, target: PreparedTarget, paths: Paths) -> None:
    from loadgen.analysis.charts import draw  # noqa: PLC0415 - slow to import
    from loadgen.analysis.report import render  # noqa: PLC0415

    text = json.dumps(summary, indent=1, ensure_ascii=False)
    (paths.out / "summary.json").write_text(text + "\n", encoding="utf-8")
    charts = draw(summary, plan, target.config)
    folder = paths.out / "charts"
    folder.mkdir(exist_ok=True)
    for stale in folder.glob("*.png"):
        stale.unlink()
    for name, png in charts.items():
        (folder / f"{name}.png").write_bytes(png)
    plan_text = without_passwords(plan.text)
    (paths.out / "report.html").write_text(render(summary, charts, plan_text), encoding="utf-8")
    (paths.out / "plan.yaml").write_text(plan_text, encoding="utf-8")
