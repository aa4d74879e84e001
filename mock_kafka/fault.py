"""A fault rule of a running cluster, and the fields that say when it fires."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypedDict

from mock_kafka.control import WAIT_MARGIN_S, Control
from mock_kafka.temporary_folder import temporary_folder

__tracebackhide__ = True  # pytest shows the line of the caller

Rules = str | PathLike[str] | Iterable["Mapping[str, Any] | Fault"]
"""The path of a JSON file of rules, or the rules themselves (docs/faults.md has their fields)."""


WAIT_TIMEOUT_S = 10.0
"""How long to wait for a rule, in seconds of real time."""


class When(TypedDict, total=False):
    """Which requests a rule matches, and on which of these it fires; see docs/faults.md.

    A request must match all fields that are set. The rule fires at most `times`, only on the `nth`
    request, on `every` nth, not on the first `skip`, between `after_ms` and `until_ms` from now on
    the cluster's clock, or with a `probability` whose results `seed` determines. It begins to match
    when the rule with the name `after` has fired, and ends when that with the name `until` has.
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
    listener: str
    name: str
    times: int
    nth: int
    every: int
    skip: int
    after: str
    until: str
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

    @property
    def is_armed(self) -> bool:
        """Whether the rule can match the next request; asks the cluster.

        It is not before the rule in `after` has fired, nor when it is used up.
        """
        is_armed: bool = self._now()["is_armed"]
        return is_armed

    def near_misses(self) -> list[str]:
        """Return why the rule does not fire, and the requests that come nearest, one line each."""
        found = self._control.ask("GET", f"/v1/faults/{self.id}/near-misses")
        return [*found["reasons"], *(miss["text"] for miss in found["near_misses"])]

    def wait(self, count: int = 1, *, timeout_s: float = WAIT_TIMEOUT_S) -> None:
        """Return when the rule has fired on `count` requests.

        Raises:
            TimeoutError: it had not after `timeout_s` of real time; the message says why, and
                which requests came nearest.
            ControlError: the rule was removed.
        """
        self._wait({"fired": count}, timeout_s)

    def _wait(self, query: Mapping[str, int], timeout_s: float) -> None:
        self._control.ask(
            "GET",
            f"/v1/faults/{self.id}/wait",
            query={**query, "timeout_ms": round(timeout_s * 1000)},
            timeout_s=timeout_s + WAIT_MARGIN_S,
        )

    def remove(self) -> None:
        """Remove the rule; responses that it delays stay delayed, requests that it holds go on."""
        self._control.ask("DELETE", f"/v1/faults/{self.id}")

    def _now(self) -> Mapping[str, Any]:
        for fault in self._control.ask("GET", "/v1/faults"):
            if fault["id"] == self.id:
                found: Mapping[str, Any] = fault
                return found
        raise LookupError(f"{self!r} was removed, or the cluster was reset")


class Hold(Fault):
    """A rule that holds requests until they are released.

    In a `with` block, all are released at its end.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.release()

    @property
    def held_count(self) -> int:
        """The number of requests that it holds; asks the cluster."""
        count: int = self._now()["held"]
        return count

    def wait(self, count: int = 1, *, timeout_s: float = WAIT_TIMEOUT_S) -> None:
        """Return when the rule holds `count` requests at the same time.

        Raises:
            TimeoutError: it did not for `timeout_s` of real time.
            ControlError: the rule was removed.
        """
        self._wait({"held": count}, timeout_s)

    def release(self, count: int | None = None) -> None:
        """Have the oldest `count` requests go on; by default all, and the rule holds no others.

        What they do has happened when this returns, and their responses are sent.

        Raises:
            ControlError: the rule was removed.
        """
        body = {} if count is None else {"count": count}
        self._control.ask("POST", f"/v1/faults/{self.id}/release", body)


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
    with temporary_folder() as folder:
        path = Path(folder) / "faults.json"
        path.write_text(json.dumps(document_of(rules)), encoding="utf-8")
        yield path
