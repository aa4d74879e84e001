"""A mock Kafka cluster as a context manager, for plain and for asynchronous code."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from mock_kafka.async_verbs import AsyncVerbs
from mock_kafka.broker_process import BrokerProcess
from mock_kafka.control import Control
from mock_kafka.fault import Rules, rules_file
from mock_kafka.verbs import ClusterVerbs, ConfigValue, config_text
from mock_kafka.views import Request, request_of

if TYPE_CHECKING:  # imports the broker
    from mock_kafka.in_process import BrokerThread

START_TIMEOUT_S = 15.0
STOP_TIMEOUT_S = 5.0


class MockKafka(ClusterVerbs):
    """A cluster of brokers in one process of its own.

    `with MockKafka() as kafka:` or `async with MockKafka() as kafka:`; outside of either, `start`
    and `stop`. A stopped cluster may be started again: it is then a new one, empty, and on other
    ports unless `port` was given.

    Its verbs (`fail`, `advance`, `records` and so on) take about a millisecond each. In coroutines
    `await kafka.aio.wait_for(...)`: the same verbs, and the event loop goes on during the call.
    """

    def __init__(
        self,
        brokers: int = 1,
        config: Mapping[str, ConfigValue] | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        log_level: str = "warning",
        admin_port: int | None = 0,
        in_process: bool = False,
        faults: Rules | None = None,
        audit: bool = False,
    ) -> None:
        """Describe a cluster; nothing runs yet.

        Args:
            brokers: how many brokers, with node ids from 1.
            config: Kafka's broker configuration names, such as `num.partitions`.
            host: the address to listen on, and to tell clients.
            port: the first broker's port, the others follow; 0 for free ones.
            log_level: `debug`, `info`, `warning` or `error`: what `log_lines` gets to see.
            admin_port: the HTTP port that the verbs go through; 0 for a free one, None for none:
                then there are no verbs, and requests are not kept for `requests`.
            in_process: serve from a thread of this process: for debuggers, and where processes
                can't be started. Otherwise a process of its own is faster and disturbed by nothing.
            faults: rules that are there from the start, and again after a reset: the path of a
                JSON file, or a list (docs/faults.md).
            audit: record which batches are acknowledged, for the verb `audit`; the same as
                `audit.enable` in `config`.
        """
        self.brokers = brokers
        self.config = dict(config or {})
        if audit:
            self.config["audit.enable"] = True
        self.host = host
        self.port = port
        self.log_level = log_level
        self.admin_port = admin_port
        self.in_process = in_process
        self.faults_at_start = faults
        self.aio = AsyncVerbs(self)
        self._process: BrokerProcess | BrokerThread | None = None
        self._control: Control | None = None
        self._last_log_lines: list[str] = []

    def __repr__(self) -> str:
        state = self._process.bootstrap_servers if self._process else "not started"
        return f"<MockKafka {state}>"

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of every broker, comma-separated, as every Kafka client takes it.

        Raises:
            RuntimeError: the cluster is not running.
        """
        return self._running().bootstrap_servers

    def bootstrap_servers_of(self, listener: str) -> str:
        """The same for a listener other than the first, by its name in `listeners`.

        Raises:
            KeyError: there is no such listener.
            RuntimeError: the cluster is not running.
        """
        return self._running().bootstrap_servers_of(listener)

    @property
    def bootstrap_servers_list(self) -> list[str]:
        """The same as one string per broker, in the order of node ids."""
        return self.bootstrap_servers.split(",")

    @property
    def admin_url(self) -> str:
        """Where the admin port listens: a page for people, and docs/admin.md for other languages.

        Raises:
            RuntimeError: the cluster is not running, or has no admin port.
        """
        return self.control.url

    @property
    def control(self) -> Control:
        """The admin port, for what has no verb: `kafka.control.ask("GET", "/v1/groups")`.

        Raises:
            RuntimeError: the cluster is not running, or has no admin port.
        """
        self._running()
        if self._control is None:
            raise RuntimeError("the cluster was made with admin_port=None; leave that out")
        return self._control

    @property
    def pid(self) -> int:
        """The process id of the cluster, for those who want to measure or to kill it."""
        return self._running().pid

    @property
    def is_running(self) -> bool:
        """Whether the cluster was started and its process is still there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> "MockKafka":
        """Start the cluster; returns when it accepts connections.

        Raises:
            StartError: it could not start; the message says what the broker said.
            RuntimeError: it was started already.
        """
        if self._process is not None:
            raise RuntimeError(f"{self!r} was started already")
        with rules_file(self.faults_at_start) as faults_file:
            arguments = self._arguments(faults_file)
            if self.in_process:
                from mock_kafka.in_process import BrokerThread  # noqa: PLC0415 - imports the broker

                self._process = BrokerThread(arguments, START_TIMEOUT_S)
            else:
                self._process = BrokerProcess(arguments, START_TIMEOUT_S)
        if self.admin_port is not None:
            token = self.config.get("broker.admin.token")
            self._control = Control(self._process.admin_url, None if token is None else str(token))
        return self

    def stop(self) -> None:
        """Stop the cluster and forget its data; does nothing when it is not running."""
        process, self._process = self._process, None
        control, self._control = self._control, None
        if control is not None:
            control.close()
        if process is not None:
            process.end(STOP_TIMEOUT_S)
            self._last_log_lines = process.log_lines()

    def hook(self, function: Callable[[Request], Mapping[str, Any] | None] | None) -> None:
        """Have a function see every request before it is handled, with `in_process=True` alone.

        What it returns is a fault rule for this request: fields of docs/faults.md, such as
        `{"error": "NOT_COORDINATOR"}` or `{"response": {...}}`, or None to leave it alone. It runs
        on the cluster's thread, which waits for it: it must be quick, and ask the cluster nothing.
        Requests that another rule decides it doesn't see. `hook(None)` and `reset` take it away.

        Raises:
            RuntimeError: the cluster is a process of its own, or not running.
        """
        process = self._running()
        if not self.in_process:
            raise RuntimeError("a hook needs MockKafka(in_process=True); rules need nothing")
        assert not isinstance(process, BrokerProcess)
        process.set_hook(None if function is None else lambda plain: function(request_of(plain)))

    def log_lines(self) -> list[str]:
        """What the cluster logged, oldest first; after `stop`, what it had logged until then."""
        return self._process.log_lines() if self._process else list(self._last_log_lines)

    def __enter__(self) -> "MockKafka":
        return self.start()

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> "MockKafka":
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.stop)

    def _running(self) -> "BrokerProcess | BrokerThread":
        if self._process is None:
            raise RuntimeError("the cluster is not running: use `with MockKafka() as kafka`")
        return self._process

    def _arguments(self, faults_file: Path | None) -> list[str]:
        arguments = ["serve", "--host", self.host, "--port", str(self.port)]
        arguments += ["--brokers", str(self.brokers), "--log-level", self.log_level]
        if self.admin_port is not None:
            arguments += ["--admin-port", str(self.admin_port)]
        if faults_file is not None:
            arguments += ["--faults", str(faults_file)]
        for key, value in self.config.items():
            arguments += ["-o", f"{key}={config_text(value)}"]
        return arguments
