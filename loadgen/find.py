"""`mock-kafka load find`: raise one dimension of a plan until a check or an objective breaks."""

import argparse
import dataclasses
import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.console import Console
from rich.markup import escape

from loadgen.ctrl_c import CtrlC
from loadgen.limit_search.bisection import Bracket, ProbeOutcome, Range, find_limit
from loadgen.limit_search.dimensions import DIMENSIONS, Dimension
from loadgen.limit_search.limit_page import number, render, table_of
from loadgen.limit_search.objectives import Objective, parse_objective
from loadgen.limit_search.probes import Probe, Search, probe_of
from loadgen.load_run import OwnBrokerFactory, run_plan
from loadgen.options import add_plan_options, add_target_options
from loadgen.outputs import FAILED, INVALID, OK
from loadgen.plan.merged_plan import merged
from loadgen.plan.plan import Plan
from loadgen.plan.plan_file import load_plan
from loadgen.plan.run_spec import STOPPED_BY_USER
from loadgen.plan.yaml_reader import PlanError
from loadgen.spark_session import load_session
from loadgen.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERRUPTED = 130
DEFAULT_OBJECTIVE = "p99=1s"
_DURATION_S, _WARM_UP_S = 5.0, 1.0
_RANGE = 1000.0
"""How far from the plan's own value a search goes without `--min` and `--max`."""


class _StoppedError(Exception):
    """The user stopped a probe."""


def main(arguments: Sequence[str], own_broker: OwnBrokerFactory) -> int:
    """Search the limit and write its page; return the exit status, which docs/load.md describes.

    Raises:
        LoadError, PlanError, PreparationError, SessionError, StorageError: a probe could not start;
            the page has the probes before it.
    """
    options = _parser().parse_args(arguments)
    plan = _plan_of(options)
    with ExitStack() as stack:
        search = LimitSearch(plan, options, _session_of(options, stack), own_broker)
        return search.run()


def _session_of(
    options: argparse.Namespace, stack: ExitStack
) -> Callable[[], "AbstractContextManager[SparkSession]"]:
    """Return what opens the session: the first probe starts it, the others use it again."""
    started: list[SparkSession] = []

    def session() -> "AbstractContextManager[SparkSession]":
        if not started:
            is_local = Storage(options.out).is_local
            folder = options.out if is_local else stack.enter_context(tempfile.TemporaryDirectory())
            opened = load_session(options.master, Path(folder), environment=options.environment)
            started.append(stack.enter_context(opened))
        return nullcontext(started[0])

    return session


class LimitSearch:
    """One search: runs probes in one Spark session and keeps what they measured."""

    def __init__(
        self,
        plan: Plan,
        options: argparse.Namespace,
        session: Callable[[], "AbstractContextManager[SparkSession]"],
        own_broker: OwnBrokerFactory,
    ) -> None:
        """Check that the plan has the dimension.

        Raises:
            PlanError: it has not, or the range is empty.
        """
        self._plan = plan
        self._options = options
        self._session = session
        self._own_broker = own_broker
        self._dimension: Dimension = DIMENSIONS[options.vary]
        self._objectives = _objectives_of(options, plan)
        self._range = _range_of(self._dimension, plan, options)
        self._probes: list[Probe] = []
        self._storage = Storage(options.out)
        self._console = Console(stderr=True)

    def run(self) -> int:
        """Search, write the outputs, and return the exit status."""
        bracket: Bracket | None = None
        try:
            bracket = find_limit(self._outcome_of, self._range, self._options.precision / 100)
        except _StoppedError:
            self._console.print(STOPPED_BY_USER)
            return INTERRUPTED
        finally:
            if self._probes:
                self._write(self._search(bracket))
        return exit_status(bracket, self._options.at_least)

    def _search(self, bracket: Bracket | None) -> Search:
        return Search(self._plan.name, self._dimension, self._objectives, self._probes, bracket)

    def _outcome_of(self, value: float) -> ProbeOutcome:
        """Probe a value; only what does not hold several times does not hold."""
        outcome: ProbeOutcome = "held"
        for attempt in range(self._options.tries):
            probe = self._probe(value, self._plan.seed + attempt)
            outcome = probe.outcome
            if outcome == "held":
                break
        return outcome

    def _probe(self, value: float, seed: int) -> Probe:
        number_of_probe = len(self._probes) + 1
        plan = self._dimension.varied(replace(self._plan, seed=seed), value, self._options.tenant)
        folder = self._storage.of("probes", f"{number_of_probe:02}")
        options = argparse.Namespace(**{**vars(self._options), "out": folder})
        quiet = Console(stderr=True, quiet=True)
        ctrl_c = CtrlC()
        run = f"run {number_of_probe}: {number(value)} {self._dimension.unit}"
        with self._console.status(f"{run}, about {_seconds_of(plan)} s and the summary"):
            summary, storage = run_plan(
                plan, options, self._session, self._own_broker, quiet, ctrl_c
            )
        self._storage = dataclasses.replace(self._storage, settings=storage.settings)
        if STOPPED_BY_USER in summary["abort_reasons"]:
            raise _StoppedError
        probe = probe_of(number_of_probe, value, folder, summary, self._objectives)
        self._probes.append(probe)
        self._storage.write(_json(self._search(None)), "find.json")
        self._console.print(
            f"{number(value)} {self._dimension.unit}: {probe.outcome}, p99"
            f" {number(probe.p99_ms)} ms, {number(probe.responses_per_s)} responses/s"
            + escape(f"; {probe.reasons[0]}" if probe.reasons else ""),
            highlight=False,
            soft_wrap=True,
        )
        if ctrl_c.was_pressed:  # during the summary, so that the probe is complete
            raise _StoppedError
        return probe

    def _write(self, search: Search) -> None:
        from loadgen.limit_search.limit_chart import draw  # noqa: PLC0415 - slow to import

        self._storage.write(_json(search), "find.json")
        self._storage.write(render(search, draw(search)).encode(), "find.html")
        console = Console()
        console = console if console.is_terminal else Console(width=160)
        console.print(table_of(search))
        console.print(f"curve: {escape(self._storage.of('find.html'))}", soft_wrap=True)


def _seconds_of(plan: Plan) -> int:
    return round(plan.warm_up_s + plan.duration_s)


def exit_status(bracket: Bracket, at_least: float | None) -> int:
    """Return OK if a value held; FAILED if none did, or none as large as `at_least`.

    INVALID if the load generator was late before that could be known.
    """
    is_enough = bracket.held is not None and (at_least is None or bracket.held >= at_least)
    if bracket.broke is not None and not bracket.is_target:
        return OK if is_enough and at_least is not None else INVALID
    return OK if is_enough else FAILED


def _json(search: Search) -> bytes:
    return f"{json.dumps(search.as_dict(), indent=1, ensure_ascii=False)}\n".encode()


def _plan_of(options: argparse.Namespace) -> Plan:
    """Return the plan with the length of a probe; it keeps the results only."""
    plan = merged([load_plan(name) for name in (options.plan, *options.others)])
    duration_s = min(plan.duration_s, _DURATION_S) if options.duration is None else options.duration
    plan = replace(plan.scaled(duration_s=duration_s), record=("results",))
    if options.seed is not None:
        plan = replace(plan, seed=options.seed)
    return replace(plan, warm_up_s=min(plan.warm_up_s, _WARM_UP_S))


def _objectives_of(options: argparse.Namespace, plan: Plan) -> list[Objective]:
    if options.promises_only:
        return []
    objectives: list[Objective] = options.objective or [parse_objective(DEFAULT_OBJECTIVE)]
    names = [tenant.name for tenant in plan.tenants]
    for objective in objectives:
        if objective.tenant is not None and objective.tenant not in names:
            raise PlanError(
                f"--objective {objective}: the tenants of {plan.name} are {', '.join(names)}"
            )
    return objectives


def _range_of(dimension: Dimension, plan: Plan, options: argparse.Namespace) -> Range:
    start = dimension.value(plan, options.tenant)
    lowest = start / _RANGE if options.min is None else options.min
    highest = start * _RANGE if options.max is None else options.max
    highest = min(highest, dimension.highest(plan, options.tenant))
    if dimension.is_whole:
        lowest, highest = max(1.0, round(lowest)), float(int(highest))
    if lowest > highest:
        raise PlanError(
            f"--vary {dimension.name}: no value from {number(lowest)} to {number(highest)}"
            f" {dimension.unit}; {plan.name} has {number(start)}"
        )
    return Range(start, lowest, highest, dimension.is_whole)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mock-kafka load find",
        description="Raise one dimension of a plan until a check of a run or an objective breaks.",
    )
    add_target_options(parser)
    add_plan_options(parser)
    parser.add_argument(
        "--vary", required=True, choices=tuple(DIMENSIONS), help="the dimension that is raised"
    )
    parser.add_argument(
        "--tenant", action="append", default=[], metavar="NAME", help="vary only this one; repeat"
    )
    judged = parser.add_mutually_exclusive_group()
    judged.add_argument(
        "--objective",
        action="append",
        default=[],
        type=_objective,
        metavar="[TENANT:]NAME=LIMIT",
        help="p50, p90, p99, p99.9 or max=50ms, errors or throttled=1%%; repeat"
        f" (default: {DEFAULT_OBJECTIVE})",
    )
    judged.add_argument(
        "--promises-only", action="store_true", help="judge by the checks alone, not by latency"
    )
    parser.add_argument("--min", type=_positive, metavar="N", help="lowest value to try")
    parser.add_argument("--max", type=_positive, metavar="N", help="highest value to try")
    parser.add_argument(
        "--precision", type=_positive, default=5.0, metavar="PERCENT", help="default: 5"
    )
    parser.add_argument(
        "--tries",
        type=int,
        choices=range(1, 11),
        default=2,
        metavar="N",
        help="a value breaks if it breaks in N runs with different seeds (default: 2)",
    )
    parser.add_argument(
        "--at-least", type=_positive, metavar="N", help="exit with 1 if the limit is below N"
    )
    parser.add_argument(
        "--duration",
        type=_positive,
        metavar="S",
        help="of a probe (default: the plan's, at most 5)",
    )
    return parser


def _objective(text: str) -> Objective:
    try:
        return parse_objective(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return value
