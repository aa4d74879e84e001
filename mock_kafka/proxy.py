"""A proxy in front of a Kafka cluster as a context manager: its faults, throttles and requests."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Self

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
from mock_kafka.served import ServedProcess

__tracebackhide__ = True  # pytest shows the line of the caller

START_TIMEOUT_S = 30.0


class KafkaProxy(ServedProcess, FaultMethods, QuotaMethods, RequestMethods):
    """A proxy in a separate process; clients use its `bootstrap_servers` in place of the cluster's.

    Use `with KafkaProxy(to="localhost:9092") as kafka:`, or call `start` and `stop`. Topics, groups
    and records are the cluster's, so it has none of the methods for them.
    """

    _not_running = "the proxy is not running: use `with KafkaProxy(...) as kafka`"

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
        super().__init__(config)
        self.to = to
        self.to_config = dict(to_config or {})
        self.host = host
        self.port = port
        self.log_level = log_level
        self.faults_at_start = faults
        self.tls = tls
        self.command = command

    def __repr__(self) -> str:
        state = self._process.bootstrap_servers if self._process else "not started"
        return f"<KafkaProxy {state} to {self.to}>"

    @property
    def ca_path(self) -> str:
        """The PEM file of the authority that has signed the certificate of `tls=True`.

        Raises:
            KeyError: no certificate was made.
            RuntimeError: the proxy is not running.
        """
        return self._running().value_of(CA_LOCATION)

    @property
    def control(self) -> Control:
        """The admin port, for requests without a method.

        Raises:
            RuntimeError: the proxy is not running.
        """
        self._running()
        assert self._control is not None
        return self._control

    def start(self) -> Self:
        """Start the proxy; return when it accepts connections.

        Raises:
            StartError: it did not start; the message has its error.
            RuntimeError: it was started already.
        """
        self._check_stopped()
        with ExitStack() as files:
            arguments = self._arguments(files)
            self._process = BrokerProcess(arguments, START_TIMEOUT_S, broker_command(self.command))
        self._control = self._open_control(self._process.admin_url)
        return self

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
