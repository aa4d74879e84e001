"""Kafka's Java producer: all producers of one version of kafka-clients share a JVM.

`Producers.java` runs in the JVM. It documents the lines that both sides exchange.
"""

import contextlib
import itertools
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from scenarios.clients.deadline import DEADLINE_S
from scenarios.clients.interface import Config, Delivery, Headers, Producer, Report
from scenarios.clients.java import java_command, kafka_clients_jars
from scenarios.maven import CannotRunError

SOURCE = Path(__file__).with_name("Producers.java")
_RESPONSE_TIMEOUT_S = 60.0
"""For the slowest response, which is the first: the JVM starts and compiles before it."""

_END_TIMEOUT_S = 5.0


class JavaError(Exception):
    """An exception of the Java client; the text is its message."""


class JavaClient:
    """One version of kafka-clients."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._lock = threading.Lock()
        self._process: _JavaProcess | None = None
        self._open_count = 0

    def why_missing(self) -> str | None:
        """Return why it cannot run here, or None; fetch the jars the first time."""
        try:
            kafka_clients_jars(self.version)
        except CannotRunError as error:
            return str(error)
        return None

    def producer(self, servers: str, config: Config) -> "JavaProducer":
        """Open a producer; the first one starts the JVM, the last one ends it.

        Raises:
            CannotRunError: there is no JDK or no jar, or the JVM does not start.
        """
        with self._lock:
            if self._process is None:
                self._process = _JavaProcess(kafka_clients_jars(self.version))
            self._open_count += 1
            process = self._process
        return JavaProducer(process, self._release, {"bootstrap.servers": servers, **config})

    def _release(self) -> None:
        with self._lock:
            self._open_count -= 1
            if self._open_count == 0 and self._process is not None:
                self._process.end()
                self._process = None


class JavaProducer(Producer):
    """One `KafkaProducer` in a JVM."""

    def __init__(
        self, process: "_JavaProcess", release: Callable[[], None], config: Mapping[str, object]
    ) -> None:
        self._process = process
        self._release = release
        self._indices = map(str, itertools.count())
        self._id = process.new_id()
        pairs = [f"{key}={value}" for key, value in config.items()]
        self._process.ask(["open", self._id, *pairs], ("opened", self._id))

    def send(
        self,
        topic: str,
        value: bytes | None,
        report: Report,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """See `Producer`; it blocks as long as Java's `send` does, while the topic is unknown.

        The value must be text without tabs and line breaks. There are neither keys, headers nor
        timestamps.
        """
        if value is None or key is not None or headers or timestamp_ms is not None:
            raise NotImplementedError("the Java wrapper sends values only")
        index = next(self._indices)
        self._process.reports[self._id, index] = report
        where = [topic, "-" if partition is None else str(partition)]
        self._process.ask(
            ["send", self._id, index, *where, value.decode()], ("sent", self._id, index)
        )

    def watch_in_flight(self, watcher: Callable[[int], None]) -> None:
        """Call `watcher` with each new value of the metric `requests-in-flight`, every 2 ms."""
        self._process.watchers[self._id] = watcher
        self._process.ask(["watch", self._id], ("watching", self._id))

    def poll(self, timeout_s: float) -> None:
        """See `Producer`."""
        threading.Event().wait(timeout_s)

    def flush(self, timeout_s: float = DEADLINE_S) -> None:
        """See `Producer`; records that wait for `linger.ms` are not sent earlier."""
        self._process.wait_for_reports(self._id, timeout_s)

    def close(self) -> None:
        """See `Producer`."""
        try:
            self.flush(_RESPONSE_TIMEOUT_S)
        finally:
            self.abort()

    def abort(self) -> None:
        """See `Producer`."""
        self._process.ask(["close", self._id], ("closed", self._id))
        self._process.watchers.pop(self._id, None)
        self._release()


class _JavaProcess:
    """A JVM with `Producers`, and the thread that reads what it prints.

    `reports` has what to call for the outcome of a record, by producer id and index.
    """

    def __init__(self, jars: Path) -> None:
        self.reports: dict[tuple[str, str], Report] = {}
        self.watchers: dict[str, Callable[[int], None]] = {}
        self._ids = map(str, itertools.count())
        self._lock = threading.Lock()
        self._reported = threading.Condition()
        self._awaited: dict[tuple[str, ...], threading.Event] = {}
        self._other_lines: list[str] = []
        self._has_ended = False
        self._process = subprocess.Popen(  # noqa: S603 - fixed arguments
            java_command(f"{jars}/*", str(SOURCE), log_level="off"),
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

    def ask(self, command: Sequence[str], response: tuple[str, ...]) -> None:
        """Send a command and wait for its response.

        Raises:
            CannotRunError: the JVM has ended or does not respond; with what it printed.
        """
        event = self._awaited[response] = threading.Event()
        assert self._process.stdin is not None
        with self._lock, contextlib.suppress(BrokenPipeError):
            self._process.stdin.write("\t".join(command) + "\n")
            self._process.stdin.flush()
        is_there = not self._has_ended and event.wait(_RESPONSE_TIMEOUT_S)
        self._awaited.pop(response, None)
        if not is_there or self._has_ended:
            printed = " ".join(self._other_lines)
            raise CannotRunError(f"the JVM of the Java client failed: {printed}")

    def wait_for_reports(self, producer_id: str, timeout_s: float) -> None:
        """Wait until all records of a producer have an outcome.

        Raises:
            TimeoutError: some have none yet.
        """

        def is_finished() -> bool:
            return all(open_id != producer_id for open_id, _ in list(self.reports))

        with self._reported:
            if not self._reported.wait_for(is_finished, timeout_s):
                raise TimeoutError("some records have no outcome")

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
                self._on_line(line.rstrip("\n").split("\t"))
        self._has_ended = True
        for event in list(self._awaited.values()):
            event.set()

    def _on_line(self, words: list[str]) -> None:
        match words:
            case ["stored", producer_id, index, offset]:
                self._report(producer_id, index, Delivery(int(offset)))
            case ["failed", producer_id, index, name, message]:
                self._report(producer_id, index, Delivery(-1, JavaError(message), name))
            case ["in flight", producer_id, count]:
                if (watcher := self.watchers.get(producer_id)) is not None:
                    watcher(int(count))
            case _ if tuple(words) in self._awaited:
                self._awaited[tuple(words)].set()
            case _:
                self._other_lines.append(" ".join(words))

    def _report(self, producer_id: str, index: str, delivery: Delivery) -> None:
        report = self.reports.get((producer_id, index))
        if report is None:
            return
        report(delivery)
        with self._reported:
            del self.reports[producer_id, index]
            self._reported.notify_all()
