"""Apache Kafka with several brokers, of which any but the first may stop, crash and return."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.free_ports import free_port_run
from tests.interop.apache_kafka import ApacheKafka


class ApacheCluster:
    """Brokers 1 to N, one process each; broker 1 is the controller, too.

    Their listeners are PLAINTEXT and SASL_PLAINTEXT.
    """

    def __init__(
        self,
        folder: Path,
        broker_count: int = 3,
        properties: Mapping[str, str] | None = None,
        *,
        advertised_ports: Sequence[int] | None = None,
    ) -> None:
        """Describe the cluster; nothing runs yet.

        `properties` are added to server.properties. `advertised_ports` are those of a proxy in
        front of `ports`.
        """
        controller_port = free_port_run(1 + 2 * broker_count)
        self.ports = range(controller_port + 1, controller_port + 1 + broker_count)
        sasl_ports = range(self.ports.stop, self.ports.stop + broker_count)
        advertised = advertised_ports or self.ports
        controller = f"127.0.0.1:{controller_port}"
        self.bootstrap_servers = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        self.sasl_servers = ",".join(f"127.0.0.1:{port}" for port in sasl_ports)
        self.brokers: dict[int, ApacheKafka] = {}
        for node_id, (port, sasl_port, advertised_port) in enumerate(
            zip(self.ports, sasl_ports, advertised, strict=True), start=1
        ):
            sasl = f"SASL_PLAINTEXT://127.0.0.1:{sasl_port}"
            listener = f"PLAINTEXT://127.0.0.1:{port},{sasl}"
            is_controller = node_id == 1
            own = {
                "node.id": str(node_id),
                "process.roles": "broker,controller" if is_controller else "broker",
                "controller.quorum.voters": f"1@{controller}",
                "listeners": f"{listener},CONTROLLER://{controller}" if is_controller else listener,
                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{advertised_port},{sasl}",
            }
            broker_folder = folder / str(node_id)
            broker_folder.mkdir()
            self.brokers[node_id] = ApacheKafka(
                broker_folder, properties={**(properties or {}), **own}
            )

    def start(self) -> None:
        """Start all brokers and wait until clients may come.

        Raises:
            CannotRunError: no java, no mvn, or nothing comes from Maven Central.
        """
        for broker in self.brokers.values():
            broker.start()

    def stop(self) -> None:
        """End all processes; the controller last, since brokers report their shutdown to it."""
        for broker in reversed(self.brokers.values()):
            broker.stop()
