"""One run of a plan, from the preparation of the target to the report."""

import argparse
import dataclasses
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import structs
from rich.console import Console

from loadgen import clock, host_info, terminal
from loadgen.admin_port import AdminPort, AdminPortError
from loadgen.analysis.committed_offsets import committed_offsets
from loadgen.clock_offset import ClockServer
from loadgen.command_error import CommandError
from loadgen.ctrl_c import CtrlC
from loadgen.fault_rows import RECORD as FAULTS
from loadgen.fault_target import FaultTarget
from loadgen.fault_timeline import FaultTimeline
from loadgen.leader_moves import KafkaLeaders
from loadgen.meeting_place import MeetingPlace
from loadgen.outputs import exit_status_of, print_outputs, summary_of_run, write_outputs
from loadgen.phases import Phases
from loadgen.plan.merged_plan import merged
from loadgen.plan.plan import Plan
from loadgen.plan.plan_file import load_plan
from loadgen.plan.run_spec import STOPPED_BY_USER, RunSpec
from loadgen.plan.schedule import event_counts
from loadgen.plan.yaml_reader import PlanError
from loadgen.preparation import open_files_needed, prepare, slots_error
from loadgen.progress import Progress, ProgressListener
from loadgen.rows import RESULTS
from loadgen.run_record import STARTED_FORMAT, RunRecord
from loadgen.session_start import SessionStart
from loadgen.spark_connect import cancel_jobs
from loadgen.spark_session import (
    driver_host,
    first_line,
    is_local_session,
    jvm_pid,
    slots_of,
    spark_settings,
    wrong_spark_settings,
)
from loadgen.storage import Storage, StorageError, settings_of
from loadgen.worker.segments import STOP_FILE
from loadgen.worker_reports import RECORD, read_reports, reasons_in, rows_in
from protocol.environment import EnvironmentVariableError, resolve_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from loadgen.analysis.summary import Summarised
    from loadgen.live.live_run import LiveRun


_NEEDED_LATER = (
    ".spark_job",
    ".analysis.summary",
    ".analysis.read_back",
    ".analysis.charts",
    ".analysis.report",
)
_LEAD_S = 0.5
"""From the last worker's readiness to time zero, where the workers meet at the driver."""


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


class LoadError(CommandError):
    """The run failed and has no results; the message is one line."""


def run(
    options: argparse.Namespace,
    session: Callable[[], AbstractContextManager["SparkSession"]],
    own_broker: OwnBrokerFactory,
    *,
    ends_session: bool = False,
) -> int:
    """Run the plan and return the exit status.

    `outputs.exit_status` describes it. The arguments are those of `run_plan`.

    Raises:
        LoadError, PlanError, PreparationError, SessionError, StorageError: the load could not
            start.
    """
    console = Console(stderr=True)
    phases = Phases(host_info.age_us(), lambda phase: _show(phase, console))
    with phases.measured("plan"):
        plan = _plan_of(options)
    summary, storage = run_plan(
        plan, options, session, own_broker, console, phases=phases, ends_session=ends_session
    )
    print_outputs(summary, storage)
    console.print(phases.as_line())
    return exit_status_of(summary, console)


def _show(phase: str, console: Console) -> None:
    """Say what the user waits for once the load has started; an error before it is one line."""
    if phase in {"load, with the start of the workers", "topics read back", "summary", "report"}:
        console.print(f"... {phase}")


def run_plan(
    plan: Plan,
    options: argparse.Namespace,
    session: Callable[[], AbstractContextManager["SparkSession"]],
    own_broker: OwnBrokerFactory,
    console: Console,
    ctrl_c: CtrlC | None = None,
    phases: Phases | None = None,
    *,
    ends_session: bool = False,
) -> tuple[dict[str, Any], Storage]:
    """Run the plan, write its outputs, and return its summary and where they are.

    Args:
        plan: the load.
        options: those of `options.add_target_options`, and `out`.
        session: opens the session, in another thread: while the cluster starts, or once a target
            that may be wrong is prepared.
        own_broker: starts a cluster if the options and the plan name none.
        console: for the progress.
        ctrl_c: knows afterwards whether Ctrl-C was pressed.
        phases: measures the phases of the run.
        ends_session: whether the session ends with the run.

    Raises:
        LoadError, PlanError, PreparationError, SessionError, StorageError: the load could not
            start.
    """
    phases = phases or Phases()
    workers = _workers_of(plan, options)
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise LoadError("Spark needs Java 17 or newer: there is no `java` on the PATH")
    _allow_open_files(open_files_needed(plan, workers))
    storage = Storage(options.out)
    if storage.is_local:
        storage.create()
    started = datetime.now(UTC)  # noqa: TID251 - names the run and its report
    run_id = f"{plan.name}-{started:%Y%m%dT%H%M%S}"
    ctrl_c = ctrl_c or CtrlC()
    with ExitStack() as until_written:
        with ExitStack() as stack:
            given = options.bootstrap_server or plan.target.bootstrap_servers
            broker: OwnBroker | None = None
            start: SessionStart | None = None
            if given is None:
                start = until_written.enter_context(SessionStart(session, phases))
                with phases.measured("start of the cluster"):
                    broker = stack.enter_context(_started_for(plan, own_broker))
            servers = broker.bootstrap_servers if broker is not None else str(given)
            admin_port = _admin_port(options, plan, broker)
            sets_quotas = broker is not None or options.set_quotas
            with phases.measured("preparation of the target"):
                target = prepare(
                    plan, run_id, servers, sets_quotas=sets_quotas, admin_port=admin_port
                )
            plan = plan.all_in_shadow() if target.is_shadow else plan
            console.print(f"{plan.name}: {sum(event_counts(plan)):,} events, target {servers}")
            start = start or until_written.enter_context(SessionStart(session, phases))
            _import_ahead()
            spark = start.result()
            until_written.enter_context(ctrl_c.handled(console))
            storage = dataclasses.replace(storage, settings=settings_of(spark_settings(spark)))
            live = _live_run(options, console)
            if live is not None:
                until_written.callback(live.close)
            at = started.strftime(STARTED_FORMAT)
            record = RunRecord(run_id, plan, target, servers, options.master, at, workers)
            _send_and_read_back(
                spark, record, storage, console, ctrl_c, broker, admin_port, phases, live
            )
            with phases.measured("summary"):
                summarised = summary_of_run(spark, storage, record, ends_session=ends_session)
            if live is not None:
                live.finish(summarised.summary)
            start.close()
        with phases.measured("report"):
            _write_or_say_why_not(summarised, record, storage, phases)
    return summarised.summary, storage


def _write_or_say_why_not(
    summarised: "Summarised", record: RunRecord, storage: Storage, phases: Phases
) -> None:
    """Write the outputs; if that fails, the figures of the run are shown all the same."""
    try:
        write_outputs(summarised, record, storage, phases)
    except StorageError as error:
        summarised.summary["is_complete"] = False
        summarised.summary["abort_reasons"].append(str(error))


def _started_for(plan: Plan, own_broker: OwnBrokerFactory) -> AbstractContextManager[OwnBroker]:
    return own_broker(plan.target.brokers, plan.own_broker_config(), plan.needs_admin_port)


def _import_ahead() -> None:
    """Import what the run needs later, while Spark starts."""
    for name in _NEEDED_LATER:
        import_module(name, __package__)


def _workers_of(plan: Plan, options: argparse.Namespace) -> int:
    """Return the number of workers.

    Raises:
        LoadError: the master has too few slots for them, or the plan too few clients.
    """
    slots = slots_of(options.master)
    clients = sum(tenant.clients for tenant in plan.tenants)
    workers: int = options.workers or min(slots or 2, clients)
    error = slots_error(plan, workers, slots or workers)
    if error is not None:
        raise LoadError(error)
    return workers


def _live_run(options: argparse.Namespace, console: Console) -> "LiveRun | None":
    """Return the live view of the run if there is to be one."""
    if options.live_port is None:
        return None
    from loadgen.live.live_run import LiveRun  # noqa: PLC0415 - few runs need it

    return LiveRun(options.live_host, options.live_port, console)


def _plan_of(options: argparse.Namespace) -> Plan:
    if options.rate_scale <= 0 or (options.duration is not None and options.duration <= 0):
        raise PlanError("--rate-scale and --duration must be greater than 0")
    plans = [load_plan(name) for name in (options.plan, *options.others)]
    plan = merged(plans).scaled(options.rate_scale, options.duration)
    plan = plan if options.seed is None else structs.replace(plan, seed=options.seed)
    event_counts(plan)  # raises for too many events
    return plan


def _admin_port(
    options: argparse.Namespace, plan: Plan, broker: OwnBroker | None
) -> AdminPort | None:
    if broker is None:
        return AdminPort(options.admin, _admin_token(options)) if options.admin else None
    if not plan.needs_admin_port:
        return None
    return AdminPort(broker.admin_url, plan.target.config.get("broker.admin.token"))


def _admin_token(options: argparse.Namespace) -> str | None:
    if options.admin_token is None:
        return None
    try:
        return resolve_environment(options.admin_token, os.environ)
    except EnvironmentVariableError as error:
        raise LoadError(f"--admin-token {error}") from error


def _send_and_read_back(
    spark: "SparkSession",
    record: RunRecord,
    storage: Storage,
    console: Console,
    ctrl_c: CtrlC,
    broker: OwnBroker | None,
    admin_port: AdminPort | None,
    phases: Phases,
    live: "LiveRun | None" = None,
) -> None:
    """Send the load and read its topics back; a step that fails is one of the record's reasons."""
    wrong_settings = wrong_spark_settings(spark)
    if wrong_settings:
        raise LoadError("; ".join(wrong_settings))
    plan = record.plan
    spec = RunSpec(record.run_id, plan, record.target.topology, record.workers)
    record.write(storage)
    show_faults = live.show_faults if live is not None else lambda _rows: None
    fault_target = FaultTarget(admin_port, KafkaLeaders(plan, record.servers))
    faults = FaultTimeline(plan.faults, fault_target, show_faults)
    with live.reading(record, storage) if live is not None else nullcontext():
        started_us = clock.now_us()
        pids = {"jvm_percent": jvm_pid(spark), "broker_percent": broker.pid if broker else None}
        cpu_us = {name: host_info.cpu_us_of(pid) for name, pid in pids.items()}
        with phases.measured("load, with the start of the workers"):
            reasons = _send(spark, spec, storage, console, ctrl_c, faults)
        wall_us = clock.now_us() - started_us
        cpus = os.cpu_count() or 1
        record.host = {
            name: host_info.percent(_cpu_us_since(cpu_us[name], pid), wall_us, cpus)
            for name, pid in pids.items()
        }
        if live is not None:
            live.read_all()
    reasons += faults.reasons
    if admin_port is not None and not plan.needs_only_faults:
        try:
            # Before the topics are read back: quotas on fetched bytes would count that.
            record.shadow_report = list(admin_port.shadow_report())
        except AdminPortError as error:
            reasons.append(f"no report of shadow quotas: {error}")
    # Reading the topics back takes long.
    if plan.read_back and plan.topics and STOPPED_BY_USER not in reasons:
        with phases.measured("topics read back"):
            reasons += _read_back(spark, spec, record, storage, ctrl_c)
    record.reasons = reasons
    try:
        faults.write(storage, spec.folder(FAULTS))
        record.write(storage)
    except StorageError as error:  # the disk is full: what was written is reported
        record.reasons.append(str(error))


def _send(
    spark: "SparkSession",
    spec: RunSpec,
    storage: Storage,
    console: Console,
    ctrl_c: CtrlC,
    faults: FaultTimeline,
) -> list[str]:
    """Send the load; return why it is incomplete.

    Raises:
        LoadError: no worker has started.
    """
    from loadgen.spark_job import run_load  # noqa: PLC0415 - imports Spark and Arrow

    driver = driver_host(spark)
    with (
        terminal.progress_bar(spec.plan, console) as show,
        faults,
        ProgressListener(_both(faults.take, show), driver) as listener,
        ClockServer(driver) as clock_server,
        MeetingPlace(spec.workers, driver) as meeting_place,
    ):
        spec = dataclasses.replace(
            spec, progress_address=listener.address, clock_address=clock_server.address
        )
        if is_local_session(spark):
            # Elsewhere the driver may be out of the workers' reach.
            spec = dataclasses.replace(spec, meeting_address=meeting_place.address, lead_s=_LEAD_S)
        ctrl_c.stop_workers(listener, lambda: storage.write(b"", *spec.folder(RESULTS), STOP_FILE))
        reasons = []
        try:
            reports = run_load(spark, spec, storage)
        except Exception as error:
            reports = read_reports(storage, spec.folder(RECORD))
            if not reports:
                raise LoadError(f"the Spark job failed: {_cause(error)}") from error
            reasons = [f"the Spark job failed: {first_line(error)}"]
        ctrl_c.finish()
    return [*reasons_in(reports), *reasons]


def _both(
    first: Callable[[Progress], None], second: Callable[[Progress], None]
) -> Callable[[Progress], None]:
    def call(progress: Progress) -> None:
        first(progress)
        second(progress)

    return call


def _cause(error: Exception) -> str:
    cause = first_line(error)
    if "No module named" in cause:
        cause += "; --environment brings an archive of `mock-kafka load pack` to the workers"
    return cause


def _read_back(
    spark: "SparkSession", spec: RunSpec, record: RunRecord, storage: Storage, ctrl_c: CtrlC
) -> list[str]:
    """Read the topics back; return why they are incomplete."""
    from loadgen.analysis.read_back import read_back  # noqa: PLC0415 - imports Arrow

    try:
        with ctrl_c.cancelling(partial(cancel_jobs, spark)):
            reports = read_reports(storage, spec.folder(RECORD))
            rows = rows_in(reports, spec.workers)
            read_back(spark, spec, storage, rows, lambda: ctrl_c.was_pressed)
            record.offsets = committed_offsets(spec)
    except Exception as error:  # noqa: BLE001 - Spark wraps errors in its own types
        reason = f"the topics could not be read back: {first_line(error)}"
        return [STOPPED_BY_USER if ctrl_c.was_pressed else reason]
    record.has_read_back = True
    return []


def _cpu_us_since(before_us: int | None, pid: int | None) -> int | None:
    now_us = host_info.cpu_us_of(pid)
    return None if before_us is None or now_us is None else now_us - before_us


def _allow_open_files(count: int) -> None:
    try:
        import resource  # noqa: PLC0415 - not on Windows, which has no such limit for sockets
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))
