"""Real clients see the certificate of a listener change, and connections from before live on."""

import shutil
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from broker.clock import SystemClock
from broker.server.certificates import write_certificates
from mock_kafka import MockKafka

LOCATION = "listener.name.ssl.ssl.keystore.location"
HOSTS = ["localhost", "127.0.0.1"]


@dataclass(frozen=True)
class Served:
    cluster: MockKafka
    folder: Path
    admin: AdminClient

    @property
    def servers(self) -> str:
        return self.cluster.bootstrap_servers_of("SSL")

    def make(self, name: str, days: int = 365) -> Path:
        return make(self.folder / name, days)

    def use(self, path: Path) -> None:
        """Give the listener another certificate."""
        entry = ConfigEntry(LOCATION, str(path), incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
        [changed] = self.admin.incremental_alter_configs([resource]).values()
        changed.result(20)

    def seen(self, name: str) -> ssl.SSLSocket:
        """Return a new connection of Python's ssl that trusts one authority."""
        context = ssl.create_default_context(cafile=str(self.folder / name / "ca.pem"))
        host, port = self.servers.split(":")
        return context.wrap_socket(
            socket.create_connection((host, int(port))), server_hostname=host
        )

    def settings(self, name: str) -> dict[str, Any]:
        """Return what librdkafka needs to connect, if it trusts one authority."""
        return {
            "bootstrap.servers": self.servers,
            "security.protocol": "SSL",
            "reconnect.backoff.ms": 1000,
            "ssl.ca.location": str(self.folder / name / "ca.pem"),
        }


def make(folder: Path, days: int = 365) -> Path:
    write_certificates(folder, HOSTS, [], SystemClock().now_ms(), days)
    return folder / "server.pem"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    config = {
        "listeners": "PLAINTEXT://:0,SSL://:0",
        "ssl.keystore.location": str(make(tmp_path / "first")),
    }
    with MockKafka(config=config) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        yield Served(cluster, tmp_path, admin)


def connections(served: Served) -> set[int | None]:
    """Return the connections that have sent Produce requests."""
    return {request.connection for request in served.cluster.requests(api="Produce")}


def test_a_producer_goes_on_while_new_clients_get_the_new_certificate(served: Served) -> None:
    old = kafka.KafkaProducer(
        bootstrap_servers=served.servers,
        security_protocol="SSL",
        ssl_cafile=str(served.folder / "first/ca.pem"),
    )
    old.send("orders", b"before").get(20)
    second = served.make("second")

    served.use(second)

    with served.seen("second") as seen:
        pem = second.read_text()
        assert seen.getpeercert(binary_form=True) == ssl.PEM_cert_to_DER_cert(
            pem[pem.index("-----BEGIN CERTIFICATE") :]
        )
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer"):
        served.seen("first")
    old.send("orders", b"after").get(20)
    assert len(connections(served)) == 1
    new = confluent_kafka.Producer(served.settings("second"))
    new.produce("orders", b"new")
    assert new.flush(20) == 0
    assert len(connections(served)) == 2
    old.close()


def test_a_renewed_file_is_served_after_its_name_is_set_again(served: Served) -> None:
    used = served.folder / "used.pem"
    shutil.copy(served.make("second"), used)
    served.use(used)
    served.seen("second").close()

    shutil.copy(served.make("third"), used)
    served.seen("second").close()
    served.use(used)
    served.seen("third").close()


def test_clients_refuse_a_certificate_that_has_expired(served: Served) -> None:
    served.use(served.make("late", days=-1))
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate has expired"):
        served.seen("late")
    errors: list[confluent_kafka.KafkaError] = []
    late = confluent_kafka.Producer({**served.settings("late"), "error_cb": errors.append})
    with pytest.raises(confluent_kafka.KafkaException):
        late.list_topics(timeout=2)
    late.poll(0)
    assert confluent_kafka.KafkaError._SSL in {error.code() for error in errors}

    served.use(served.folder / "first/server.pem")
    assert AdminClient(served.settings("first")).list_topics(timeout=20).brokers


def test_a_bad_file_is_refused_and_the_old_certificate_stays(served: Served) -> None:
    bad = served.folder / "bad.pem"
    bad.write_text("nonsense")
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        served.use(bad)
    error = raised.value.args[0]
    assert error.code() == confluent_kafka.KafkaError.INVALID_REQUEST
    assert f"Failed to load PEM SSL keystore {bad}" in error.str()
    served.seen("first").close()
