"""`mock-kafka load quotas`: propose quotas for recorded or planned traffic, and try them."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console
from rich.markup import escape

from loadgen.outputs import FAILED, OK
from loadgen.plan.plan_file import load_plan
from loadgen.plan.yaml_reader import PlanError
from loadgen.plans import built_in_plans
from loadgen.quota_trials.candidates import KEYS, WINDOWS, Candidate
from loadgen.quota_trials.plan_traffic import traffic_of_plan
from loadgen.quota_trials.proposals import KeyResult, propose, protected_clients, try_candidate
from loadgen.quota_trials.quota_page import as_dict, notes_of, render, tables_of
from loadgen.quota_trials.traffic import Client, Traffic, traffic_of_trace
from loadgen.storage import Storage

_PLAN_SUFFIXES = {".yaml", ".yml"}


def main(arguments: Sequence[str]) -> int:
    """Propose quotas, write the page, and return the exit status, which docs/load.md describes.

    Raises:
        PlanError, TraceError, ProtectionError: there is no such traffic or tenant, or a value that
            is tried is invalid.
        StorageError: the page cannot be written.
    """
    from loadgen.quota_trials.quota_chart import draw  # noqa: PLC0415 - slow to import

    options = _parser().parse_args(arguments)
    traffic, tenants = _traffic_of(options.traffic, options.duration)
    protected = protected_clients(traffic, options.never_throttle, tenants)
    results = propose(traffic, protected, options.by, options.headroom / 100)
    status = OK
    for key, value in options.trials:
        if key not in results:
            raise PlanError(f"--try {key}={value:g}: {traffic.source} has no request for it")
        result = results[key]
        window = WINDOWS[key][0] if result.proposal is None else result.proposal.window
        try:
            trial = try_candidate(
                traffic, result, Candidate(key, value, window, options.by), "--try"
            )
        except ValueError as error:
            raise PlanError(f"--try {key}={value:g}: {error}") from error
        if trial.refused_of(result.protected):
            status = FAILED
    _write(traffic, results, options.out, draw(traffic, results))
    return status


def _write(
    traffic: Traffic, results: Mapping[str, KeyResult], out: str, charts: Mapping[str, str]
) -> None:
    path = Path(out).resolve()
    storage = Storage(str(path.parent))
    text = json.dumps(as_dict(traffic, results), indent=1, ensure_ascii=False)
    storage.write(f"{text}\n".encode(), f"{path.stem}.json")
    storage.write(render(traffic, results, charts).encode(), path.name)
    console = Console()
    console = console if console.is_terminal else Console(width=160)
    for table in tables_of(traffic, results):
        console.print(table)
    for note in notes_of(traffic, results):
        console.print(escape(note), soft_wrap=True)
    console.print(f"quotas: {escape(str(path))}", soft_wrap=True)


def _traffic_of(name: str, duration_s: float | None) -> tuple[Traffic, Mapping[str, Client]]:
    """Return the traffic, and the user and client id of each tenant of a plan."""
    path = Path(name)
    if path.suffix not in _PLAN_SUFFIXES and not (name in built_in_plans() and not path.is_file()):
        if duration_s is not None:
            raise PlanError("--duration is for plans; a trace has its own")
        return traffic_of_trace(path), {}
    plan = load_plan(name).scaled(duration_s=duration_s)
    tenants = {tenant.name: (tenant.principal, tenant.client_id) for tenant in plan.tenants}
    return traffic_of_plan(replace(plan, warm_up_s=0.0)), tenants


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mock-kafka load quotas",
        description="Propose quotas that never throttle some tenants, and show who they throttle.",
    )
    parser.add_argument("traffic", metavar="TRACE|PLAN", help="recorded traffic, or a plan")
    parser.add_argument(
        "--never-throttle",
        action="append",
        default=[],
        metavar="NAME",
        help="tenant, user or client id; repeat (default: all of them)",
    )
    parser.add_argument(
        "--by",
        choices=("user", "client-id", "user,client-id"),
        default="user",
        help="who has a quota; producer ids always by user (default: user)",
    )
    parser.add_argument(
        "--headroom", type=_percent, default=20.0, metavar="PERCENT", help="default: 20"
    )
    parser.add_argument(
        "--try",
        dest="trials",
        action="append",
        default=[],
        type=_trial,
        metavar="KEY=VALUE",
        help="another candidate; exit with 1 if it throttles a protected tenant; repeat",
    )
    parser.add_argument(
        "--duration", type=_seconds, metavar="S", help="duration in seconds, instead of the plan's"
    )
    parser.add_argument("--out", default="quotas.html", metavar="FILE", help="default: quotas.html")
    return parser


def _percent(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of 0 or more")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= 86_400:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 86400")
    return value


def _trial(text: str) -> tuple[str, float]:
    key, _, value = text.partition("=")
    if key not in KEYS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not KEY=VALUE with KEY among {', '.join(KEYS)}"
        )
    return key, float(value)
