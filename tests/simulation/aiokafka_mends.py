"""Mends of aiokafka, one for each finding of docs/findings.md, so that worlds look behind it.

Each is a context manager that replaces a method of aiokafka. A world of the released aiokafka runs
without them.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from aiokafka import errors
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.consumer.group_coordinator import GroupCoordinator


@contextmanager
def _offset_fetch_errors() -> Iterator[None]:
    """Raise the error of a whole OffsetFetch; aiokafka takes it for "no committed offsets"."""
    send = GroupCoordinator._send_req

    async def checked(self: Any, request: Any) -> Any:
        response = await send(self, request)
        code = getattr(response, "error_code", 0)
        if type(response).__name__.startswith("OffsetFetchResponse") and code:
            error = errors.for_code(code)
            if error is errors.NotCoordinatorForGroupError:
                self.coordinator_dead()
            raise error()
        return response

    with patch.object(GroupCoordinator, "_send_req", checked):
        yield


@contextmanager
def _cancelled_fetch() -> Iterator[None]:
    """End fetches that wait for their retry in `stop`, without a CancelledError for its caller."""
    close = Fetcher.close

    async def end_all(self: Any) -> None:
        try:
            await close(self)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            for pending in self._pending_tasks:
                pending.cancel()
            await asyncio.gather(*self._pending_tasks, return_exceptions=True)

    with patch.object(Fetcher, "close", end_all):
        yield


@contextmanager
def _lost_lookup() -> Iterator[None]:
    """Look a coordinator up again after the connection was lost during the look-up."""
    lookup = AIOKafkaClient.coordinator_lookup

    async def retriable(self: Any, *arguments: Any) -> Any:
        try:
            return await lookup(self, *arguments)
        except errors.KafkaConnectionError as error:
            raise errors.NodeNotReadyError from error

    with patch.object(AIOKafkaClient, "coordinator_lookup", retriable):
        yield


@contextmanager
def _endless_commit() -> Iterator[None]:
    """Give the last commit up if the coordinator is lost while the consumer closes."""
    ensure = GroupCoordinator.ensure_coordinator_known

    async def known_or_error(self: Any) -> None:
        await ensure(self)
        if self.coordinator_id is None:
            raise errors.KafkaError("the coordinator was lost during the close")

    with patch.object(GroupCoordinator, "ensure_coordinator_known", known_or_error):
        yield


MENDS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "offset_fetch_errors": _offset_fetch_errors,
    "cancelled_fetch": _cancelled_fetch,
    "lost_lookup": _lost_lookup,
    "endless_commit": _endless_commit,
}


@contextmanager
def mended(*released: str) -> Iterator[None]:
    """Mend all findings but those that are named, during the block."""
    with ExitStack() as mends:
        for name, mend in MENDS.items():
            if name not in released:
                mends.enter_context(mend())
        yield
