"""The broker's process: start it, wait for its first line, keep its log, stop it."""

import contextlib
import os
import queue
import subprocess
import threading
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from typing import IO

from mock_kafka.broker_command import BrokerCommand, broker_command
from mock_kafka.missing_requirements import explanation
from mock_kafka.printed_lines import BOOTSTRAP_SERVERS, KEYS, PrintedLines

__tracebackhide__ = True  # pytest shows the line of the caller

FIRST_LINE_PREFIX = f"{BOOTSTRAP_SERVERS}="
LOG_LINES_MAX = 10_000
"""The number of log lines to keep, the newest ones."""

_TERMINATION_KILLS = os.name == "nt"
"""Whether `terminate` ends a process at once, so that it can't delete its temporary files."""
_READER_TIMEOUT_S = 5.0
_KILL_TIMEOUT_S = 5.0
_FURTHER_LINES_TIMEOUT_S = 1.0
"""The lines are written together; this only waits for the thread that reads them."""


class StartError(RuntimeError):
    """The broker did not start; the message has its standard error."""


class BrokerProcess(PrintedLines):
    """A running broker process, from its construction to `end`."""

    def __init__(
        self,
        arguments: Sequence[str],
        start_timeout_s: float,
        command: BrokerCommand | None = None,
    ) -> None:
        """Start `command` with `arguments` and wait until it accepts connections.

        Raises:
            StartError: the process ended, its first line was another one, or it printed none within
                `start_timeout_s`.
        """
        self._command = command = command or broker_command()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - ours or the user's choice, no shell
                [*command.words, *arguments],
                stdin=subprocess.PIPE,  # closes when this process ends, and the broker stops
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                env=command.environment,
                # Ctrl-C goes to the user's program only, also on Windows.
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as error:
            raise StartError(
                f"the command {command.words[0]!r} can't be started: {error}"
            ) from error
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._log_lines: deque[str] = deque(maxlen=LOG_LINES_MAX)
        first_lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._first_lines = first_lines
        self._readers = [
            _start_reader(_pass_first_lines, self._process.stdout, first_lines),
            _start_reader(_keep_lines, self._process.stderr, self._log_lines),
        ]
        # Stop the broker of a program that does not call `end`, for example after an exception.
        self._finalizer = weakref.finalize(self, _terminate_if_owner, self._process, os.getpid())
        _import_for_methods()
        first_value = self._await_first_line(first_lines, start_timeout_s)
        self._values = {BOOTSTRAP_SERVERS: first_value}

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def value_of(self, key: str) -> str:
        """Return the value of a line."""
        while key not in self._values:
            try:
                line = self._first_lines.get(timeout=_FURTHER_LINES_TIMEOUT_S)
            except queue.Empty:
                raise KeyError(key) from None
            name, _, value = line.strip().partition("=")
            self._values[name] = value
        return self._values[key]

    def renew(self, values: Mapping[str, str]) -> None:
        """Change the values of lines."""
        self._values |= values

    def poll(self) -> int | None:
        """Return the exit status, or None while the broker runs."""
        return self._process.poll()

    def log_lines(self) -> list[str]:
        """Return the latest lines of standard error, oldest first."""
        return list(self._log_lines)

    def end(self, timeout_s: float) -> int:
        """Terminate the process, or kill it after `timeout_s`; return the exit status."""
        self._finalizer.detach()
        if self._process.poll() is None:
            self._ask_to_stop()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_KILL_TIMEOUT_S)
        for reader in self._readers:
            reader.join(_READER_TIMEOUT_S)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        return self._process.returncode

    def _ask_to_stop(self) -> None:
        if self._command.is_own and not _TERMINATION_KILLS:
            self._process.terminate()
        elif self._process.stdin is not None:
            # The command may be a wrapper, which would end without its broker.
            self._process.stdin.close()

    def _await_first_line(
        self, first_lines: "queue.SimpleQueue[str]", start_timeout_s: float
    ) -> str:
        try:
            line = first_lines.get(timeout=start_timeout_s)
        except queue.Empty:
            self.end(0)
            raise StartError(
                self._with_log(f"the broker said nothing for {start_timeout_s} s")
            ) from None
        if not line.startswith(FIRST_LINE_PREFIX):
            # Its own status says why: give it the time to end by itself.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILL_TIMEOUT_S if not line else 0)
            status = self.end(0)
            said = f", after {line!r}" if line else ""
            reason = f"the broker did not start (exit status {status}{said})"
            lacking = explanation() if self._command.is_own else " ".join(self._command.words)
            raise StartError(self._with_log(f"{reason}: {lacking}" if lacking else reason))
        return line.removeprefix(FIRST_LINE_PREFIX).strip()

    def _with_log(self, reason: str) -> str:
        lines = list(self._log_lines)
        if lines and lines[0].startswith("usage: "):  # of a command line that nobody wrote
            lines = [line for line in lines if ": error: " in line]
        return "\n".join([reason, *lines])


def _import_for_methods() -> None:
    """Import what methods of the cluster need, while the broker starts on another CPU."""
    import http.client  # noqa: F401, PLC0415

    from mock_kafka import audit, group_views, views  # noqa: F401, PLC0415


def _start_reader(target: object, *arguments: object) -> threading.Thread:
    thread = threading.Thread(
        target=target,  # type: ignore[arg-type]
        args=arguments,
        name="mock-kafka-reader",
        daemon=True,
    )
    thread.start()
    return thread


def _pass_first_lines(stream: IO[str], first_lines: "queue.SimpleQueue[str]") -> None:
    """Put the first line ("" at the end of the stream) and further addresses into a queue."""
    first_lines.put(stream.readline())
    for line in stream:
        if line.startswith(KEYS):
            first_lines.put(line)


def _keep_lines(stream: IO[str], lines: deque[str]) -> None:
    for line in stream:
        lines.append(line.rstrip("\n"))


def _terminate_if_owner(process: "subprocess.Popen[str]", owner_pid: int) -> None:
    """End a broker that was not stopped; do nothing in a forked child of its owner."""
    if os.getpid() == owner_pid and process.poll() is None:
        process.terminate()
        try:
            process.wait(_KILL_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_KILL_TIMEOUT_S)
