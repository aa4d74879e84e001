"""A fault rule of a running cluster, and the words that say when it fires."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypedDict

from mock_kafka.control import Control

Rules = str | PathLike[str] | Iterable[Mapping[str, Any]]
"""The path of a JSON file of rules, or the rules, each with the fields of docs/faults.md."""


class When(TypedDict, total=False):
    """Which requests a rule is for, and on which of these it fires; docs/faults.md tells all.

    Requests: all that is said must fit. Firing: `times` on so many and no more, `nth` on this one
    only, `every` on every so-many-eth, `skip` not on the first so many, `after_ms` and `until_ms`
    between these times of the cluster's clock from now on, `probability` by a coin that `seed`
    makes the same each time.
    """

    api: str
    version_min: int
    version_max: int
    topic: str
    partition: int
    group: str
    transactional_id: str
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
    """One rule; `id` is its number and `rule` its fields, as the cluster has them."""

    def __init__(self, control: Control, plain: Mapping[str, Any]) -> None:
        """`plain` is the admin port's JSON."""
        self._control = control
        self.id: int = plain["id"]
        self.rule: Mapping[str, Any] = plain["rule"]

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.rule.items())
        return f"<Fault {self.id}: {told}>"

    @property
    def count(self) -> int:
        """On how many requests it has fired so far; asks the cluster.

        Raises:
            LookupError: the rule was removed.
        """
        count: int = self._now()["fired"]
        return count

    @property
    def match_count(self) -> int:
        """How many requests were such as it is for, whether it fired or not; asks the cluster."""
        count: int = self._now()["matched"]
        return count

    @property
    def is_used_up(self) -> bool:
        """Whether it will not fire any more; asks the cluster."""
        is_used_up: bool = self._now()["is_used_up"]
        return is_used_up

    def remove(self) -> None:
        """Forget the rule; answers that it delays stay delayed."""
        self._control.ask("DELETE", f"/v1/faults/{self.id}")

    def _now(self) -> Mapping[str, Any]:
        for each in self._control.ask("GET", "/v1/faults"):
            if each["id"] == self.id:
                found: Mapping[str, Any] = each
                return found
        raise LookupError(f"{self!r} was removed, or the cluster was reset")


def document_of(rules: Rules) -> list[Any]:
    """The list that a file of rules or its parts come to; a file may have one rule alone.

    Raises:
        OSError: the file can't be read.
        ValueError: it has no JSON in it.
    """
    if not isinstance(rules, str | PathLike):
        return [dict(rule) for rule in rules]
    try:
        document = json.loads(Path(rules).read_bytes())
    except ValueError as error:
        raise ValueError(f"{Path(rules)}: no JSON: {error}") from error
    return document if isinstance(document, list) else [document]


@contextmanager
def rules_file(rules: Rules | None) -> Iterator[Path | None]:
    """A file with the rules for as long as the block lasts: that of a path, or one made for it."""
    if rules is None or isinstance(rules, str | PathLike):
        yield None if rules is None else Path(rules)
        return
    with TemporaryDirectory(prefix="mock-kafka-") as folder:
        path = Path(folder) / "faults.json"
        path.write_text(json.dumps(document_of(rules)), encoding="utf-8")
        yield path
