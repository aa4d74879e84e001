"""Run a distributed worker of Kafka Connect, whose connectors keep their state in three topics."""

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from scenarios.clients.java import java_command
from scenarios.maven import fetch_jars

VERSION = "4.1.0"
STORAGE_TOPICS = ("connect-configs", "connect-offsets", "connect-status")
_START_TIMEOUT_S = 90
_POLL_S = 0.2


def fetch_connect_jars() -> Path:
    """Return the folder with the jars of a worker and of the connectors for files.

    Raises:
        CannotRunError: no java, no mvn, or nothing comes from Maven Central.
    """
    names = ("connect-runtime", "connect-json", "connect-file")
    artifacts = [f"org.apache.kafka:{name}:{VERSION}" for name in names]
    return fetch_jars(f"kafka-connect-{VERSION}", [*artifacts, "org.slf4j:slf4j-simple:1.7.36"])


class ConnectWorker:
    """One worker; it starts and ends with the block."""

    def __init__(self, jars: Path, folder: Path, servers: str, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"
        properties = {
            "bootstrap.servers": servers,
            "group.id": "connect",
            "listeners": self._url,
            "plugin.discovery": "service_load",
            "plugin.path": str(jars),
            "offset.flush.interval.ms": "300",
            **{
                f"{kind}.converter": "org.apache.kafka.connect.storage.StringConverter"
                for kind in ("key", "value")
            },
            **{
                f"{topic.removeprefix('connect-').removesuffix('s')}.storage.{key}": value
                for topic in ("connect-configs", "connect-offsets")
                for key, value in (("topic", topic), ("replication.factor", "1"))
            },
            "status.storage.topic": "connect-status",
            "status.storage.replication.factor": "1",
        }
        path = folder / "worker.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        self._log_path = folder / "worker.log"
        self._command = [
            *java_command(f"{jars}/*", heap_mb=256),
            "org.apache.kafka.connect.cli.ConnectDistributed",
            str(path),
        ]

    def __enter__(self) -> "ConnectWorker":
        with self._log_path.open("a") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait()

    def ask(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:
        """Send a request to the REST port; try again while the worker starts or rebalances.

        Raises:
            AssertionError: it does not answer in time; with the last lines of its log.
        """
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._url + path, data, {"Content-Type": "application/json"}, method=method
        )
        deadline_s = time.monotonic() + _START_TIMEOUT_S
        while True:
            try:
                with urllib.request.urlopen(request, timeout=_START_TIMEOUT_S) as response:
                    text = response.read()
                return json.loads(text) if text else None
            except (urllib.error.URLError, ConnectionError) as error:
                if time.monotonic() > deadline_s or self._process.poll() is not None:
                    log = self._log_path.read_text()[-4000:]
                    raise AssertionError(f"no answer from the worker:\n{log}") from error
            time.sleep(_POLL_S)
