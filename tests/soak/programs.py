"""The programs of the five clients, what they acknowledged and what they read."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scenarios.clients.python_clients import CLIENTS
from tests.interop.client_program import ClientProgram
from tests.interop.go_and_node_clients import build_franz_go
from tests.interop.java_clients import compile_java_clients

JAVA_VERSION = "4.4.0"
END_TIMEOUT_S = 60
DRAIN_TIMEOUT_S = 150


class RunningClient:
    """A client program and what it has printed so far."""

    def __init__(self, name: str, topic: str, process: "subprocess.Popen[str]") -> None:
        self.name, self.topic = name, topic
        self.acked: set[int] = set()
        self.failed: dict[int, str] = {}
        self.read: Counter[int] = Counter()
        self.is_stopped = threading.Event()
        self.process = process
        self._reader = threading.Thread(target=self._read_output, daemon=True)
        self._reader.start()

    def stop_sending(self) -> None:
        """Make the client flush; `is_stopped` is set when all records have an outcome."""
        assert self.process.stdin is not None
        self.process.stdin.write("stop\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """Kill the program if it still runs, and close its pipes."""
        assert self.process.stdin is not None
        self.process.kill()
        self.process.wait()
        self._reader.join()
        # What the program did not read is of no use any more.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def end(self) -> int:
        """End the program, and kill it if it does not end; return its exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
        status = self.process.wait()
        self._reader.join()
        return status

    def _read_output(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self._read_line(line.rstrip("\n"))

    def _read_line(self, line: str) -> None:
        match line.split("\t"):
            case ["acked", number]:
                self.acked.add(int(number))
            case ["failed", number, error]:
                self.failed[int(number)] = error
            case ["read", number]:
                self.read[int(number)] += 1
            case ["stopped"]:
                self.is_stopped.set()
            case _:
                raise ValueError(f"{self.name} printed {line!r}")


def drain(clients: Sequence[RunningClient]) -> None:
    """Wait until every record has an outcome and every acknowledged one has been read."""
    for client in clients:
        client.stop_sending()
    deadline_s = time.monotonic() + DRAIN_TIMEOUT_S
    while time.monotonic() < deadline_s and not all(
        client.is_stopped.is_set() and client.acked <= client.read.keys() for client in clients
    ):
        time.sleep(0.5)


Starter = Callable[[str, str, float], RunningClient]
"""Takes bootstrap servers, the topic and records per second."""


def starters(folder: Path) -> dict[str, Starter]:
    """Return what starts each client; build the programs in `folder`.

    Raises:
        CannotRunError: a toolchain or a registry is missing.
    """
    (folder / "go").mkdir()
    go = build_franz_go(folder / "go")
    java = compile_java_clients(JAVA_VERSION)

    def start_java(servers: str, topic: str, rate: float) -> RunningClient:
        config = {
            "client_id": "java",
            "group_id": f"{topic}-group",
            "auto_offset_reset": "earliest",
            "enable_auto_commit": "false",
            "linger_ms": 5,
        }
        command = java.command("soak", servers, topic, round(rate), **config)
        return _start("java", topic, ClientProgram(command), log=folder / "java.log")

    def start_go(servers: str, topic: str, rate: float) -> RunningClient:
        words = ["soak", servers, topic, str(round(rate)), f"{topic}-group"]
        return _start("franz-go", topic, go, *words, log=folder / "franz-go.log")

    return {**python_starters(folder), "franz-go": start_go, "java": start_java}


def python_starters(folder: Path) -> dict[str, Starter]:
    """Return what starts each of the Python clients; their logs are in `folder`."""

    def python_starter(name: str) -> Starter:
        program = ClientProgram([sys.executable, "-P", "-m", "tests.soak.python_program", name])

        def start(servers: str, topic: str, rate: float) -> RunningClient:
            return _start(
                name, topic, program, servers, topic, str(rate), log=folder / f"{name}.log"
            )

        return start

    return {client.name: python_starter(client.name) for client in CLIENTS}


def _start(
    name: str, topic: str, program: ClientProgram, *arguments: str, log: Path
) -> RunningClient:
    with log.open("w") as errors:
        process: Any = subprocess.Popen(
            [*program.command, *arguments],
            env={**os.environ, **program.environment, "PYTHONPATH": str(Path.cwd())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    return RunningClient(name, topic, process)
