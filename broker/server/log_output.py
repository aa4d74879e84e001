"""Log lines on standard error, which never block the event loop."""

import os
import select
import sys

_STANDARD_ERROR = 2
_PIECE_BYTES = 4096
"""A pipe that poll reports as writable takes this many bytes at once (PIPE_BUF)."""


class NonBlockingOutput:
    """A text stream over a file descriptor that drops lines which nobody reads.

    Other processes may share the descriptor, so it stays in blocking mode. It is asked before
    each write whether it is ready, except on Windows, which can ask only sockets.
    """

    encoding = "utf-8"

    def __init__(self, descriptor: int) -> None:
        """Write to `descriptor`, an open file, pipe or terminal."""
        self.dropped_lines = 0
        self._descriptor = descriptor
        self._text = ""
        self._poll: select.poll | None = None
        if hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(descriptor, select.POLLOUT)

    def write(self, text: str) -> int:
        """Write complete lines; keep the start of a line until its end is written."""
        *lines, self._text = (self._text + text).split("\n")
        for line in lines:
            self._write_line(line)
        return len(text)

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return os.isatty(self._descriptor)

    def flush(self) -> None:
        """Do nothing: complete lines are written at once."""

    def _write_line(self, line: str) -> None:
        if self.dropped_lines:
            note = f"{self.dropped_lines} log lines dropped: nobody read them\n"
            if not self._write_bytes(note.encode()):
                self.dropped_lines += 1
                return
            self.dropped_lines = 0
        if not self._write_bytes(f"{line}\n".encode(errors="backslashreplace")):
            self.dropped_lines += 1

    def _write_bytes(self, line: bytes) -> bool:
        """Return False if the reader took nothing, or less than the line."""
        for start in range(0, len(line), _PIECE_BYTES):
            if self._poll is not None and not self._poll.poll(0):
                return False
            try:
                os.write(self._descriptor, line[start : start + _PIECE_BYTES])
            except OSError:  # the reader has gone
                return False
        return True


def log_output() -> NonBlockingOutput:
    """Return an output to standard error, also if the program has put another object in its place.

    It goes nowhere if the descriptor of standard error is closed.
    """
    try:
        return NonBlockingOutput(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):  # closed, or an object without a file
        return NonBlockingOutput(_STANDARD_ERROR)
