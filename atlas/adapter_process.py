"""The process of an adapter: commands to its standard input, events from its standard output."""

import contextlib
import json
import os
import queue
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Any

from client import clock

LOG_BYTES_MAX = 64 * 1024
"""How much of the standard error of an experiment is kept, from its end."""
START_TIMEOUT_S = 30.0
_END_TIMEOUT_S = 0.5


class AdapterError(RuntimeError):
    """An adapter did not start; the message has its standard error."""


class AdapterProcess:
    """A running adapter; one thread uses it at a time."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
        """Start `command` and wait for its event `ready`, which is `ready` then.

        Args:
            command: the program with its arguments.
            environment: variables that it has in addition to those of this process.

        Raises:
            AdapterError: it can't be started, or it ended or was silent for `START_TIMEOUT_S`.
        """
        try:
            self._process = subprocess.Popen(  # noqa: S603 - a command of atlas/clients.py
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        except OSError as error:
            raise AdapterError(f"{command[0]} can't be started: {error}") from error
        self._events: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
        self._log = bytearray()
        self._threads = [
            _start_thread(self._read_events, self._process.stdout),
            _start_thread(self._read_log, self._process.stderr),
        ]
        ready = self.next_event(START_TIMEOUT_S)
        if ready is None or ready.get("event") != "ready":
            self.kill()
            raise AdapterError(f"{' '.join(command)} was not ready: {self.log()[-2000:]}")
        self.ready: Mapping[str, Any] = ready

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def has_ended(self, timeout_s: float) -> bool:
        """Return whether the process ends within a time; its output may end a little earlier."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    @property
    def exit_status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def write(self, command: Mapping[str, Any]) -> None:
        """Send a command; do nothing if the process has ended, which `next_event` shows."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):  # ValueError after `kill`
            return

    def next_event(self, timeout_s: float) -> Mapping[str, Any] | None:
        """Return the next event, or None if there is none in time or the process has ended."""
        try:
            return self._events.get(timeout=max(timeout_s, 0))
        except queue.Empty:
            return None

    def clear_log(self) -> None:
        """Forget the standard error so far."""
        self._log.clear()

    def log(self) -> str:
        """Return the end of what it wrote to standard error since `clear_log`."""
        return bytes(self._log[-LOG_BYTES_MAX:]).decode(errors="replace")

    def end(self) -> None:
        """Ask it to exit, and kill it if it does not."""
        self.write({"n": 0, "command": "end"})
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_TIMEOUT_S)
        self.kill()

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.wait()
        give_up_ms = clock.now_ms() + 1_000
        for thread in self._threads:
            thread.join(max(give_up_ms - clock.now_ms(), 0) / 1000)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            try:
                stream.close()
            except OSError:  # what was not flushed has no reader
                continue

    def _read_events(self, stream: IO[bytes]) -> None:
        for line in stream:
            try:
                event = json.loads(line)
            except ValueError:  # a library that prints
                self._log += line
                continue
            self._events.put(event if isinstance(event, dict) else {"event": str(event)})
        self._events.put(None)

    def _read_log(self, stream: IO[bytes]) -> None:
        while chunk := stream.read1(65536):  # type: ignore[attr-defined]
            self._log += chunk
            if len(self._log) > 4 * LOG_BYTES_MAX:
                del self._log[:-LOG_BYTES_MAX]


def _start_thread(function: Any, stream: IO[bytes] | None) -> threading.Thread:
    thread = threading.Thread(target=function, args=(stream,), daemon=True)
    thread.start()
    return thread
