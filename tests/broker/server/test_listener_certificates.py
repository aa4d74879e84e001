"""New connections get a listener's new certificate; the others live on."""

import asyncio
import shutil
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import structlog.testing

from broker.administration.config_alteration import alter_configs
from broker.administration.config_operations import Alteration, Operation
from broker.clock import SystemClock
from broker.cluster import failover
from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.serve import ServeOptions, start_server
from broker.server.certificates import write_certificates
from broker.server.server import Server
from protocol.configs import ConfigOperation, ResourceType
from tests.broker.connection_driver import metadata_frame

HOSTS = ["localhost", "127.0.0.1"]
LOCATION = "ssl.keystore.location"
OWN = "listener.name.ssl."
OWN_LOCATION = OWN + LOCATION
FAILED = (
    "Invalid value org.apache.kafka.common.config.ConfigException: Validation of dynamic config"
    " update of SSLFactory failed: {} for configuration Invalid dynamic configuration"
)
INVALID = "org.apache.kafka.common.errors.InvalidConfigurationException: "
UNTRUSTED = (
    "javax.net.ssl.SSLHandshakeException: PKIX path validation failed:"
    " java.security.cert.CertPathValidatorException: "
)


def certificate(folder: Path, hosts: list[str] = HOSTS, days: int = 365) -> Path:
    write_certificates(folder, hosts, [], SystemClock().now_ms(), days)
    return folder / "server.pem"


def der(path: Path) -> bytes:
    text = path.read_text()
    return ssl.PEM_cert_to_DER_cert(text[text.index("-----BEGIN CERTIFICATE") :])


@dataclass
class Cluster:
    """A cluster of two brokers, whose listener SSL has the certificate of a folder `first`."""

    server: Server
    folder: Path

    def alter(self, keys: dict[str, str | None]) -> str | None:
        """Set keys of broker 1, or delete those that are None; return why they are refused."""
        operations = tuple(
            Operation(name, ConfigOperation.DELETE if text is None else ConfigOperation.SET, text)
            for name, text in keys.items()
        )
        alteration = Alteration(ResourceType.BROKER, "1", operations, is_replacement=False)
        [refusal] = alter_configs(self.server.cluster, 1, [alteration], validate_only=False)
        return None if refusal is None else refusal.message

    def use(self, path: Path) -> str | None:
        """Give the listener SSL of broker 1 another certificate."""
        return self.alter({OWN_LOCATION: str(path)})

    async def connect(
        self, broker_id: int = 1
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        port = self.server.cluster.brokers[broker_id].endpoints["SSL"].port
        return await asyncio.open_connection("127.0.0.1", port, ssl=context)

    async def served(self, broker_id: int = 1) -> bytes:
        """Return the certificate that a new connection gets."""
        _reader, writer = await self.connect(broker_id)
        found = served_to(writer)
        writer.close()
        return found


def served_to(writer: asyncio.StreamWriter) -> bytes:
    found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    assert isinstance(found, bytes)
    return found


@pytest.fixture
def options() -> dict[str, str]:
    """Return further keys of the start."""
    return {}


@pytest.fixture
async def cluster(tmp_path: Path, options: dict[str, str]) -> AsyncIterator[Cluster]:
    first = certificate(tmp_path / "first")
    overrides = {"listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0", LOCATION: str(first)}
    config = BrokerConfig.from_overrides(
        {**overrides, **{key: text.format(tmp_path) for key, text in options.items()}}
    )
    server = await start_server(ServeOptions("127.0.0.1", 0, 2, config))
    yield Cluster(server, tmp_path)
    await server.stop()


async def test_new_connections_get_the_new_certificate_and_the_others_live_on(
    cluster: Cluster,
) -> None:
    first, second = cluster.folder / "first/server.pem", certificate(cluster.folder / "second")
    reader, writer = await cluster.connect()

    assert cluster.use(second) is None

    assert await cluster.served() == der(second)
    assert await cluster.served(2) == der(first)
    writer.write(metadata_frame(1))
    assert await reader.readexactly(4)
    assert served_to(writer) == der(first)
    writer.close()

    assert cluster.alter({OWN_LOCATION: None}) is None
    assert await cluster.served() == der(first)


@pytest.mark.parametrize("options", [{OWN_LOCATION: "{}/first/server.pem", LOCATION: "/none"}])
async def test_a_listener_may_start_with_a_certificate_of_its_own(
    cluster: Cluster, options: dict[str, str]
) -> None:
    first, second = cluster.folder / "first/server.pem", certificate(cluster.folder / "second")
    assert await cluster.served() == der(first)
    assert cluster.use(second) is None
    assert await cluster.served() == der(second)
    assert cluster.alter({OWN_LOCATION: None}) is None
    assert await cluster.served() == der(first)
    assert options[LOCATION] == "/none"  # it is read by no listener


async def test_several_changes_at_once_end_with_the_last(cluster: Cluster) -> None:
    paths = [certificate(cluster.folder / name) for name in "abc"]
    for path in paths:
        assert cluster.use(path) is None
    assert await cluster.served() == der(paths[-1])


async def test_a_file_that_has_changed_is_read_again_when_any_key_of_the_broker_is_set(
    cluster: Cluster,
) -> None:
    used = cluster.folder / "used.pem"
    shutil.copy(certificate(cluster.folder / "a"), used)
    assert cluster.use(used) is None

    shutil.copy(certificate(cluster.folder / "b"), used)
    assert await cluster.served() == der(cluster.folder / "a/server.pem")
    assert cluster.use(used) is None
    assert await cluster.served() == der(used)

    shutil.copy(certificate(cluster.folder / "c"), used)
    assert cluster.alter({"log.cleaner.threads": "2"}) is None
    assert await cluster.served() == der(used)


async def test_a_file_that_became_bad_under_its_name_is_logged_and_the_old_one_stays(
    cluster: Cluster,
) -> None:
    used = cluster.folder / "first/server.pem"
    before = der(used)
    used.write_text("nonsense")
    with structlog.testing.capture_logs() as lines:
        assert cluster.alter({"log.cleaner.threads": "2"}) is None
    assert [line["reason"] for line in lines if line["log_level"] == "warning"] == [
        f"{INVALID}Failed to load PEM SSL keystore {used}"
    ]
    assert await cluster.served() == before


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({LOCATION: "{0}/none.pem"}, INVALID + "Failed to load PEM SSL keystore {0}/none.pem"),
        ({LOCATION: "{0}/bad.pem"}, INVALID + "Failed to load PEM SSL keystore {0}/bad.pem"),
        (
            {LOCATION: "{0}/first/ca.pem"},
            INVALID + "Failed to load PEM SSL keystore {0}/first/ca.pem",
        ),
        (
            {"ssl.keystore.certificate.chain": "x"},
            INVALID + "SSL certificate chain is specified, but private key is not specified",
        ),
        (
            {"ssl.keystore.password": "x"},
            INVALID + "SSL key store password cannot be specified with PEM format, only key"
            " password may be specified",
        ),
        (
            {"ssl.truststore.password": "x"},
            INVALID + "SSL trust store is not specified, but trust store password is specified.",
        ),
        (
            {"ssl.truststore.location": "{0}/first/ca.pem"},
            (
                "org.apache.kafka.common.config.ConfigException: Cannot add SSL truststore to an"
                " existing listener for which no truststore was configured."
            ),
        ),
        (
            {LOCATION: "{0}/other/server.pem"},
            (
                "org.apache.kafka.common.config.ConfigException: Keystore DistinguishedName does"
                " not match:  existing={{alias=kafka, DN=CN=localhost}}, new={{alias=kafka,"
                " DN=CN=other}}"
            ),
        ),
    ],
)
async def test_bad_stores_are_refused_in_the_words_of_kafka_and_nothing_changes(
    cluster: Cluster, keys: dict[str, str], reason: str
) -> None:
    (cluster.folder / "bad.pem").write_text("nonsense")
    certificate(cluster.folder / "other", ["other", *HOSTS])
    folder = str(cluster.folder)

    message = cluster.alter({OWN + name: text.format(folder) for name, text in keys.items()})

    assert message == FAILED.format(reason.format(folder))
    assert cluster.server.cluster.config.dynamic_layer(1) == {}
    assert await cluster.served() == der(cluster.folder / "first/server.pem")


@pytest.mark.parametrize(
    "options",
    [{"security.inter.broker.protocol": "SSL", "ssl.truststore.location": "{}/first/ca.pem"}],
)
async def test_brokers_must_trust_each_other_with_the_old_and_the_new_certificate(
    cluster: Cluster,
) -> None:
    unknown, expired = certificate(cluster.folder / "b"), cluster.folder / "expired.pem"
    assert cluster.use(unknown) == FAILED.format(
        UNTRUSTED + "Path does not chain with any of the trust anchors"
    )
    other = str(cluster.folder / "b/ca.pem")
    assert cluster.alter({OWN + "ssl.truststore.location": other}) == FAILED.format(
        UNTRUSTED + "Path does not chain with any of the trust anchors"
    )
    both = cluster.folder / "both.pem"
    certificate(cluster.folder / "late", days=-1)
    both.write_text(
        "".join((cluster.folder / name / "ca.pem").read_text() for name in ("first", "b", "late"))
    )
    assert cluster.alter({OWN + "ssl.truststore.location": str(both)}) is None
    assert cluster.use(unknown) is None
    assert await cluster.served() == der(unknown)
    shutil.copy(cluster.folder / "late/server.pem", expired)
    assert cluster.use(expired) == FAILED.format(UNTRUSTED + "validity check failed")


async def test_a_broker_that_starts_again_reads_its_file(cluster: Cluster) -> None:
    second = certificate(cluster.folder / "other", ["other"])
    shutil.copy(second, cluster.folder / "first/server.pem")
    state = cluster.server.cluster
    before = await cluster.served()
    failover.isolate_broker(state, 1, state.timers.latest_ms)
    failover.start_broker(state, 1, state.timers.latest_ms)
    assert await cluster.served() == before != der(second)
    failover.stop_broker(state, 1, state.timers.latest_ms)
    failover.start_broker(state, 1, state.timers.latest_ms)
    assert await cluster.served() == der(second)


async def test_a_reset_returns_to_the_certificate_of_the_start(cluster: Cluster) -> None:
    first = der(cluster.folder / "first/server.pem")
    second = certificate(cluster.folder / "second")
    assert cluster.use(second) is None
    cluster.server.reset()
    await asyncio.sleep(0)
    assert await cluster.served() == first


async def test_a_certificate_that_changes_while_its_broker_is_down_is_there_after_the_start(
    cluster: Cluster,
) -> None:
    second = certificate(cluster.folder / "second")
    state = cluster.server.cluster
    failover.stop_broker(state, 1, state.timers.latest_ms)
    assert cluster.use(second) is None
    failover.start_broker(state, 1, state.timers.latest_ms)
    assert await cluster.served() == der(second)


async def test_a_listener_has_its_own_limit_of_connections(cluster: Cluster) -> None:
    assert cluster.alter({OWN + "max.connections": "1"}) is None
    reader, writer = await cluster.connect()
    writer.write(metadata_frame(1))
    assert await reader.readexactly(4)

    waiting, waiting_writer = await cluster.connect()
    waiting_writer.write(metadata_frame(2))
    other, other_writer = await cluster.connect(2)
    other_writer.write(metadata_frame(1))
    assert await other.readexactly(4)
    assert not waiting._buffer  # type: ignore[attr-defined]
    writer.close()
    assert await waiting.readexactly(4)
    for opened in (waiting_writer, other_writer):
        opened.close()


async def test_a_broker_may_start_with_a_certificate_of_its_own(tmp_path: Path) -> None:
    first, second = certificate(tmp_path / "first"), certificate(tmp_path / "second")
    config = BrokerConfig.from_overrides(
        {
            "listeners": "SSL://127.0.0.1:0",
            LOCATION: str(first),
            f"broker.2.{OWN_LOCATION}": str(second),
        }
    )
    server = await start_server(ServeOptions("127.0.0.1", 0, 2, config))
    cluster = Cluster(server, tmp_path)
    assert [await cluster.served(broker_id) for broker_id in (1, 2)] == [der(first), der(second)]
    server.reset()
    assert [await cluster.served(broker_id) for broker_id in (1, 2)] == [der(first), der(second)]
    await server.stop()


async def test_a_certificate_of_one_broker_that_is_missing_is_an_error(tmp_path: Path) -> None:
    config = BrokerConfig.from_overrides(
        {
            "listeners": "SSL://127.0.0.1:0",
            LOCATION: str(certificate(tmp_path / "first")),
            f"broker.2.{OWN_LOCATION}": str(tmp_path / "none.pem"),
        }
    )
    with pytest.raises(ConfigError, match=r"none\.pem is no PEM file"):
        await start_server(ServeOptions("127.0.0.1", 0, 2, config))
