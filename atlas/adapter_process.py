"""The process of an adapter: commands to its standard input, events from its standard output."""

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import Any

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
        # A file, and no pipe: what was written before an event is in it when the event arrives.
        self._log = tempfile.NamedTemporaryFile(buffering=0)  # noqa: SIM115 - until `kill`
        self._log_end = open(self._log.name, "ab", buffering=0)  # noqa: SIM115
        try:
            self._process = subprocess.Popen(  # noqa: S603 - a command of atlas/clients.py
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log_end,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        except OSError as error:
            self._close_log()
            raise AdapterError(f"{command[0]} can't be started: {error}") from error
        self._events: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read_events, daemon=True)
        self._reader.start()
        ready = self.next_event(START_TIMEOUT_S)
        if ready is None or ready.get("event") != "ready":
            self._end_process()
            log = self.log()[-2000:]
            self._close_log()
            raise AdapterError(f"{' '.join(command)} was not ready: {log}")
        self.ready: Mapping[str, Any] = ready
        self.last_number = 0
        """The number of the last command: no two commands of a process have the same."""

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
        self.last_number = command["n"]
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
        self._log.truncate(0)

    def log(self) -> str:
        """Return the end of what it wrote to standard error since `clear_log`."""
        size_bytes = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(size_bytes - LOG_BYTES_MAX, 0))
        return self._log.read(LOG_BYTES_MAX).decode(errors="replace")

    def end(self) -> None:
        """Ask it to exit, and kill it if it does not."""
        self.write({"n": 0, "command": "end"})
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_TIMEOUT_S)
        self.kill()

    def kill(self) -> None:
        """End the process at once; its log is gone then."""
        self._end_process()
        self._close_log()

    def _end_process(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(1)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            try:
                stream.close()
            except OSError:  # what was not flushed has no reader
                continue

    def _close_log(self) -> None:
        self._log_end.close()
        self._log.close()

    def _read_events(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                event = json.loads(line)
            except ValueError:  # a library that prints
                self._log_end.write(line)
                continue
            self._events.put(event if isinstance(event, dict) else {"event": str(event)})
        self._events.put(None)
