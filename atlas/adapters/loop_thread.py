"""An event loop in another thread, so that clients work between the commands of an adapter."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from atlas.adapters.adapter import UnansweredError

T = TypeVar("T")
_MARGIN_MS = 300
"""How much longer than its `timeout_ms` a call may take that the library can't bound."""


class LoopThread:
    """An event loop in another thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def run(self, coroutine: Coroutine[Any, Any, T], timeout_ms: int) -> T:
        """Run a coroutine, and return its result.

        Raises:
            UnansweredError: it was not done after `timeout_ms`; it is cancelled.
        """

        async def bounded() -> T:
            task = asyncio.ensure_future(coroutine)
            done, _ = await asyncio.wait([task], timeout=(timeout_ms + _MARGIN_MS) / 1000)
            if not done:
                task.cancel()
                raise UnansweredError
            return task.result()

        return asyncio.run_coroutine_threadsafe(bounded(), self.loop).result()
