"""`mock-kafka load`: from a plan to a folder with rows, a summary and a report."""

import argparse
import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from client.errors import ClientError
from loadgen import clock
from loadgen import host_info as machine
from loadgen.admin_port import AdminPort, AdminPortError
from loadgen.analysis.checks import THIS_RUN
from loadgen.plan.plan import RECORDS, Plan, built_in_plans, load_plan
from loadgen.plan.run_spec import STOPPED_BY_USER, RunSpec
from loadgen.plan.schedule import event_counts
from loadgen.plan.yaml_reader import PlanError
from loadgen.preparation import (
    Found,
    PreparationError,
    open_files_needed,
    prepare,
    slots_error,
)
from loadgen.progress import Listener, Speed, Standing
from loadgen.spark_session import (
    SessionError,
    dishonest_settings,
    first_line,
    load_session,
    slots_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OK, BROKEN, USAGE_ERROR, INTERRUPTED = 0, 1, 2, 130
_COLOURS = {"kept": "green", "broken": "bold red", "not judged": "dim"}


class OwnBroker(Protocol):
    """A cluster that was started for the run."""

    @property
    def bootstrap_servers(self) -> str:
        """Where it is."""

    @property
    def pid(self) -> int:
        """Its process."""

    @property
    def admin_url(self) -> str:
        """Where its admin port is, if it was started with one."""


Broker = Callable[[int, dict[str, str], bool], AbstractContextManager[OwnBroker]]
"""Starts a cluster of so many brokers with this configuration, with an admin port or without."""


class LoadError(Exception):
    """There is nothing to report; one line."""


def parser_of(program: str) -> argparse.ArgumentParser:
    """The options of the command."""
    plans = "\n".join(f"  {name:16} {text}" for name, text in built_in_plans().items())
    parser = argparse.ArgumentParser(
        prog=program,
        description="Drive a Kafka cluster by a load plan, and judge what it promised.",
        epilog=f"built-in plans:\n{plans}\n\nA plan of your own: docs/load.md.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("plan", metavar="PLAN_OR_NAME", help="a YAML file, or a built-in plan")
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT[,HOST:PORT...]",
        help="the cluster; without it, one is started for the run, with the plan's quotas",
    )
    parser.add_argument(
        "--set-quotas", action="store_true", help="set the plan's quotas on that cluster"
    )
    parser.add_argument(
        "--admin", metavar="URL", help="that cluster's admin port, for quotas in shadow mode"
    )
    parser.add_argument("--admin-token", metavar="TOKEN", help="its broker.admin.token")
    parser.add_argument("--master", default="local[2]", help="of Spark (default: local[2])")
    parser.add_argument(
        "--workers", type=int, help="tasks that send (default: one per slot of a local master)"
    )
    parser.add_argument(
        "--rate-scale", type=float, default=1.0, metavar="X", help="times the rates"
    )
    parser.add_argument("--duration", type=float, metavar="S", help="seconds, for the plan's own")
    parser.add_argument("--seed", type=int, help="for the plan's own")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where results go")
    return parser


def main(arguments: Sequence[str], own_broker: Broker) -> int:
    """Run a plan in a Spark session of its own; returns the exit status."""
    options = parser_of("mock-kafka load").parse_args(arguments)

    @contextmanager
    def session() -> Iterator["SparkSession"]:
        with load_session(options.master, options.out) as spark:
            yield spark

    return _guarded(lambda: run(options, session, own_broker))


def main_of_job(arguments: Sequence[str]) -> int:
    """The same below `spark-submit`: master and settings are Spark's own, and so is the session."""
    options = parser_of("job.py").parse_args(arguments)
    options.master = "spark-submit"  # which says who it is only once there is a session

    @contextmanager
    def session() -> Iterator["SparkSession"]:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - slow to load

        spark = SparkSession.builder.getOrCreate()
        options.master = spark.conf.get("spark.master", None) or "Spark"
        yield spark
        spark.stop()

    def no_broker(
        _brokers: int, _config: dict[str, str], _has_admin_port: bool, /
    ) -> AbstractContextManager[OwnBroker]:
        raise LoadError("below spark-submit the cluster has to be given: --bootstrap-server")

    return _guarded(lambda: run(options, session, no_broker))


def _guarded(action: Callable[[], int]) -> int:
    """The exit status; SIGTERM is taken as a Ctrl-C, so that it leaves no cluster and no JVM."""
    usual = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        return action()
    except (
        AdminPortError,
        ClientError,
        LoadError,
        PlanError,
        PreparationError,
        SessionError,
    ) as error:
        print(f"mock-kafka load: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("mock-kafka load: interrupted", file=sys.stderr)
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, usual)


@dataclass(frozen=True, slots=True)
class Paths:
    """A run's files; rows are partitioned by run, all else is the last run's."""

    out: Path
    run_id: str

    def of(self, record: str) -> str:
        """The folder of one of `plan.RECORDS`."""
        return f"{self.out}/{record}/run={self.run_id}"


def run(
    options: argparse.Namespace,
    session: Callable[[], AbstractContextManager["SparkSession"]],
    own_broker: Broker,
) -> int:
    """The whole way; returns the exit status.

    Raises:
        LoadError, PlanError, PreparationError, SessionError: it could not begin.
    """
    plan = _plan_of(options)
    slots = slots_of(options.master)
    clients = sum(tenant.clients for tenant in plan.tenants)
    workers = options.workers or min(slots or 2, clients)
    wrong = slots_error(plan, workers, slots or workers)
    if wrong is not None:
        raise LoadError(wrong)
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise LoadError("Spark needs Java 17 or newer: there is no `java` on the PATH")
    _allow_open_files(open_files_needed(plan, workers))
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    began = datetime.now(UTC)  # noqa: TID251 - for people: names the run and its page
    run_id = f"{plan.name}-{began:%Y%m%dT%H%M%S}"
    paths = Paths(options.out, run_id)
    console = Console(stderr=True)
    with ExitStack() as stack:
        servers = options.bootstrap_server or plan.target.bootstrap_servers
        broker: OwnBroker | None = None
        if servers is None:
            broker = stack.enter_context(
                own_broker(plan.target.brokers, plan.own_broker_config(), plan.has_shadow_quotas)
            )
            servers = broker.bootstrap_servers
        admin_port = _admin_port(options, plan, broker)
        sets_quotas = broker is not None or options.set_quotas
        found = prepare(plan, run_id, servers, sets_quotas=sets_quotas, admin_port=admin_port)
        if found.is_shadow:
            plan = plan.all_in_shadow()
        console.print(f"{plan.name}: {sum(event_counts(plan)):,} events, target {servers}")
        spark = stack.enter_context(session())
        summary = _drive(spark, plan, found, paths, workers, console, broker, admin_port)
        summary |= {
            "plan": plan.name,
            "run_id": run_id,
            "began": f"{began:%Y-%m-%d %H:%M:%S} UTC",
            "duration_s": plan.duration_s,
            "seed": plan.seed,
            "master": options.master,
            "workers_count": workers,
            "target": servers,
            "quotas_unknown_to_target": found.unknown_quotas,
        }
    _write(summary, plan, found, paths)
    console = Console()
    # Logs have no width of their own.
    _print(summary, paths, console if console.is_terminal else Console(width=140))
    is_good = summary["is_complete"] and not any(
        each["verdict"] == "broken" and each["about"] != THIS_RUN for each in summary["verdicts"]
    )
    return OK if is_good else BROKEN


def _plan_of(options: argparse.Namespace) -> Plan:
    if options.rate_scale <= 0 or (options.duration is not None and options.duration <= 0):
        raise PlanError("--rate-scale and --duration are above 0")
    plan = load_plan(options.plan).scaled(options.rate_scale, options.duration)
    plan = plan if options.seed is None else replace(plan, seed=options.seed)
    event_counts(plan)
    return plan


def _admin_port(
    options: argparse.Namespace, plan: Plan, broker: OwnBroker | None
) -> AdminPort | None:
    if broker is None:
        return AdminPort(options.admin, options.admin_token) if options.admin else None
    if not plan.has_shadow_quotas:
        return None
    return AdminPort(broker.admin_url, plan.target.config.get("broker.admin.token"))


def _drive(
    spark: "SparkSession",
    plan: Plan,
    found: Found,
    paths: Paths,
    workers: int,
    console: Console,
    broker: OwnBroker | None,
    admin_port: AdminPort | None,
) -> dict[str, Any]:
    """Send the load, read it back, and summarise; a part that fails is told in the summary."""
    from loadgen.analysis.read_back import read_back  # noqa: PLC0415
    from loadgen.analysis.summary import RunData, summarise  # noqa: PLC0415
    from loadgen.job import run_load  # noqa: PLC0415 - these load Spark and Arrow

    wrong = dishonest_settings(spark)
    if wrong:
        raise LoadError("; ".join(wrong))
    began_us = clock.now_us()
    pids = {"jvm_percent": _jvm_pid(spark), "broker_percent": broker.pid if broker else None}
    cpu_us = {name: machine.cpu_us_of(pid) for name, pid in pids.items()}
    driver = spark.conf.get("spark.driver.host", None) or "127.0.0.1"
    with _bar(plan, console) as show, Listener(show, driver) as listener:
        spec = RunSpec(paths.run_id, plan, found.topology, workers, listener.address)
        with _stopping_by_ctrl_c(listener, console):
            try:
                run_load(spark, spec, str(paths.out))
            except Exception as error:
                raise LoadError(f"the Spark job failed: {first_line(error)}") from error
        reasons, ended_us = listener.standing.reasons, round(listener.standing.t_s * 1e6)
    wall_us = clock.now_us() - began_us
    cpus = os.cpu_count() or 1
    shares = {
        name: machine.percent(_spent(cpu_us[name], pid), wall_us, cpus)
        for name, pid in pids.items()
    }
    shadow_report = []
    if admin_port is not None:
        try:
            # Before the topics are read back, which quotas on fetched bytes would count.
            shadow_report = admin_port.shadow_report()
        except AdminPortError as error:
            reasons.append(f"no report of shadow quotas: {error}")
    read_back_path: str | None = paths.of("read-back") if plan.read_back and plan.topics else None
    if STOPPED_BY_USER in reasons:
        read_back_path = None  # who is in a hurry does not want to wait for that
    elif read_back_path is not None:
        try:
            read_back(spark, spec, read_back_path)
        except Exception as error:  # noqa: BLE001 - whatever Spark makes of it
            reasons.append(f"could not be read back: {first_line(error)}")
            read_back_path = None
    stopped_us = ended_us if reasons else None
    data = RunData(plan, found, paths.of("results"), read_back_path, stopped_us, shadow_report)
    summary = summarise(spark, data)
    workers_cpu_us = sum(each["cpu_us"] for each in summary["workers"])
    workers_wall_us = max((each["wall_us"] for each in summary["workers"]), default=0)
    generator = machine.percent(workers_cpu_us, workers_wall_us, cpus)
    summary["machine"] = {"generator_percent": generator, **shares, **machine.describe()}
    summary["is_complete"], summary["ended"] = not reasons, reasons
    for record in set(RECORDS) - set(plan.record):
        shutil.rmtree(paths.of(record), ignore_errors=True)
    return summary


def _spent(before_us: int | None, pid: int | None) -> int | None:
    now_us = machine.cpu_us_of(pid)
    return None if before_us is None or now_us is None else now_us - before_us


def _jvm_pid(spark: "SparkSession") -> int | None:
    """The driver's JVM, where this process started it."""
    gateway = getattr(getattr(spark, "sparkContext", None), "_gateway", None)
    process = getattr(gateway, "proc", None)
    return None if process is None else int(process.pid)


@contextmanager
def _bar(plan: Plan, console: Console) -> Iterator[Callable[[Standing], None]]:
    total = sum(event_counts(plan))
    is_open = all(tenant.arrival != "closed" for tenant in plan.tenants)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[told]}"),
        console=console,
        transient=False,
    ) as progress:
        task = progress.add_task("load", total=total if is_open else plan.duration_s, told="")
        speed = Speed()

        def show(standing: Standing) -> None:
            done, t_s = standing.total("done"), standing.t_s
            rate = speed.of(t_s, standing.total("requests"))
            progress.update(
                task,
                completed=min(total, done) if is_open else max(0.0, min(t_s, plan.duration_s)),
                told=f"{done:,} done  {rate:,.0f} requests/s"
                f"  errors {standing.total('errors'):,}"
                f"  throttled {standing.total('throttled'):,}",
            )

        yield show


@contextmanager
def _stopping_by_ctrl_c(listener: Listener, console: Console) -> Iterator[None]:
    """The first Ctrl-C has the workers end and hand in what they have; the second is as always.

    So is the first while nobody has sent anything that would be worth keeping.
    """
    usual = signal.getsignal(signal.SIGINT)

    def stop(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, usual)
        if not listener.standing.by_worker:
            signal.raise_signal(signal.SIGINT)
            return
        listener.stop_workers()
        console.print("stopping; what was done so far is kept (again: at once)")

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _allow_open_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


def _write(summary: dict[str, Any], plan: Plan, found: Found, paths: Paths) -> None:
    from loadgen.analysis.charts import draw  # noqa: PLC0415 - slow to load
    from loadgen.analysis.report import render  # noqa: PLC0415

    text = json.dumps(summary, indent=1, ensure_ascii=False)
    (paths.out / "summary.json").write_text(text + "\n", encoding="utf-8")
    charts = draw(summary, plan, found.config)
    folder = paths.out / "charts"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    for name, png in charts.items():
        (folder / f"{name}.png").write_bytes(png)
    (paths.out / "report.html").write_text(render(summary, charts, plan.text), encoding="utf-8")
    (paths.out / "plan.yaml").write_text(plan.text, encoding="utf-8")


def _print(summary: dict[str, Any], paths: Paths, console: Console) -> None:
    table = Table("verdict", "promise", "about", "found", title=summary["run_id"])
    for each in summary["verdicts"]:
        word = each["verdict"]
        colour = _COLOURS[word]
        table.add_row(f"[{colour}]{word}[/{colour}]", each["promise"], each["about"], each["found"])
    console.print(table)
    totals = summary["totals"]
    console.print(
        f"{totals['requests']:,} requests, {summary['requests_per_s']:,.0f} answers/s,"
        f" {totals['errors']:,} errors, {totals['throttled']:,} throttled,"
        f" {totals['no_response']:,} unanswered, {totals['not_sent']:,} never sent,"
        f" {totals['not_due']:,} not due before the end"
    )
    for reason in summary["ended"]:
        console.print(f"[bold red]not complete:[/bold red] {reason}")
    console.print(f"report: {paths.out / 'report.html'}", soft_wrap=True)
