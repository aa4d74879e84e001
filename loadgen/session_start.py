"""Start a Spark session in a thread, while the driver does something else."""

from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self

from loadgen.phases import Phases

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    Session = AbstractContextManager[SparkSession]


class SessionStart:
    """Opens a session in a thread; `close` closes it, also in a thread."""

    def __init__(self, session: "Callable[[], Session]", phases: Phases) -> None:
        """Begin to open what `session` returns."""
        self._session, self._phases = session, phases
        self._opened: Session | None = None
        self._thread = ThreadPoolExecutor(1, "load-session")
        self._future: Future[SparkSession] = self._thread.submit(self._open)
        self._closed: Future[None] | None = None

    def _open(self) -> "SparkSession":
        with self._phases.measured("start of Spark"):
            opened = self._session()
            spark = opened.__enter__()
            self._opened = opened
            return spark

    def result(self) -> "SparkSession":
        """Return the session when it is open.

        Raises:
            SessionError: it cannot be opened.
        """
        return self._future.result()

    def close(self) -> None:
        """Begin to close the session; `__exit__` waits for the end."""
        if self._closed is None:
            self._closed = self._thread.submit(self._close)

    def _close(self) -> None:
        if self._opened is not None:
            with self._phases.measured("end of Spark"):
                self._opened.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
        self._thread.shutdown()
