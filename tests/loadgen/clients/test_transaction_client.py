"""An event is repeated until its transaction is committed, or may be."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from client import Producer
from client.errors import ApiError, ClientError
from client.producer.transaction_errors import (
    FatalTransactionError,
    TransactionAbortableError,
    TransactionTimeoutError,
)
from loadgen.clients import transaction_client
from loadgen.clients.load_client import Event
from loadgen.clients.transaction_client import TransactionClient
from loadgen.plan.plan import Tenant
from protocol.errors import ErrorCode
from tests.loadgen.stubs import run_of

EVENT = Event(1, 0, 0, 0)
ABORTABLE = TransactionAbortableError(ApiError(ErrorCode.REQUEST_TIMED_OUT))
FATAL = FatalTransactionError("fenced")
TIMEOUT = TransactionTimeoutError("commit_transaction", 1)


class Script(Producer):
    """A producer that notes its calls; those of these names raise these errors, one by one."""

    calls: list[str]
    errors: dict[str, list[ClientError]]

    def __init__(self, *_: Any, **__: Any) -> None:
        """Connect to nothing."""

    async def _do(self, call: str) -> None:
        self.calls.append(call)
        await asyncio.sleep(0)
        if self.errors.get(call):
            raise self.errors[call].pop(0)

    async def init_transactions(self) -> None:
        await self._do("init")

    def begin_transaction(self) -> None:
        self.calls.append("begin")

    async def flush(self) -> None:
        await self._do("flush")

    async def commit_transaction(self) -> None:
        await self._do("commit")

    async def abort_transaction(self) -> None:
        await self._do("abort")

    async def close(self, *, is_flushing: bool = True, is_aborting: bool = True) -> None:
        assert not is_flushing
        await self._do("close" if is_aborting else "crash")


class Filled(TransactionClient):
    async def fill(self, producer: Producer, event: Event) -> None:
        assert isinstance(producer, Script)
        assert event is EVENT
        await producer._do("fill")


Play = Callable[..., list[str]]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    """Return the calls of the producer during some events, without those of the first start."""

    def played(
        errors: dict[str, list[ClientError]] | None = None, events: int = 1, **options: Any
    ) -> list[str]:
        monkeypatch.setattr(transaction_client, "Producer", Script)
        monkeypatch.setattr(transaction_client, "BACKOFF_S", 0)
        Script.calls, Script.errors = [], errors or {}
        tenant = Tenant("a", "transactional", **{"abort_every": 0, "crash_every": 0} | options)

        async def scenario() -> None:
            client = Filled(run_of(tenant), tenant, 0)
            for _ in range(events):
                await client.handle(EVENT)

        asyncio.run(scenario())
        return Script.calls

    return played


START, DONE = ["init", "begin", "fill"], ["begin", "fill", "commit"]


def test_one_producer_commits_one_transaction_after_the_other(play: Play) -> None:
    assert play(events=2) == ["init", *DONE, *DONE]


def test_an_aborted_transaction_is_repeated(play: Play) -> None:
    assert play(abort_every=2, events=2) == [
        "init", *DONE, "begin", "fill", "flush", "abort", *DONE
    ]  # fmt: skip


def test_a_new_producer_repeats_what_a_crashed_one_did_not_commit(play: Play) -> None:
    assert play(crash_every=1) == [*START, "flush", "crash", "init", *DONE]


def test_what_a_crashed_producer_may_have_committed_is_not_repeated(play: Play) -> None:
    first = [*START, "flush", "crash", "init", *DONE]
    assert play(crash_every=1, events=2) == [*first, "begin", "fill", "flush", "commit", "crash"]


@pytest.mark.parametrize("call", ["fill", "commit"])
def test_a_transaction_with_an_error_is_aborted_and_repeated(play: Play, call: str) -> None:
    until_error = {"fill": START, "commit": [*START, "commit"]}[call]
    assert play({call: [ABORTABLE]}) == [*until_error, "abort", *DONE]


def test_a_commit_without_a_response_is_requested_again(play: Play) -> None:
    assert play({"commit": [TIMEOUT, TIMEOUT]}) == ["init", *DONE, "commit", "commit"]


def test_a_fenced_producer_is_replaced(play: Play) -> None:
    assert play({"fill": [FATAL]}) == [*START, "close", "init", *DONE]
    # The commit may have succeeded.
    assert play({"commit": [FATAL]}) == [*START, "commit", "crash"]


def test_a_producer_that_cannot_start_aborts_the_run(play: Play) -> None:
    with pytest.raises(FatalTransactionError):
        play({"init": [TIMEOUT, FATAL]})
    assert Script.calls == ["init", "init"]


def test_without_transactions_an_event_is_over_when_it_is_stored(play: Play) -> None:
    assert play(transactions=False) == ["fill", "flush"]
    assert play(transactions=False, abort_every=1) == ["fill", "flush"] * 2
    assert play(transactions=False, crash_every=1) == ["fill", "flush", "crash", "fill", "flush"]
