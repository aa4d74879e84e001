"""The steps of a container on a process: Testcontainers' `DockerContainer` without an engine.

The process has the environment of the image. Its ports are free ones in place of the fixed ports of
the image, and forwarders map them to random ports, as a container engine does.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.free_ports import free_port_run
from tests.interop.tcp_forwarder import TcpForwarder

DOCKERFILE = Path(__file__).parent.parent.parent / "Dockerfile"
KAFKA_PORT, ADMIN_PORT = 9092, 9099


def image_environment() -> dict[str, str]:
    """Return the environment that the Dockerfile sets."""
    [text] = re.findall(r"^ENV ((?:.*\\\n)*.*)", DOCKERFILE.read_text(), re.MULTILINE)
    pairs = (word.partition("=") for word in shlex.split(text.replace("\\\n", " ")))
    return {name: value for name, _, value in pairs}


class ProcessContainer:
    """The part of `DockerContainer` that we use."""

    def __init__(self, image: str) -> None:
        self.image = image
        self._forwarders: dict[int, TcpForwarder] = {}
        self._exposed: tuple[int, ...] = ()
        self._command = "serve"
        self._process: subprocess.Popen[bytes] | None = None

    def with_exposed_ports(self, *ports: int) -> "ProcessContainer":
        self._exposed = ports
        return self

    def with_command(self, command: str) -> "ProcessContainer":
        self._command = command
        return self

    def start(self) -> "ProcessContainer":
        first = free_port_run(len(self._exposed))
        real = {port: first + index for index, port in enumerate(self._exposed)}
        self._forwarders = {port: TcpForwarder(real[port]) for port in self._exposed}
        own = {
            "MOCK_KAFKA_HOST": "127.0.0.1",
            "MOCK_KAFKA_PORT": str(real[KAFKA_PORT]),
            "MOCK_KAFKA_ADMIN_PORT": str(real[ADMIN_PORT]),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mock_kafka", *shlex.split(self._command)],
            env={**os.environ, **image_environment(), **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return self

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(30)
        assert self._process.stdout is not None
        self._process.stdout.close()
        for forwarder in self._forwarders.values():
            forwarder.close()

    def get_container_host_ip(self) -> str:
        return "localhost"

    def get_exposed_port(self, port: int) -> int:
        return self._forwarders[port].port

    def get_logs(self) -> tuple[bytes, bytes]:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.read(), b""  # until the process has ended
