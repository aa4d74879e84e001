"""Ctrl-C during a run: the first one keeps what there is, the second one quits."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from loadgen.progress import ProgressListener

_CANCEL_AGAIN_S = 0.2


class CtrlC:
    """What Ctrl-C does: the first one calls `action`, the second one interrupts.

    Attributes:
        action: returns a line for the user, or None if the first Ctrl-C interrupts as well.
        was_pressed: whether there was a first Ctrl-C.
    """

    def __init__(self) -> None:
        self.action: Callable[[], str | None] = lambda: None
        self.was_pressed = False

    @contextmanager
    def handled(self, console: Console) -> Iterator[None]:
        """Handle SIGINT until the end of the block."""

        def handle(_number: int, _frame: object) -> None:
            line = None if self.was_pressed else self.action()
            self.was_pressed = True
            if line is None:
                # A handler of Spark would first ask the JVM to cancel jobs, on a busy connection.
                raise KeyboardInterrupt
            console.print(f"{line} (Ctrl-C again: quit at once)")

        previous = signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)

    def stop_workers(
        self, listener: ProgressListener, leave_mark: Callable[[], None] = lambda: None
    ) -> None:
        """From now on stop the workers and keep their results, once one of them has reported.

        `leave_mark` leaves them a mark in the storage, where their datagrams may not arrive.
        """

        def stop() -> str | None:
            if not listener.progress.by_worker:
                return None
            listener.stop_workers()
            leave_mark()
            return "stopping; the results so far are kept"

        self.action = stop

    @contextmanager
    def cancelling(self, cancel_jobs: Callable[[], object]) -> Iterator[None]:
        """Cancel the jobs of Spark in a block; after it, continue with the summary."""
        is_over = threading.Event()

        def cancel() -> None:
            cancel_jobs()
            while not is_over.wait(_CANCEL_AGAIN_S):  # a job may just have begun
                cancel_jobs()

        # Py4J has a connection for each thread, and that of this one is waiting for the job.
        thread = threading.Thread(target=cancel, daemon=True)

        def start_to_cancel() -> str:
            thread.start()
            return "the topics are not read back; writing the report"

        self.action = start_to_cancel
        try:
            yield
        finally:
            self.finish()
            is_over.set()
            if thread.ident is not None:
                thread.join()

    def finish(self) -> None:
        """From now on continue, because what is left takes only seconds."""
        self.action = lambda: "writing the report"
