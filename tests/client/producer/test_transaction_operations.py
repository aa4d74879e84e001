import asyncio

import pytest

from client.errors import ClientError
from client.producer.core import OperationCallback
from client.producer.transaction_errors import TransactionStateError, TransactionTimeoutError
from client.producer.transaction_operations import TransactionOperations


class Started:
    """The callbacks of the operations that were started."""

    def __init__(self) -> None:
        self.callbacks: list[OperationCallback] = []
        self.polls = 0
        self.operations = TransactionOperations(5, self.poll)

    def poll(self) -> None:
        self.polls += 1

    async def wait(self, name: str) -> None:
        await self.operations.wait(name, self.callbacks.append)


async def test_an_operation_ends_with_its_result() -> None:
    started = Started()
    waiting = asyncio.ensure_future(started.wait("commit"))
    await asyncio.sleep(0)
    assert started.polls == 1
    started.callbacks[0](None)
    await waiting
    waiting = asyncio.ensure_future(started.wait("commit"))
    await asyncio.sleep(0)
    started.callbacks[1](ClientError("no"))
    with pytest.raises(ClientError, match="no"):
        await waiting


async def test_after_a_timeout_the_same_call_waits_for_the_same_operation() -> None:
    started = Started()
    with pytest.raises(TransactionTimeoutError, match="commit did not finish"):
        await started.wait("commit")
    with pytest.raises(TransactionStateError, match="commit is not finished"):
        await started.wait("abort")
    started.callbacks[0](None)
    await started.wait("commit")
    assert len(started.callbacks) == 1


async def test_a_finished_operation_does_not_block_another() -> None:
    started = Started()
    with pytest.raises(TransactionTimeoutError):
        await started.wait("commit")
    started.callbacks[0](ClientError("abort it"))
    waiting = asyncio.ensure_future(started.wait("abort"))
    await asyncio.sleep(0)
    started.callbacks[1](None)
    await waiting
