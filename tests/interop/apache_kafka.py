"""A real Apache Kafka broker from Maven Central's jars: what ours is measured against.

One process is broker and controller (KRaft). The jars are fetched once, into a cache folder outside
of the tree; after that a start takes about three seconds and no network.
"""

import subprocess
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from scenarios.clients.java import java_command
from scenarios.maven import fetch_jars
from tests.free_ports import free_port_run

VERSION = "4.4.0"
# With ELR every topic would show min.insync.replicas as set by someone.
WITHOUT_ELR = {"eligible.leader.replicas.version": 0}
USERNAME, PASSWORD = "alice", "alice-secret"

_JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM_JAAS = "org.apache.kafka.common.security.scram.ScramLoginModule"
_STARTED = "Kafka Server started"
_START_TIMEOUT_S = 180  # of a busy machine
_STOP_TIMEOUT_S = 40


class ApacheKafka:
    """One broker, from `start` to `stop`: plain, with SASL, and with TLS."""

    def __init__(
        self,
        folder: Path,
        *,
        version: str = VERSION,
        features: Mapping[str, int] = WITHOUT_ELR,
        properties: Mapping[str, str] | None = None,
        node_id: int = 1,
        controller: "ApacheKafka | None" = None,
    ) -> None:
        """Describe a broker; nothing runs yet.

        Args:
            folder: an empty folder for its files.
            version: the release.
            features: levels other than the release's own, for the format command.
            properties: of server.properties, beside and before those of this class.
            node_id: its own in its cluster.
            controller: the broker that is also the controller, if this one is not.
        """
        self._folder = folder
        self._properties = folder / "server.properties"
        self._version = version
        self._features = dict(features)
        self._overrides = dict(properties or {})
        self._log: deque[str] = deque(maxlen=200)
        self._is_up = False
        self._is_up_or_ended = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._node_id = node_id
        self._controller = controller or self
        plaintext = free_port_run(4)
        sasl, tls, self._controller_port = range(plaintext + 1, plaintext + 4)
        self.bootstrap_servers = f"127.0.0.1:{plaintext}"
        self.sasl_servers = f"127.0.0.1:{sasl}"
        self.tls_servers = f"127.0.0.1:{tls}"
        self.certificate = folder / "server.pem"

    def start(self) -> None:
        """Do `prepare`, start, and wait until clients may come.

        A broker that was stopped starts again with its ports and its data.

        Raises:
            CannotRunError: no java, no mvn, or nothing comes from Maven Central.
        """
        self.prepare()
        self._is_up_or_ended.clear()
        self._is_up = False
        self._process = subprocess.Popen(
            [*self._java(), "kafka.Kafka", str(self._properties)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        self._is_up_or_ended.wait(_START_TIMEOUT_S)
        if not self._is_up:
            self.stop()
            raise AssertionError("Apache Kafka did not start:\n" + "".join(self._log))

    def prepare(self) -> None:
        """Fetch jars and format the folder, unless that was done.

        Raises:
            CannotRunError: no java, no mvn, or nothing comes from Maven Central.
        """
        if not self._properties.exists():
            self._format(self._java())

    @property
    def pid(self) -> int:
        """The id of the process that was started last."""
        assert self._process is not None
        return self._process.pid

    def _java(self) -> list[str]:
        return java_command(f"{fetch_kafka_jars(self._version)}/*", heap_mb=512)

    def kill(self) -> None:
        """End the process at once, as a crash does, and wait for it."""
        assert self._process is not None
        self._process.kill()
        self.stop()

    def stop(self) -> None:
        """End the process and wait for it."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(_STOP_TIMEOUT_S)
        assert self._process.stderr is not None
        self._process.stderr.close()

    def _format(self, java: list[str]) -> None:
        self._make_certificate()
        self._write_properties()
        format_it = [*java, "kafka.tools.StorageTool", "format", "-c", str(self._properties)]
        format_it += ["-t", "MkU3OEVBNTcwNTJENDM2Qg"]
        for feature, level in self._features.items():
            format_it += ["--feature", f"{feature}={level}"]
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            format_it += ["--add-scram", f"{mechanism}=[name={USERNAME},password={PASSWORD}]"]
        _run(format_it)

    def _read_log(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._log.append(line)
            if _STARTED in line:
                self._is_up = True
                self._is_up_or_ended.set()
        self._is_up_or_ended.set()

    def _write_properties(self) -> None:
        listeners = (
            f"PLAINTEXT://{self.bootstrap_servers},SASL_PLAINTEXT://{self.sasl_servers},"
            f"SSL://{self.tls_servers}"
        )
        is_controller = self._controller is self
        voter = f"{self._controller._node_id}@127.0.0.1:{self._controller._controller_port}"
        own_controller = f",CONTROLLER://127.0.0.1:{self._controller_port}" if is_controller else ""
        properties = {
            "process.roles": "broker,controller" if is_controller else "broker",
            "node.id": str(self._node_id),
            "controller.quorum.voters": voter,
            "listeners": f"{listeners}{own_controller}",
            "advertised.listeners": listeners,
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT"
            ),
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            **{
                f"listener.name.sasl_plaintext.{name}.sasl.jaas.config": f"{_SCRAM_JAAS} required;"
                for name in ("scram-sha-256", "scram-sha-512")
            },
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
                f'{_JAAS} required user_{USERNAME}="{PASSWORD}";'
            ),
            "ssl.keystore.location": str(self._folder / "server.p12"),
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.password": PASSWORD,
            "log.dirs": str(self._folder / "data"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **self._overrides,
        }
        self._properties.write_text(
            "".join(f"{key}={value}\n" for key, value in properties.items())
        )

    def _make_certificate(self) -> None:
        store = ["-keystore", str(self._folder / "server.p12"), "-storepass", PASSWORD]
        store += ["-storetype", "PKCS12", "-alias", "server"]
        make = ["keytool", "-genkeypair", "-keyalg", "EC", "-dname", "CN=127.0.0.1"]
        make += ["-ext", "san=ip:127.0.0.1", "-validity", "2", *store]
        export = ["keytool", "-exportcert", "-rfc", "-file", str(self.certificate), *store]
        for command in (make, export):
            _run(command)


def fetch_kafka_jars(version: str = VERSION) -> Path:
    """Return the folder with the jars of a release's broker, its clients and coordinators.

    Raises:
        CannotRunError: no java, no mvn, or nothing comes from Maven Central.
    """
    artifacts = (f"org.apache.kafka:kafka_2.13:{version}", "org.slf4j:slf4j-simple:1.7.36")
    return fetch_jars(f"apache-kafka-{version}", artifacts)


def _run(command: list[str]) -> None:
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=_START_TIMEOUT_S
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
