"""The pytest plugin of the atlas, which `mock_kafka.atlas` names.

Each situation is a test. Without a baseline a test fails if the client is wrong there, with one
only if it is worse than before. A client that is not in the table has its adapter in
`--atlas-command`.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from atlas.baseline import Cells
    from atlas.lane import Lane
    from atlas.situation import Situation

_lane: "pytest.StashKey[Lane]" = pytest.StashKey()
_baseline: "pytest.StashKey[Cells | None]" = pytest.StashKey()
_NOT_BAD = ("as_expected", "differs")


class UnexpectedCellError(Exception):
    """The client did not do what is expected; the message has the timeline."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, which have no effect without a client."""
    group = parser.getgroup("mock-kafka atlas")
    group.addoption("--atlas-client", metavar="NAME", help="the client to try")
    group.addoption(
        "--atlas-command", metavar="WORDS", help="starts its adapter, if the atlas has none"
    )
    group.addoption(
        "--atlas-situations", metavar="GLOB,...", default="*", help="by default all situations"
    )
    group.addoption(
        "--atlas-baseline", type=Path, metavar="FILE", help="fail only if a cell is worse than here"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Open the lane of the client; its adapter starts with the first test."""
    name = config.getoption("--atlas-client")
    if name is None:
        return
    from atlas.baseline import read_baseline  # noqa: PLC0415 - only with the option
    from atlas.clients import CLIENTS, Client, StartCommand  # noqa: PLC0415
    from atlas.lane import Lane  # noqa: PLC0415
    from loadgen.command_error import CommandError  # noqa: PLC0415

    words = config.getoption("--atlas-command")
    if words is None and name not in CLIENTS:
        known = ", ".join(CLIENTS)
        raise pytest.UsageError(f"no client {name!r}; known: {known}; see --atlas-command")
    path = config.getoption("--atlas-baseline")
    try:
        config.stash[_baseline] = None if path is None else read_baseline(path)
    except CommandError as error:
        raise pytest.UsageError(str(error)) from error
    command = StartCommand(tuple(shlex.split(words or "")), {})
    client = CLIENTS[name] if words is None else Client(name, "", lambda: command)
    lane = config.stash[_lane] = Lane(client)
    config.add_cleanup(lane.close)


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add a test for each situation."""
    if _lane not in config.stash:
        return
    from atlas.situation import SituationError, load_situations  # noqa: PLC0415 - with the option

    try:
        situations = load_situations(config.getoption("--atlas-situations").split(","))
    except SituationError as error:
        raise pytest.UsageError(str(error)) from error
    items += _items(session, situations)


def _items(session: pytest.Session, situations: "dict[str, Situation]") -> Iterator[pytest.Item]:
    for situation in situations.values():
        yield SituationItem.from_parent(session, name=situation.id, situation=situation)


class SituationItem(pytest.Item):
    """A client in a situation."""

    def __init__(self, *, situation: "Situation", **values: Any) -> None:
        super().__init__(**values)
        self._situation = situation

    def runtest(self) -> None:
        """Run the experiment, and compare its cell with the baseline or the expectation."""
        from atlas.baseline import is_worse  # noqa: PLC0415 - only with the option
        from atlas.experiment import Experiment  # noqa: PLC0415
        from atlas.timeline import as_text, summary, timeline_of  # noqa: PLC0415

        client = self.config.getoption("--atlas-client")
        result = self.config.stash[_lane].run(Experiment(client, self._situation))
        if result.cell == "unsupported":
            pytest.skip("; ".join(result.reasons))
        baseline = self.config.stash[_baseline]
        if baseline is None:
            is_bad, known = result.cell not in _NOT_BAD, None
        else:
            known = baseline.get(client, {}).get(self._situation.id)
            is_bad = known is not None and is_worse(known, result.cell)
        if is_bad:
            lines = [self._situation.title, *as_text(timeline_of(result)), *summary(result)]
            if known is not None:
                lines.append(f"in the baseline it is {known}")
            raise UnexpectedCellError("\n".join(lines))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the timeline of a failure, without a traceback."""
        if isinstance(excinfo.value, UnexpectedCellError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return what pytest prints beside the result."""
        return self.path, None, f"atlas: {self._situation.id}"
