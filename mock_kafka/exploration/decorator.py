"""`@mock_kafka.explore`: run a test again and again, under schedules of faults."""

import functools
import inspect
from collections.abc import Awaitable, Callable, Collection, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from mock_kafka.exploration import IS_EXPLORED
from mock_kafka.exploration.cluster_runs import ClusterRuns
from mock_kafka.exploration.disturbances import PROFILES
from mock_kafka.exploration.outcome import Outcome
from mock_kafka.exploration.report import describe
from mock_kafka.exploration.schedule import disturbances_of, used_profiles
from mock_kafka.exploration.search import Plan, search
from mock_kafka.near_names import did_you_mean

if TYPE_CHECKING:
    import pytest

__tracebackhide__ = True  # pytest shows the line of the caller

FIXTURE = "mock_kafka"

Test = TypeVar("Test", bound=Callable[..., Any])
Runs = Generator[None, BaseException | None, None]
"""Runs to make; each is sent what the test raised, or None."""


class ExplorationError(AssertionError):
    """A test fails under a schedule of faults; the message has the rules and the seed."""


@dataclass(frozen=True)
class _Settings:
    plan: Plan
    profiles: Sequence[str] | None
    except_kinds: Collection[str]


def explore(
    function: Test | None = None,
    *,
    runs: int = 50,
    seed: int = 0,
    profiles: Sequence[str] | None = None,
    rules_max: int = 4,
    repeats: int = 3,
    shrink_runs_max: int = 50,
    except_kinds: Collection[str] = (),
) -> Any:
    """Run a test that uses the fixture `mock_kafka` under `runs` schedules of faults.

    The first run is without faults, must pass, and shows what the test uses. Before each run the
    cluster is reset and moves to new ports, so the test makes its clients itself. An explored test
    has three brokers and an audit, unless its marker says otherwise. A schedule with which the test
    fails is repeated and shrunk (docs/explore.md). Tests may be async.

    Args:
        function: the test.
        runs: how many schedules to draw; the option `--explore-runs` replaces it.
        seed: draws them; the option `--explore-seed` replaces it.
        profiles: what to draw, of `producer`, `consumer`, `transactions`, `groups`, `admin` and
            `quotas`. By default those for the APIs that the first run used.
        rules_max: the most rules of a schedule.
        repeats: how often to repeat a schedule that failed.
        shrink_runs_max: how many runs may shrink it.
        except_kinds: findings to ignore: kinds of the audit, or `requests_during_throttle`.

    Raises:
        ValueError: a profile does not exist.
        TypeError: the test has no argument `mock_kafka`.
    """
    for profile in profiles or ():
        if profile not in PROFILES:
            hint = did_you_mean(profile, list(PROFILES))
            raise ValueError(f"there is no profile {profile!r}{hint}")
    plan = Plan(seed, runs, rules_max, repeats, shrink_runs_max)
    settings = _Settings(plan, profiles, except_kinds)

    def decorate(test: Test) -> Any:
        return _explored(test, settings)

    return decorate if function is None else decorate(function)


def _explored(test: Callable[..., Any], settings: _Settings) -> Callable[..., Any]:
    signature = inspect.signature(test)
    if FIXTURE not in signature.parameters:
        raise TypeError(f"@explore: {test.__name__} needs the argument {FIXTURE}")
    has_request = "request" in signature.parameters

    def runs_of(arguments: dict[str, Any]) -> Runs:
        request = arguments["request"] if has_request else arguments.pop("request")
        return _runs(request, arguments[FIXTURE], settings)

    if inspect.iscoroutinefunction(test):

        @functools.wraps(test)
        async def explored(*positional: Any, **arguments: Any) -> None:
            runs = runs_of(arguments)
            await _drive_async(runs, lambda: test(*positional, **arguments))

    else:

        @functools.wraps(test)
        def explored(*positional: Any, **arguments: Any) -> None:
            runs = runs_of(arguments)
            _drive(runs, lambda: test(*positional, **arguments))

    if not has_request:
        request = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY)
        parameters = [*signature.parameters.values(), request]
        signature = signature.replace(parameters=parameters)
    explored.__signature__ = signature  # type: ignore[attr-defined]
    setattr(explored, IS_EXPLORED, True)
    return explored


def _drive(runs: Runs, test: Callable[[], None]) -> None:
    failures = _failures()
    next(runs)
    while True:
        error: BaseException | None = None
        try:
            test()
        except failures as caught:
            error = caught
        try:
            runs.send(error)
        except StopIteration:
            return


async def _drive_async(runs: Runs, test: Callable[[], Awaitable[None]]) -> None:
    failures = _failures()
    next(runs)
    while True:
        error: BaseException | None = None
        try:
            await test()
        except failures as caught:
            error = caught
        try:
            runs.send(error)
        except StopIteration:
            return


def _failures() -> tuple[type[BaseException], ...]:
    import pytest  # noqa: PLC0415 - what uses this module is a test

    return Exception, pytest.fail.Exception


def _runs(request: "pytest.FixtureRequest", kafka: Any, settings: _Settings) -> Runs:
    from mock_kafka.pytest_plugin import plan_with_options, prepare_again  # noqa: PLC0415

    runs = ClusterRuns(kafka, lambda: prepare_again(request.node, kafka), settings.except_kinds)

    def run(rules: list[dict[str, Any]]) -> Generator[None, BaseException | None, Outcome]:
        runs.begin(rules)
        error = yield
        return runs.end(None if error is None else type(error).__name__, error=error)

    first = yield from run([])
    if first.error is not None:
        first.error.add_note("This was the first run of @mock_kafka.explore, without faults.")
        raise first.error
    if first.kinds:
        raise ExplorationError(f"the first run, without faults, failed:\n{first.report}")
    seen = runs.seen()
    plan = plan_with_options(settings.plan, request.config)
    profiles = used_profiles(seen) if settings.profiles is None else settings.profiles
    steps = search(plan, disturbances_of(profiles), seen)
    try:
        step = next(steps)
        while True:
            outcome = yield from run(step.rules)
            step = steps.send(outcome)
    except StopIteration as stop:
        for finding in stop.value.findings:
            raise ExplorationError(describe(finding)) from finding.outcome.error
