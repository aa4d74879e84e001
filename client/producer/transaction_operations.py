"""Wait for the operations of transactions, as Kafka's blocking calls do: up to `max_block_ms`."""

import asyncio
import contextlib
from collections.abc import Callable

from client.errors import ClientError
from client.producer.core import OperationCallback
from client.producer.transaction_errors import TransactionStateError, TransactionTimeoutError


class TransactionOperations:
    """One operation at a time; after a timeout it goes on, and its next call waits for it."""

    def __init__(self, max_block_ms: int, on_start: Callable[[], None]) -> None:
        """`on_start` is called after an operation was started in the core."""
        self._max_block_ms = max_block_ms
        self._on_start = on_start
        self._pending: tuple[str, asyncio.Future[ClientError | None]] | None = None

    async def wait(self, name: str, start: Callable[[OperationCallback], object]) -> None:
        """Start an operation, or go on waiting for it.

        Raises:
            TransactionTimeoutError: no result yet.
            TransactionStateError: another operation has no result yet.
            ClientError: the operation's error.
        """
        if self._pending is not None and self._pending[0] != name:
            if not self._pending[1].done():
                state = f"{self._pending[0]} is not finished; call it again"
                raise TransactionStateError(name, state)
            self._pending = None
        if self._pending is None:
            self._pending = (name, self._start(start))
        result = self._pending[1]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(result), self._max_block_ms / 1000)
        if not result.done():
            raise TransactionTimeoutError(name, self._max_block_ms)
        self._pending = None
        error = result.result()
        if error is not None:
            raise error

    def _start(
        self, start: Callable[[OperationCallback], object]
    ) -> "asyncio.Future[ClientError | None]":
        result: asyncio.Future[ClientError | None] = asyncio.get_running_loop().create_future()
        start(result.set_result)
        self._on_start()
        return result
