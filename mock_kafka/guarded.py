"""`python -m mock_kafka.guarded ARGUMENTS`: the broker, ending when its parent does.

The parent holds the other end of our standard input and never writes to it. However it ends, even
killed, the pipe closes, and the broker gets the SIGTERM that the parent could not send any more.
"""

import os
import runpy
import signal
import threading

_STDIN = 0


def _terminate_without_parent() -> None:
    # os.read and not sys.stdin: a thread inside of sys.stdin's lock can't be left at exit.
    while os.read(_STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_terminate_without_parent, name="parent-watch", daemon=True).start()
    # By name: this package reaches the broker's insides neither here nor elsewhere.
    runpy.run_module("broker", run_name="__main__", alter_sys=True)
