"""A server under test as a process: start it, read its CPU time and memory, stop it.

CPU times come from the process CPU clock (nanoseconds), not from the 10 ms ticks of /proc/PID/stat.
"""

import ctypes
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from benchmarks import kfake
from tests.interop.apache_kafka import ApacheKafka

ServerName = Literal["ours", "rdmock", "kfake", "kafka"]
"""mock-kafka, librdkafka's mock cluster, franz-go's kfake, and Apache Kafka 4.1."""
KAFKA_VERSION = "4.1.0"
"""Of the Apache Kafka that the results in the documents are from."""
SERVER_NAMES: tuple[ServerName, ...] = ("ours", "rdmock", "kfake", "kafka")

PROJECT = Path(__file__).resolve().parent.parent
OPEN_FILES_MIN = 4096
START_SECONDS_MAX = 20
STOP_SECONDS_MAX = 10
_LINE = re.compile(r"bootstrap\.servers=(\S+)")
_BYTECODE_BAN = "PYTHONDONTWRITEBYTECODE"
_libc = ctypes.CDLL(None, use_errno=True)


class ServerError(Exception):
    """The server did not start or stop; the message contains its last log lines."""


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server; `started_at_s` is `time.perf_counter()` right before the exec."""

    name: ServerName
    pid: int
    bootstrap: tuple[tuple[str, int], ...]
    started_at_s: float

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the first broker."""
        return self.bootstrap[0]

    @property
    def bootstrap_servers(self) -> str:
        """The value for a client's `bootstrap.servers`."""
        return ",".join(f"{host}:{port}" for host, port in self.bootstrap)

    def resident_bytes(self) -> int:
        """Resident memory now."""
        return status_bytes(self.pid, "VmRSS")

    def peak_resident_bytes(self) -> int:
        """The most resident memory the process ever had."""
        return status_bytes(self.pid, "VmHWM")


_further_options: ContextVar[tuple[str, ...]] = ContextVar("further_options", default=())


@contextmanager
def with_options(*options: str) -> Iterator[None]:
    """Have all of our brokers in a with block start with these KEY=VALUE, too."""
    token = _further_options.set((*_further_options.get(), *options))
    try:
        yield
    finally:
        _further_options.reset(token)


def command(
    name: ServerName,
    brokers: int = 1,
    options: Sequence[str] = (),
    program: Sequence[str] = ("broker",),
) -> list[str]:
    """The command line of a server; `options` are KEY=VALUE of our broker's configuration.

    `program` is the module that serves as our broker, and its own arguments.
    """
    if name == "ours":
        options = (*options, *_further_options.get())
    overrides = [part for option in options for part in ("-o", option)]
    programs: dict[ServerName, Callable[[], list[str]]] = {
        "ours": lambda: [sys.executable, "-m", *program, "serve", "--port", "0"],
        "rdmock": lambda: [sys.executable, "-m", "benchmarks.rdmock"],
        "kfake": lambda: [str(kfake.executable())],
    }
    return [*programs[name](), "--brokers", str(brokers), *overrides]


@contextmanager
def serve(
    name: ServerName,
    *,
    brokers: int = 1,
    options: Sequence[str] = (),
    cpu: int | None = None,
    program: Sequence[str] = ("broker",),
) -> Iterator[ServerProcess]:
    """Run a server for the length of a with block, pinned to one CPU when `cpu` is given.

    `program` is as for `command`.

    Raises:
        ServerError: as for `serve_program`.
    """
    allow_open_files()
    if name == "kafka":
        assert brokers == 1
        assert not options
        with _serve_kafka(cpu) as server:
            yield server
        return
    with serve_program(name, command(name, brokers, options, program), cpu) as server:
        yield server


@contextmanager
def serve_program(
    name: ServerName, words: Sequence[str], cpu: int | None = None
) -> Iterator[ServerProcess]:
    """Run a program whose first line has its addresses for the length of a with block.

    Raises:
        ServerError: it printed no address, or its exit status after SIGTERM was not 0.
    """
    with tempfile.TemporaryFile() as log:
        started_at_s = time.perf_counter()
        with pinned(cpu):  # inherited by the child from its first instruction on
            process = subprocess.Popen(
                words,
                cwd=PROJECT,
                env=without_bytecode_ban(os.environ),
                stdout=subprocess.PIPE,
                stderr=log,
            )
        try:
            bootstrap = _read_address(process, log)
            yield ServerProcess(name, process.pid, bootstrap, started_at_s)
        finally:
            status = _stop(process)
        if status != 0:
            raise ServerError(f"{name} ended with status {status}: {_tail(log)}")


@contextmanager
def _serve_kafka(cpu: int | None) -> Iterator[ServerProcess]:
    """Run one broker of Apache Kafka, which is also the controller, in a formatted folder."""
    with tempfile.TemporaryDirectory(prefix="kafka-") as folder:
        kafka = ApacheKafka(Path(folder), version=KAFKA_VERSION)
        kafka.prepare()
        started_at_s = time.perf_counter()
        try:
            with pinned(cpu):
                kafka.start()
            host, _, port = kafka.bootstrap_servers.rpartition(":")
            yield ServerProcess("kafka", kafka.pid, ((host, int(port)),), started_at_s)
        finally:
            kafka.stop()


def without_bytecode_ban(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python keeps compiled modules, as an installation has them."""
    return {key: value for key, value in environment.items() if key != _BYTECODE_BAN}


def _read_address(
    process: "subprocess.Popen[bytes]", log: IO[bytes]
) -> tuple[tuple[str, int], ...]:
    assert process.stdout is not None
    line = process.stdout.readline().decode(errors="replace")
    match = _LINE.search(line)
    if match is None:
        raise ServerError(f"no bootstrap.servers in the first line {line!r}: {_tail(log)}")
    pairs = (address.rpartition(":") for address in match[1].split(","))
    return tuple((host, int(port)) for host, _, port in pairs)


def _stop(process: "subprocess.Popen[bytes]") -> int:
    process.terminate()
    try:
        return process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
    finally:
        if process.stdout is not None:
            process.stdout.close()


def _tail(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read()[-2000:].decode(errors="replace").strip()


@contextmanager
def pinned(cpu: int | None) -> Iterator[None]:
    """Pin this process and the processes it starts to one CPU; None does nothing."""
    if cpu is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def two_cpus() -> tuple[int, int] | tuple[None, None]:
    """Return one CPU for the server and one for its client, if there are two."""
    cpus = sorted(os.sched_getaffinity(0))
    return (cpus[0], cpus[1]) if len(cpus) > 1 else (None, None)


def allow_open_files() -> None:
    """Raise the soft limit of open files for this process and its children."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < OPEN_FILES_MIN:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(OPEN_FILES_MIN, hard), hard))


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a process so far."""
    clock_id = ctypes.c_int()
    error = _libc.clock_getcpuclockid(pid, ctypes.byref(clock_id))
    if error:
        raise OSError(error, os.strerror(error))
    return time.clock_gettime(clock_id.value)


def machine_busy_seconds() -> float:
    """Return the CPU time that all processes used so far, in ticks of 10 ms."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _idle, _wait, irq, soft_irq, steal = map(
            int, stat.readline().split()[1:9]
        )
    ticks = user + nice + system + irq + soft_irq + steal
    return ticks / os.sysconf("SC_CLK_TCK")


def status_bytes(pid: int, field: str, file: str = "status") -> int:
    """Return a field of /proc/PID/status, such as VmRSS, or of `smaps_rollup`, such as Pss."""
    with open(f"/proc/{pid}/{file}", encoding="ascii") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise LookupError(f"{field} of process {pid}")
