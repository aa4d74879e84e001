"""A cluster in a process of its own that does as it is told: the admin port from Python."""

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from mock_kafka.broker_process import BrokerProcess

_START_TIMEOUT_S = 15.0
_STOP_TIMEOUT_S = 5.0
_ANSWER_TIMEOUT_S = 30.0


class LabCluster:
    """Runs for the length of a `with` block.

    What is refused is an `urllib.error.HTTPError`; its body says why.
    """

    def __init__(
        self,
        brokers: int = 1,
        config: Mapping[str, object] | None = None,
        *,
        log_level: str = "error",
    ) -> None:
        """`config` has Kafka's broker keys."""
        self._arguments = ["serve", "--port", "0", "--admin-port", "0", "--brokers", str(brokers)]
        self._arguments += ["--log-level", log_level]
        for key, value in (config or {}).items():
            self._arguments += ["-o", f"{key}={value}"]
        self._process: BrokerProcess | None = None
        self._admin_url = ""

    def __enter__(self) -> "LabCluster":
        self._process = BrokerProcess(self._arguments, _START_TIMEOUT_S)
        self._admin_url = self._process.admin_url
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._process is not None
        self._process.end(_STOP_TIMEOUT_S)

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of every broker, comma-separated."""
        assert self._process is not None
        return self._process.bootstrap_servers

    def log_lines(self) -> list[str]:
        """What it logged so far, oldest first."""
        assert self._process is not None
        return self._process.log_lines()

    def ask(self, method: str, path: str, body: object = None, **query: object) -> Any:
        """Anything that the admin port's `/openapi.json` describes under /v1, decoded."""
        url = f"{self._admin_url}/v1{path}"
        if query:
            url += f"?{urlencode(query)}"
        data = None if body is None else json.dumps(body).encode()
        request = Request(url, data, {"Content-Type": "application/json"}, method=method)  # noqa: S310
        with urlopen(request, timeout=_ANSWER_TIMEOUT_S) as response:  # noqa: S310 - our own broker
            text = response.read()
        return json.loads(text) if text else None

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """A topic whose replicas are on every broker."""
        self.ask("POST", "/topics", {"name": name, "partitions": partitions})

    def add_fault(self, **rule: object) -> int:
        """Add a fault rule; returns its number."""
        number: int = self.ask("POST", "/faults", rule)["id"]
        return number

    def remove_fault(self, number: int) -> None:
        """End a fault."""
        self.ask("DELETE", f"/faults/{number}")

    def advance_ms(self, duration_ms: int) -> None:
        """Move the clock on; all that becomes due happens before this returns."""
        self.ask("POST", "/clock/advance", {"ms": duration_ms})

    def records(self, topic: str) -> list[dict[str, Any]]:
        """What is stored of a topic, as the admin port shows it."""
        found: list[dict[str, Any]] = self.ask(
            "GET", f"/topics/{quote(topic)}/records", limit=1_000
        )["records"]
        return found

    def requests(self, **query: object) -> list[dict[str, Any]]:
        """The journal's lines, oldest first; `query` as `/v1/requests` takes it."""
        lines: list[dict[str, Any]] = self.ask("GET", "/requests", **query)
        return lines
