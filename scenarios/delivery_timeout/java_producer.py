"""The Java client of Apache Kafka as a subject: all its producers of a version in one JVM.

`TimedProducers.java` is the other side, and documents the lines that both exchange.
"""

import contextlib
import itertools
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from scenarios.delivery_timeout.outcome import Heard
from scenarios.maven import CannotRunError, fetch_jars

SOURCE = Path(__file__).with_name("TimedProducers.java")
_OPTIONS = (
    "-Xmx256m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
)
_REPLY_TIMEOUT_S = 60.0
"""For the slowest reply, the first one: the JVM starts and compiles before it."""

_END_TIMEOUT_S = 5.0


class JavaVersion:
    """One version of kafka-clients; `make` and `why_missing` make it a `SubjectKind`."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._lock = threading.Lock()
        self._process: _JavaProcess | None = None
        self._open_count = 0

    def why_missing(self) -> str | None:
        """Return why it cannot be measured here, or None; fetches the jars the first time."""
        if shutil.which("javac") is None:
            return "needs a JDK, which is not here"
        try:
            self._jars()
        except CannotRunError as error:
            return str(error)
        return None

    def make(self, servers: str, client_id: str, deadline_ms: int) -> "JavaProducer":
        """Open a producer; the first one of a version starts the JVM, the last one ends it."""
        with self._lock:
            if self._process is None:
                self._process = _JavaProcess(self._jars())
            self._open_count += 1
            process = self._process
        return JavaProducer(process, self._release, settings(servers, client_id, deadline_ms))

    def _jars(self) -> Path:
        artifacts = (
            f"org.apache.kafka:kafka-clients:{self._version}",
            "org.slf4j:slf4j-simple:1.7.36",
        )
        return fetch_jars(f"kafka-clients-{self._version}", artifacts)

    def _release(self) -> None:
        with self._lock:
            self._open_count -= 1
            if self._open_count == 0 and self._process is not None:
                self._process.end()
                self._process = None


def settings(servers: str, client_id: str, deadline_ms: int) -> dict[str, object]:
    """Return the configuration of a measured producer, with one request in flight.

    Java has no batches of one record: small records that wait may share a batch in spite of
    `batch.size`.
    """
    return {
        "bootstrap.servers": servers,
        "client.id": client_id,
        "batch.size": 0,
        "delivery.timeout.ms": deadline_ms,
        "enable.idempotence": "true",
        "enable.metrics.push": "false",
        "linger.ms": 0,
        "max.block.ms": deadline_ms,
        "max.in.flight.requests.per.connection": 1,
        "request.timeout.ms": deadline_ms,
        "retry.backoff.ms": 50,
        "retry.backoff.max.ms": 200,
    }


class JavaProducer:
    """One `KafkaProducer` in a JVM; see `Subject` for its methods."""

    def __init__(
        self, process: "_JavaProcess", release: Callable[[], None], config: Mapping[str, object]
    ) -> None:
        self._process = process
        self._release = release
        self._indices = map(str, itertools.count())
        self._id = process.new_id()
        pairs = [f"{key}={value}" for key, value in config.items()]
        self._process.ask(["open", self._id, *pairs], ("opened", self._id))

    def send(self, topic: str, value: bytes, heard: Heard) -> None:
        """See `Subject`; it blocks as long as Java's `send` does, while the topic is unknown."""
        index = next(self._indices)
        self._process.callbacks[self._id, index] = heard
        self._process.ask(
            ["send", self._id, index, topic, value.decode()], ("sent", self._id, index)
        )

    def pass_time(self, seconds: float) -> None:
        """See `Subject`."""
        threading.Event().wait(seconds)

    def close(self) -> None:
        """See `Subject`."""
        self._process.ask(["close", self._id], ("closed", self._id))
        self._release()


class _JavaProcess:
    """A JVM with `TimedProducers`, and the thread that reads what it reports.

    `callbacks` has what to call for a record, by producer id and index.
    """

    def __init__(self, jars: Path) -> None:
        self.callbacks: dict[tuple[str, str], Heard] = {}
        self._ids = map(str, itertools.count())
        self._lock = threading.Lock()
        self._awaited: dict[tuple[str, ...], threading.Event] = {}
        self._other_lines: list[str] = []
        self._has_ended = False
        java = shutil.which("java") or "java"
        self._process = subprocess.Popen(  # noqa: S603 - fixed arguments
            [java, *_OPTIONS, "-cp", f"{jars}/*", str(SOURCE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self.ask(["start", "-"], ("started", "-"))
        except CannotRunError:
            self.end()
            raise

    def new_id(self) -> str:
        """Return an id that no producer of this process has."""
        return next(self._ids)

    def ask(self, command: Sequence[str], reply: tuple[str, ...]) -> None:
        """Send a command and wait for its reply.

        Raises:
            CannotRunError: the JVM has ended, or does not reply; with what it printed.
        """
        event = self._awaited[reply] = threading.Event()
        assert self._process.stdin is not None
        with self._lock, contextlib.suppress(BrokenPipeError):
            self._process.stdin.write("\t".join(command) + "\n")
            self._process.stdin.flush()
        is_there = not self._has_ended and event.wait(_REPLY_TIMEOUT_S)
        self._awaited.pop(reply, None)
        if not is_there or self._has_ended:
            printed = " ".join(self._other_lines)
            raise CannotRunError(f"the JVM of the Java client failed: {printed}")

    def end(self) -> None:
        """End the JVM and its reader."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._take(line.rstrip("\n").split("\t"))
        self._has_ended = True
        for event in list(self._awaited.values()):
            event.set()

    def _take(self, words: list[str]) -> None:
        match words:
            case ["heard", producer_id, index, *error]:
                heard = self.callbacks.pop((producer_id, index), None)
                if heard is not None:
                    heard(f"{error[0]}: {error[1][:40]}" if error else None)
            case ["started" | "opened" | "sent" | "closed", *_] if tuple(words) in self._awaited:
                self._awaited[tuple(words)].set()
            case _:
                self._other_lines.append(" ".join(words))
