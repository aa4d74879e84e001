"""Compare a matrix with an earlier one that a project keeps: only regressions are failures."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from atlas.cell import SEVERITY
from loadgen.command_error import CommandError

Cells = Mapping[str, Mapping[str, str]]
"""The cell of each situation, by client."""


class Regression(NamedTuple):
    """A cell that is worse than before."""

    client: str
    situation: str
    before: str
    after: str
    reasons: Sequence[str]

    def __str__(self) -> str:
        why = "; ".join(self.reasons)
        return f"{self.client} in {self.situation}: {self.before} before, now {self.after}: {why}"


def baseline_of(cells: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Return the cells of a matrix, as a baseline file has them."""
    baseline: dict[str, dict[str, str]] = {}
    for row in cells:
        baseline.setdefault(row["client"], {})[row["situation"]] = row["cell"]
    return {client: dict(sorted(of.items())) for client, of in sorted(baseline.items())}


def read_baseline(path: Path) -> Cells:
    """Return the cells of a baseline file.

    Raises:
        CommandError: it can't be read, or is something else.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"the baseline {path} can't be read: {error}") from error
    is_baseline = isinstance(found, dict) and all(
        isinstance(of, dict) and all(cell in SEVERITY for cell in of.values())
        for of in found.values()
    )
    if not is_baseline:
        raise CommandError(f"{path} is no baseline: expected cells by client and situation")
    return found  # type: ignore[no-any-return]


def write_baseline(path: Path, cells: Iterable[Mapping[str, Any]]) -> None:
    """Write the cells of a matrix as a baseline file, which is easy to compare in a commit."""
    path.write_text(json.dumps(baseline_of(cells), indent=1) + "\n", encoding="utf-8")


def is_worse(before: str, after: str) -> bool:
    """Return whether a cell is a regression."""
    return SEVERITY[after] > SEVERITY[before]  # type: ignore[index]


def regressions(baseline: Cells, cells: Iterable[Mapping[str, Any]]) -> list[Regression]:
    """Return the cells that are worse than in the baseline.

    A situation that the baseline lacks is new, and no regression. A flaky cell is one only if it is
    worse with every seed.
    """
    found = []
    for row in cells:
        before = baseline.get(row["client"], {}).get(row["situation"])
        seen = row.get("cells") or [row["cell"]]
        if before is not None and all(is_worse(before, cell) for cell in seen):
            after = row["cell"]
            found.append(Regression(row["client"], row["situation"], before, after, row["reasons"]))
    return found


def junit(cells: Sequence[Mapping[str, Any]], failed: Iterable[Regression]) -> str:
    """Return a report of JUnit: a test case for each cell, regressions are failures."""
    by_cell = {(regression.client, regression.situation): regression for regression in failed}
    suite = ElementTree.Element("testsuite", name="mock-kafka atlas")
    for row in cells:
        seconds = (row.get("duration_ms") or 0) / 1000
        case = ElementTree.SubElement(
            suite, "testcase", classname=row["client"], name=row["situation"], time=f"{seconds:.3f}"
        )
        regression = by_cell.get((row["client"], row["situation"]))
        if regression is not None:
            ElementTree.SubElement(case, "failure", message=str(regression))
        elif row["cell"] == "unsupported":
            ElementTree.SubElement(case, "skipped", message="; ".join(row["reasons"]))
    suite.set("tests", str(len(cells)))
    suite.set("failures", str(len(by_cell)))
    text: str = ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)
    return text
