"""A mock Kafka cluster as a context manager, for synchronous and asynchronous code."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from mock_kafka.async_methods import AsyncMethods
from mock_kafka.broker_command import broker_command
from mock_kafka.broker_process import BrokerProcess
from mock_kafka.client_settings import (
    MECHANISMS,
    Access,
    Client,
    client_settings,
    credential_of,
    sasl_users,
)
from mock_kafka.config_file import config_file
from mock_kafka.config_value import ConfigValue, config_text
from mock_kafka.control import Control
from mock_kafka.fault import Rules, rules_file
from mock_kafka.methods import ClusterMethods
from mock_kafka.near_names import did_you_mean
from mock_kafka.printed_lines import BOOTSTRAP_SERVERS, CA_LOCATION, SECURITY_PROTOCOL
from mock_kafka.served import ServedProcess
from mock_kafka.snapshot_methods import Snapshot, snapshot_file
from mock_kafka.threads import finish_in_thread

if TYPE_CHECKING:  # imports the broker
    from mock_kafka.views import Request

__tracebackhide__ = True  # pytest shows the line of the caller

AUTHORIZER = "acl"
"""Short for Kafka's StandardAuthorizer."""
START_TIMEOUT_S = 15.0
LOAD_TIMEOUT_S = 60.0
"""How long a start with a snapshot may take."""


class MockKafka(ServedProcess, ClusterMethods):
    """A cluster of brokers in a separate process.

    Use `with MockKafka() as kafka:` or `async with MockKafka() as kafka:`, or call `start` and
    `stop`. A stopped cluster can be started again. It is then empty, and has other ports unless
    `port` is set.

    A method (`fail`, `advance`, `records` and so on) takes about a millisecond. In coroutines use
    the same methods of `kafka.aio`, which do not block the event loop.
    """

    _not_running = "the cluster is not running: use `with MockKafka() as kafka`"

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
        acls: bool = False,
        tls: bool = False,
        users: Mapping[str, str] | None = None,
        snapshot: Snapshot | None = None,
        command: str | Sequence[str] | None = None,
    ) -> None:
        """Configure a cluster; `start` starts it.

        Args:
            brokers: the number of brokers; their node ids start at 1, or at `node.id` of `config`.
            config: Kafka's broker configuration, such as `num.partitions`. `broker.2.KEY` is a key
                of broker 2 alone, such as `broker.2.broker.rack`. `${env:NAME}` in a value is an
                environment variable.
            host: the address to listen on and to advertise. With an IPv6 address the admin port is
                on `::1`.
            port: the first broker's port, the others get the next ones; 0 for free ports.
            log_level: `debug`, `info`, `warning` or `error`, for `log_lines`.
            admin_port: the HTTP port for the methods; 0 for a free port. With None the methods
                raise RuntimeError, and the journal is off.
            in_process: run in a thread of this process, for debuggers, and where processes can't be
                started. A separate process is faster, and independent of this one.
            faults: fault rules of the start, which a reset restores: the path of a JSON file, or a
                list (docs/faults.md).
            audit: record acknowledged batches for the method `audit`, like `audit.enable` in
                `config`.
            acls: allow clients only what rules of the methods `allow` and `deny` allow, like
                `authorizer.class.name` in `config`. Users of `super.users` in `config` may do
                everything.
            tls: have TLS, with certificates that are made for this cluster (see `ca_path`) unless
                `config` has `ssl.keystore.location`.
            users: have clients authenticate with SASL, as one of these users: passwords by name.
                `client_settings` has what a client needs for both.
            snapshot: the setup of the start, which a reset restores: what the method `snapshot`
                returned, or the path of its JSON file. It is loaded before the first request, with
                its cluster id unless `config` has one. With a recording of another cluster
                (docs/recorded-worlds.md) the cluster has as many brokers, and is of the same
                release; its access control lists need `acls`.
            command: how to start `mock-kafka`, if it is installed in another environment, such as
                `["/opt/mock-kafka/bin/mock-kafka"]`. By default the variable MOCK_KAFKA_COMMAND,
                then this environment, then the PATH.

        Raises:
            ValueError: `command` together with `in_process`, or `users` with `sasl.users`.
        """
        if in_process and command:
            raise ValueError("in_process=True runs the broker in this process; remove command")
        super().__init__(config)
        self.brokers = brokers
        self.tls = tls
        self.users = None if users is None else dict(users)
        if users and "sasl.users" in self.config:
            raise ValueError("users are given twice: remove users=, or sasl.users of config")
        if users:
            self.config["sasl.users"] = sasl_users(users)
        if audit:
            self.config["audit.enable"] = True
        if acls:
            self.config.setdefault("authorizer.class.name", AUTHORIZER)
        self.host, self.port = host, port
        self.log_level, self.admin_port = log_level, admin_port
        self.in_process = in_process
        self.faults_at_start = faults
        self.snapshot_at_start = snapshot
        self.command = command
        self.aio = AsyncMethods(self)

    def __repr__(self) -> str:
        state = self._process.bootstrap_servers if self._process else "not started"
        return f"<MockKafka {state}>"

    def bootstrap_servers_of(self, listener: str) -> str:
        """Return the addresses of a listener by its name in `listeners`.

        Raises:
            KeyError: there is no such listener; the message has those there are.
            RuntimeError: the cluster is not running.
        """
        process, names = self._running(), self._listener_names()
        if listener == names[0]:
            return process.bootstrap_servers
        try:
            return process.bootstrap_servers_of(listener)
        except KeyError:
            hint = did_you_mean(str(listener), names)
            known = ", ".join(names)
            message = f"there is no listener {listener!r}{hint}; listeners are: {known}"
            raise KeyError(message) from None

    @property
    def ca_path(self) -> str:
        """The PEM file of the authority that has signed the certificates of `tls=True`.

        It is there until the cluster stops.

        Raises:
            RuntimeError: no certificates were made, or the cluster is not running.
        """
        path = self._ca_path()
        if path is None:
            reason = "without ssl.keystore.location" if self.tls else "use MockKafka(tls=True)"
            raise RuntimeError(f"no certificates were made for this cluster: {reason}")
        return path

    def client_settings(
        self,
        client: Client,
        *,
        user: str | None = None,
        password: str | None = None,
        listener: str | None = None,
    ) -> dict[str, Any]:
        """Return the settings with which a client connects, under the client's own names.

        They are the bootstrap servers, and if needed the security protocol, the certificate
        authority, the SASL mechanism, the user and the password: arguments of
        `confluent_kafka.Producer({...})`, of `KafkaProducer(**...)` (kafka-python) and
        `AIOKafkaProducer(**...)`, and properties of the Java client.

        Args:
            client: "confluent" (librdkafka), "kafka-python", "aiokafka" or "java".
            user: one of `users`, by default the first.
            password: that of a user who is not in `users`.
            listener: a name of `listeners`, by default the first.

        Raises:
            KeyError: there is no such listener.
            RuntimeError: the cluster is not running.
            ValueError: there is no such client or user, or no mechanism with passwords.
        """
        servers = self.bootstrap_servers
        if listener is not None:
            servers = self.bootstrap_servers_of(listener)
        access = Access(servers, self._security_protocol(listener))
        if access.has_tls:
            access = replace(access, ca_path=self._ca_path())
        if access.has_sasl:
            mechanisms = str(self.config.get("sasl.enabled.mechanisms", ",".join(MECHANISMS)))
            credential = credential_of(self.users or {}, user, password, mechanisms)
            access = replace(access, credential=credential)
        return client_settings(client, access)

    @property
    def bootstrap_servers_list(self) -> list[str]:
        """The addresses as one string per broker, in the order of node ids."""
        return self.bootstrap_servers.split(",")

    @property
    def control(self) -> Control:
        """The admin port, for requests without a method: `kafka.control.ask("GET", "/v1/groups")`.

        Raises:
            RuntimeError: the cluster is not running, or has no admin port.
        """
        self._running()
        if self._control is None:
            raise RuntimeError("the cluster has no admin port; remove admin_port=None")
        return self._control

    def start(self) -> Self:
        """Start the cluster; return when it accepts connections.

        Raises:
            StartError: the cluster did not start, or refuses the snapshot; the message has the
                broker's error.
            RuntimeError: it was started already.
        """
        self._check_stopped()
        timeout_s = START_TIMEOUT_S if self.snapshot_at_start is None else LOAD_TIMEOUT_S
        with ExitStack() as files:
            arguments = self._arguments(files)
            if self.in_process:
                from mock_kafka.in_process import BrokerThread  # noqa: PLC0415 - imports the broker

                self._process = BrokerThread(arguments, timeout_s)
            else:
                command = broker_command(self.command)
                self._process = BrokerProcess(arguments, timeout_s, command)
        if self.admin_port is not None:
            self._control = self._open_control(self._process.admin_url)
        if self.snapshot_at_start is not None:  # a recording has its number of brokers
            self.brokers = len(self.bootstrap_servers_list)
        return self

    def hook(self, function: "Callable[[Request], Mapping[str, Any] | None] | None") -> None:
        """Call a function for every request before it is handled; needs `in_process=True`.

        The function returns the fields of a fault rule for this request (docs/faults.md), such as
        `{"error": "NOT_COORDINATOR"}` or `{"response": {...}}`, or None. It blocks the cluster's
        thread, so it must be quick and must not call methods of the cluster. It is not called for
        requests that another rule decides. `hook(None)` and `reset` remove it.

        Raises:
            RuntimeError: the cluster is a separate process, or not running.
        """
        process = self._running()
        if not self.in_process:
            raise RuntimeError("a hook needs MockKafka(in_process=True); fault rules do not")
        assert not isinstance(process, BrokerProcess)
        from mock_kafka.views import request_of  # noqa: PLC0415 - see `BrokerProcess`

        process.set_hook(
            None if function is None else lambda request: function(request_of(request))
        )

    async def __aenter__(self) -> Self:
        return await finish_in_thread(self.start)

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await finish_in_thread(self.stop)

    def _note_addresses(self, addresses: Mapping[str, str]) -> None:
        (_, first), *further = addresses.items()
        values = {f"{BOOTSTRAP_SERVERS}.{listener}": text for listener, text in further}
        self._running().renew({BOOTSTRAP_SERVERS: first, **values})

    def _listener_names(self) -> list[str]:
        if "listeners" not in self.config:
            return [self._security_protocol(None)]
        entries = str(self.config["listeners"]).split(",")
        return [entry.partition("://")[0].strip() for entry in entries]

    def _security_protocol(self, listener: str | None) -> str:
        if not (self.tls or self.users is not None or "listeners" in self.config):
            return "PLAINTEXT"  # nothing is printed about it
        is_first = listener is None or listener == self._listener_names()[0]
        key = SECURITY_PROTOCOL if is_first else f"{SECURITY_PROTOCOL}.{listener}"
        return self._running().value_of(key)

    def _ca_path(self) -> str | None:
        own = ("ssl.keystore.location", "ssl.keystore.key", "ssl.keystore.certificate.chain")
        has_own = any(key in self.config for key in own)
        return self._running().value_of(CA_LOCATION) if self.tls and not has_own else None

    def _arguments(self, files: ExitStack) -> list[str]:
        """Return the arguments of the broker; `files` deletes those that they name."""
        arguments = ["serve", "--until-stdin-closes"]
        arguments += ["--host", self.host, "--port", str(self.port)]
        arguments += ["--brokers", str(self.brokers), "--log-level", self.log_level]
        if self.tls:
            arguments += ["--tls"]
        if self.users is not None:
            arguments += ["--sasl"]
        if self.admin_port is not None:
            arguments += ["--admin-port", str(self.admin_port)]
            if ":" in self.host:  # perhaps this machine has IPv6 alone
                arguments += ["--admin-host", "::1"]
        if self.faults_at_start is not None:
            rules_path = files.enter_context(rules_file(self.faults_at_start))
            arguments += ["--faults", str(rules_path)]
        if self.snapshot_at_start is not None:
            snapshot_path = files.enter_context(snapshot_file(self.snapshot_at_start))
            arguments += ["--snapshot", str(snapshot_path)]
        if self.config:
            texts = {key: config_text(value) for key, value in self.config.items()}
            arguments += ["--config", str(files.enter_context(config_file(texts)))]
        return arguments
