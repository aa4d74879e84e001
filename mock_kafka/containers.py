"""A cluster in a container, with Testcontainers for Python; docs/containers.md.

    from mock_kafka.containers import MockKafkaContainer

    with MockKafkaContainer("mock-kafka", brokers=3) as kafka:
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
        kafka.drop_response(api="Produce", times=1)

It needs `pip install testcontainers` and a container engine.
"""

import shlex
import socket
from collections.abc import Mapping
from typing import Any, Self

from mock_kafka.async_methods import AsyncMethods
from mock_kafka.config_value import ConfigValue, config_text
from mock_kafka.control import Control
from mock_kafka.health import wait_until_healthy
from mock_kafka.methods import ClusterMethods
from mock_kafka.served import Served

__tracebackhide__ = True  # pytest shows the line of the caller

FIRST_PORT = 9092
ADMIN_PORT = 9099
"""The ports in the container, as in the image."""

START_TIMEOUT_S = 30.0


class MockKafkaContainer(Served, ClusterMethods):
    """A cluster in a container, with the methods of a cluster; use it in a with statement.

    The engine maps the ports of the container to random ones. The brokers advertise these, so
    clients on this machine reach every broker. `aio` has the methods as coroutines.
    """

    def __init__(
        self,
        image: str = "mock-kafka",
        *,
        brokers: int = 1,
        config: Mapping[str, ConfigValue] | None = None,
    ) -> None:
        """Nothing starts yet: `start` or a with statement does.

        Args:
            image: the image that the Dockerfile of mock-kafka builds.
            brokers: number of brokers; their node ids are 1, 2 and so on.
            config: Kafka's broker keys, without `listeners` and `node.id`.
        """
        super().__init__(config)
        self.image = image
        self.brokers = brokers
        self.aio = AsyncMethods(self)
        self._container: Any = None
        self._bootstrap_servers = ""

    def __repr__(self) -> str:
        return f"<MockKafkaContainer {self._bootstrap_servers or 'not started'}>"

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of every broker on this machine, comma-separated.

        Raises:
            RuntimeError: the container is not running.
        """
        _ = self.control
        return self._bootstrap_servers

    @property
    def control(self) -> Control:
        """The admin port, for requests without a method.

        Raises:
            RuntimeError: the container is not running.
        """
        if self._control is None:
            raise RuntimeError("the container is not running: use `with MockKafkaContainer()`")
        return self._control

    def start(self) -> Self:
        """Start the container, and advertise its mapped ports.

        Raises:
            ModuleNotFoundError: Testcontainers is not installed.
            ConnectionError: the cluster did not respond in time; the message has its log.
        """
        # An optional package, which this project does not install.
        from testcontainers.core.container import DockerContainer  # noqa: PLC0415

        ports = range(FIRST_PORT, FIRST_PORT + self.brokers)
        self._container = (
            DockerContainer(self.image)
            .with_exposed_ports(*ports, ADMIN_PORT)
            .with_command(shlex.join(self._command()))
        )
        self._container.start()
        try:
            self._advertise_mapped(ports)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop and remove the container; do nothing if it is not running."""
        container, self._container = self._container, None
        self._bootstrap_servers = ""
        self._close_control()
        if container is not None:
            container.stop()

    def _note_addresses(self, addresses: Mapping[str, str]) -> None:
        """Do nothing: a container has fixed ports, so a reset to new ones is refused."""

    def _command(self) -> list[str]:
        settings = [f"{key}={config_text(value)}" for key, value in self.config.items()]
        overrides = [word for setting in settings for word in ("-o", setting)]
        return ["serve", "--brokers", str(self.brokers), *overrides]

    def _advertise_mapped(self, ports: range) -> None:
        # The admin port accepts addresses in the Host header, and only allowed names.
        host = socket.gethostbyname(self._container.get_container_host_ip())
        admin_port = self._container.get_exposed_port(ADMIN_PORT)
        control = self._open_control(f"http://{host}:{admin_port}")
        try:
            wait_until_healthy(control, START_TIMEOUT_S)
        except (ConnectionError, TimeoutError) as error:
            output = b"\n".join(self._container.get_logs()).decode(errors="replace")
            raise ConnectionError(f"{error}\n{output}") from None
        self._control = control
        mapped = [int(self._container.get_exposed_port(port)) for port in ports]
        for node_id, port in enumerate(mapped, start=1):
            self.advertise(node_id, host, port)
        self._bootstrap_servers = ",".join(f"{host}:{port}" for port in mapped)
