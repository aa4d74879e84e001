"""A fault rule of a running cluster, and the fields that say when it fires."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypedDict

from mock_kafka.control import Control

__tracebackhide__ = True  # pytest shows the line of the caller

Rules = str | PathLike[str] | Iterable["Mapping[str, Any] | Fault"]
"""The path of a JSON file of rules, or the rules themselves (docs/faults.md has their fields)."""


class When(TypedDict, total=False):
    """Which requests a rule matches, and on which of these it fires; see docs/faults.md.

    A request must match all fields that are set. The rule fires at most `times`, only on the `nth`
    request, on `every` nth, not on the first `skip`, between `after_ms` and `until_ms` from now on
    the cluster's clock, or with a `probability` whose results `seed` determines.
    """

    api: str
    version_min: int
    version_max: int
    topic: str
    partition: int
    group: str
    transactional_id: str
    resource: str
    topic_id: str
    where: Mapping[str, Any]
    broker: int
    client_id: str
    user: str
    connection: int
    name: str
    times: int
    nth: int
    every: int
    skip: int
    after_ms: int
    until_ms: int
    probability: float
    seed: int


class Fault:
    """One rule of a cluster; `id` is its number and `rule` has its fields."""

    def __init__(self, control: Control, data: Mapping[str, Any]) -> None:
        """Wrap a rule in the admin port's JSON."""
        self._control = control
        self.id: int = data["id"]
        self.rule: Mapping[str, Any] = data["rule"]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.rule.items())
        return f"<Fault {self.id}: {fields}>"

    @property
    def count(self) -> int:
        """The number of requests on which the rule has fired; asks the cluster.

        Raises:
            LookupError: the rule was removed.
        """
        count: int = self._now()["fired"]
        return count

    @property
    def match_count(self) -> int:
        """The number of requests that matched, whether the rule fired or not; asks the cluster."""
        count: int = self._now()["matched"]
        return count

    @property
    def is_used_up(self) -> bool:
        """Whether the rule can never fire again; asks the cluster."""
        is_used_up: bool = self._now()["is_used_up"]
        return is_used_up

    def remove(self) -> None:
        """Remove the rule; responses that it delays stay delayed."""
        self._control.ask("DELETE", f"/v1/faults/{self.id}")

    def _now(self) -> Mapping[str, Any]:
        for fault in self._control.ask("GET", "/v1/faults"):
            if fault["id"] == self.id:
                found: Mapping[str, Any] = fault
                return found
        raise LookupError(f"{self!r} was removed, or the cluster was reset")


def document_of(rules: Rules) -> list[Any]:
    """Return the rules of a file or of an iterable; a file may hold a single rule.

    Raises:
        OSError: the file can't be read.
        ValueError: the file is not JSON.
    """
    if not isinstance(rules, str | PathLike):
        return [dict(rule.rule if isinstance(rule, Fault) else rule) for rule in rules]
    try:
        document = json.loads(Path(rules).read_bytes())
    except ValueError as error:
        raise ValueError(f"{Path(rules)}: not JSON: {error}") from error
    return document if isinstance(document, list) else [document]


@contextmanager
def rules_file(rules: Rules | None) -> Iterator[Path | None]:
    """Provide a file with the rules during a block: the given path, or a temporary file."""
    if rules is None or isinstance(rules, str | PathLike):
        yield None if rules is None else Path(rules)
        return
    with TemporaryDirectory(prefix="mock-kafka-") as folder:
        path = Path(folder) / "faults.json"
        path.write_text(json.dumps(document_of(rules)), encoding="utf-8")
        yield path
