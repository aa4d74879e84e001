"""A proxy in front of a Kafka cluster as a context manager: its faults, throttles and requests."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType

from mock_kafka.broker_command import broker_command
from mock_kafka.broker_process import BrokerProcess
from mock_kafka.config_file import config_file
from mock_kafka.config_value import ConfigValue, config_text
from mock_kafka.control import Control
from mock_kafka.fault import Rules, rules_file
from mock_kafka.fault_methods import FaultMethods
from mock_kafka.printed_lines import CA_LOCATION
from mock_kafka.quota_methods import QuotaMethods
from mock_kafka.request_methods import RequestMethods

__tracebackhide__ = True  # pytest shows the line of the caller

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0


class KafkaProxy(FaultMethods, QuotaMethods, RequestMethods):
    """A proxy in a separate process; clients use its `bootstrap_servers` in place of the cluster's.

    Use `with KafkaProxy(to="localhost:9092") as kafka:`, or call `start` and `stop`. Topics, groups
    and records are the cluster's, so it has none of the methods for them.
    """

    def __init__(
        self,
        to: str,
        config: Mapping[str, ConfigValue] | None = None,
        *,
        to_config: Mapping[str, str] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        log_level: str = "warning",
        faults: Rules | None = None,
        tls: bool = False,
        command: str | Sequence[str] | None = None,
    ) -> None:
        """Configure a proxy; `start` starts it.

        Args:
            to: the bootstrap servers of the cluster, `HOST:PORT[,HOST:PORT...]`.
            config: Kafka's broker configuration for the proxy's own side, such as
                `connections.max.idle.ms`.
            to_config: the properties of a client of the cluster: `security.protocol`, `sasl.*` and
                `ssl.*`. SASL of clients passes through the proxy; this is for its own requests.
            host: the address to listen on and to advertise.
            port: the bootstrap port, brokers get the next ones; 0 for free ports.
            log_level: `debug`, `info`, `warning` or `error`, for `log_lines`.
            faults: fault rules of the start, which a reset restores: the path of a JSON file, or a
                list (docs/faults.md).
            tls: have TLS for clients, with certificates that are made for this proxy (see
                `ca_path`) unless `config` has `ssl.keystore.location`.
            command: how to start `mock-kafka`, if it is installed in another environment.
        """
        self.to = to
        self.config = dict(config or {})
        self.to_config = dict(to_config or {})
        self.host = host
        self.port = port
        self.log_level = log_level
        self.faults_at_start = faults
        self.tls = tls
        self.command = command
        self._process: BrokerProcess | None = None
        self._control: Control | None = None
        self._last_log_lines: list[str] = []

    def __repr__(self) -> str:
        state = self._process.bootstrap_servers if self._process else "not started"
        return f"<KafkaProxy {state} to {self.to}>"

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of the bootstrap port, for the configuration of a client.

        Raises:
            RuntimeError: the proxy is not running.
        """
        return self._running().bootstrap_servers

    @property
    def ca_path(self) -> str:
        """The PEM file of the authority that has signed the certificate of `tls=True`.

        Raises:
            KeyError: no certificate was made.
            RuntimeError: the proxy is not running.
        """
        return self._running().value_of(CA_LOCATION)

    @property
    def admin_url(self) -> str:
        """The URL of the admin port: a web page, and the HTTP API of docs/admin.md.

        Raises:
            RuntimeError: the proxy is not running.
        """
        return self.control.url

    @property
    def control(self) -> Control:
        """The admin port, for requests without a method.

        Raises:
            RuntimeError: the proxy is not running.
        """
        self._running()
        assert self._control is not None
        return self._control

    @property
    def pid(self) -> int:
        """The process id of the proxy, to measure or to kill it."""
        return self._running().pid

    def start(self) -> "KafkaProxy":
        """Start the proxy; return when it accepts connections.

        Raises:
            StartError: it did not start; the message has its error.
            RuntimeError: it was started already.
        """
        if self._process is not None:
            raise RuntimeError(f"{self!r} was started already")
        with ExitStack() as files:
            arguments = self._arguments(files)
            self._process = BrokerProcess(arguments, START_TIMEOUT_S, broker_command(self.command))
        token = self.config.get("broker.admin.token")
        self._control = Control(self._process.admin_url, None if token is None else str(token))
        return self

    def stop(self) -> None:
        """Stop the proxy, and close all connections through it; do nothing if it is not running."""
        process, self._process = self._process, None
        control, self._control = self._control, None
        if control is not None:
            control.close()
        if process is not None:
            process.end(STOP_TIMEOUT_S)
            self._last_log_lines = process.log_lines()

    def stop_broker(self, broker: int) -> None:
        """Close the connections through the port of a broker, and refuse new ones.

        The broker goes on, and Metadata names it: clients cannot reach it.
        """
        self.control.ask("POST", f"/v1/brokers/{broker}/stop", {"elect": False})

    def isolate_broker(self, broker: int) -> None:
        """Keep the connections to a broker open, but pass no data through them."""
        self.control.ask("POST", f"/v1/brokers/{broker}/isolate", {"elect": False})

    def start_broker(self, broker: int) -> None:
        """Have clients reach a broker again."""
        self.control.ask("POST", f"/v1/brokers/{broker}/start", {})

    def reset(self) -> None:
        """Restore the state after the start: fault rules, past requests, quotas, reachable brokers.

        All connections are closed. The cluster's topics, groups and records stay.
        """
        self.control.unanswered.clear()
        self.control.ask("POST", "/v1/reset")

    def log_lines(self) -> list[str]:
        """Return the lines of the proxy's log, oldest first, also after `stop`."""
        return self._process.log_lines() if self._process else list(self._last_log_lines)

    def __enter__(self) -> "KafkaProxy":
        return self.start()

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _running(self) -> BrokerProcess:
        if self._process is None:
            raise RuntimeError("the proxy is not running: use `with KafkaProxy(...) as kafka`")
        return self._process

    def _arguments(self, files: ExitStack) -> list[str]:
        """Return the arguments of the proxy; `files` deletes those that they name."""
        arguments = ["proxy", "--until-stdin-closes", "--to", self.to, "--admin-port", "0"]
        arguments += ["--host", self.host, "--port", str(self.port), "--log-level", self.log_level]
        if self.tls:
            arguments += ["--tls"]
        if ":" in self.host:  # perhaps this machine has IPv6 alone
            arguments += ["--admin-host", "::1"]
        if self.faults_at_start is not None:
            rules_path = files.enter_context(rules_file(self.faults_at_start))
            arguments += ["--faults", str(rules_path)]
        for option, texts in (
            ("--config", {key: config_text(value) for key, value in self.config.items()}),
            ("--to-config", self.to_config),
        ):
            if texts:
                arguments += [option, str(files.enter_context(config_file(texts)))]
        return arguments
