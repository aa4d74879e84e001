"""End this process with the one that started it.

The parent has the other end of standard input, a pipe, and writes nothing to it. When the parent
ends, even if it is killed, the pipe closes.
"""

import os
import signal
import threading

_STDIN = 0


def terminate_when_stdin_closes() -> None:
    """Send SIGTERM to this process when standard input is closed."""
    threading.Thread(target=_wait_and_terminate, name="stdin-watch", daemon=True).start()


def _wait_and_terminate() -> None:
    # Not sys.stdin: the interpreter cannot exit while a thread holds its lock.
    while os.read(_STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
