"""Standard input, output and error of the broker's process."""

import os
import signal
import threading
from contextlib import suppress

_STDIN, _STDERR = 0, 2


def open_missing_streams() -> None:
    """Open the null device for each standard stream that is closed.

    Else a connection would get its number: log lines would go to that client, and libuv ends a
    process that closes such a file.
    """
    for descriptor in range(_STDERR + 1):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the system gives it the lowest free number


def terminate_when_stdin_closes() -> None:
    """End this process with the one that started it: raise SIGTERM when standard input is closed.

    The parent has the other end of standard input, a pipe, and writes nothing to it. When the
    parent ends, even if it is killed, the pipe closes.
    """
    threading.Thread(target=_wait_and_terminate, name="stdin-watch", daemon=True).start()


def _wait_and_terminate() -> None:
    # Not sys.stdin: the interpreter cannot exit while a thread holds its lock.
    with suppress(OSError):  # nothing to read from: nobody would close it later
        while os.read(_STDIN, 1024):
            pass
    # On Windows os.kill ends a process without its handlers.
    signal.raise_signal(signal.SIGTERM)
