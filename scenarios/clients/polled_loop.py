"""An asyncio event loop that runs only while its owner waits for something."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_CLOSE_S = 1.0


class PolledLoop:
    """The loop of one asyncio client, for a caller without a loop; call it from one thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda _loop, _context: None)
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Run a coroutine to its end.

        Raises:
            TimeoutError: it took longer than `timeout_s`.
        """
        return self._loop.run_until_complete(asyncio.wait_for(coroutine, timeout_s))

    def start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Begin a coroutine, which goes on whenever the loop runs."""
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)  # the loop itself keeps weak references only
        task.add_done_callback(self._tasks.discard)

    def poll(self, timeout_s: float) -> None:
        """Run what is ready, for `timeout_s`."""
        self.run(asyncio.sleep(timeout_s))

    def close(self) -> None:
        """Cancel all tasks and close the loop."""
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self.run(asyncio.sleep(0))
        if tasks:
            self._loop.run_until_complete(asyncio.wait(tasks, timeout=_CLOSE_S))
        self._loop.close()
