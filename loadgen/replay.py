"""`mock-kafka load replay`: send recorded traffic again, scaled in time and number."""

import argparse
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
from msgspec.structs import replace
from rich.console import Console

from loadgen.learning.replayed_traffic import ReplayedTraffic, Scale, replayed
from loadgen.learning.traffic import Traffic, read_traffic
from loadgen.load_run import OwnBrokerFactory, run_plan
from loadgen.options import add_live_options, add_target_options
from loadgen.outputs import exit_status_of, print_outputs
from loadgen.plan.plan import Plan
from loadgen.plan.plan_file import load_plan
from loadgen.plan.yaml_reader import PlanError
from loadgen.traces.trace_file import TRACE_HELP, TraceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PASSWORD_VARIABLE = "LOAD_PASSWORD"  # noqa: S105 - the name of a variable
_OWN_PASSWORD = "replay"  # noqa: S105 - on a cluster that only this run has
Session = Callable[[argparse.Namespace], AbstractContextManager["SparkSession"]]


def main(arguments: Sequence[str], own_broker: OwnBrokerFactory, session: Session) -> int:
    """Replay a trace; return the exit status of a load.

    Raises:
        TraceError: the trace cannot be read, or there is nothing to replay.
        LoadError, PlanError, PreparationError, SessionError, StorageError: the load could not
            start, or its outputs could not be written.
    """
    options = _parser().parse_args(arguments)
    console = Console(stderr=True)
    if options.speed <= 0 or options.number <= 0:
        raise PlanError("--speed and --number must be greater than 0")
    settings = load_plan(options.settings) if options.settings else None
    found = replay_of(options, settings, os.environ)
    if found.left_out:
        listed = ", ".join(f"{api} {count:,}" for api, count in found.left_out.items())
        console.print(f"not replayed: {listed}")
    with TemporaryDirectory() as folder:
        events_file = Path(folder) / "events.parquet"
        pq.write_table(found.events, events_file)
        plan = replace(found.plan, events_file=str(events_file))
        summary, storage = run_plan(
            plan, options, lambda: session(options), own_broker, console, ends_session=True
        )
    print_outputs(summary, storage)
    return exit_status_of(summary, console)


def replay_of(
    options: argparse.Namespace, settings: Plan | None, environment: Mapping[str, str]
) -> ReplayedTraffic:
    """Return the replay of `options.trace`, with quotas and target of the plan `settings`.

    Raises:
        TraceError: the trace cannot be read, or there is nothing to replay.
        PlanError: a user of the trace has no password.
    """
    trace = Path(options.trace)
    traffic = read_traffic(trace)
    name = re.sub(r"[^A-Za-z0-9._-]", "-", trace.name.partition(".")[0]) or "replay"
    scale = Scale(options.speed, options.number, options.topic_prefix)
    try:
        found = replayed(traffic, name, scale, _passwords(traffic, options, settings, environment))
    except ValueError as error:
        raise TraceError(f"{trace}: {error}") from error
    text = (
        f"# A replay of {trace.name}: --speed {options.speed:g} --number {options.number:g}\n"
        f"# --topic-prefix {options.topic_prefix}\n{'' if settings is None else settings.text}"
    )
    plan = replace(
        found.plan, text=text, seed=found.plan.seed if options.seed is None else options.seed
    )
    if settings is not None:
        plan = replace(
            plan,
            quotas=settings.quotas,
            target=settings.target,
            drain_s=settings.drain_s,
            lateness_p99_ms=settings.lateness_p99_ms,
            abort_behind_s=settings.abort_behind_s,
            abort_unreachable_s=settings.abort_unreachable_s,
        )
    return ReplayedTraffic(plan, found.events, found.left_out)


def _passwords(
    traffic: Traffic,
    options: argparse.Namespace,
    settings: Plan | None,
    environment: Mapping[str, str],
) -> dict[str, str]:
    """Return the password of each user; empty if the trace has none.

    Raises:
        PlanError: one is missing.
    """
    users = set(traffic.texts["user"])
    if users <= {"ANONYMOUS"}:
        return {}
    known = {
        tenant.user: tenant.password
        for tenant in (() if settings is None else settings.tenants)
        if tenant.user and tenant.password
    }
    is_own = not (
        options.bootstrap_server or (settings is not None and settings.target.bootstrap_servers)
    )
    default = environment.get(PASSWORD_VARIABLE) or (_OWN_PASSWORD if is_own else None)
    found = {user: known.get(user) or default for user in users}
    missing = sorted(user for user, password in found.items() if password is None)
    if missing:
        raise PlanError(
            f"user {missing[0]} of the trace needs a password: set {PASSWORD_VARIABLE}, or name a"
            " plan with --settings whose tenants have it"
        )
    return {user: password for user, password in found.items() if password is not None}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mock-kafka load replay",
        description="Send the batches and topic changes of recorded traffic again, at their times,"
        " with new producer ids and other topics.",
    )
    add_target_options(
        parser,
        "trace",
        "TRACE",
        TRACE_HELP,
    )
    add_live_options(parser)
    parser.add_argument(
        "--speed", type=float, default=1.0, metavar="X", help="2: twice as fast (default: 1)"
    )
    parser.add_argument(
        "--number",
        type=float,
        default=1.0,
        metavar="X",
        help="clients for each one of the trace, with their requests (default: 1)",
    )
    parser.add_argument(
        "--topic-prefix",
        default="replay.",
        metavar="TEXT",
        help="comes before the names of topics (default: %(default)s)",
    )
    parser.add_argument(
        "--settings", metavar="PLAN", help="take quotas, target and passwords of this plan"
    )
    return parser
