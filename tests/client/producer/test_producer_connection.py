"""A connection of the asyncio producer, with its broker's features."""

import asyncio
from typing import Any

import pytest

from client.addresses import addresses_of
from client.errors import ClientError, UnsupportedVersionError
from client.producer.actions import (
    CoordinatorKey,
    CoordinatorType,
    EndTxnRequest,
    FindCoordinatorRequest,
    Request,
    RequestFailed,
)
from client.producer.producer_connection import ProducerConnection
from client.security import Security
from protocol.api_keys import ApiKey
from tests.client.producer.served_cluster import NOBODY, serving

FIND = FindCoordinatorRequest(CoordinatorKey(CoordinatorType.TRANSACTION, "t"))
END = EndTxnRequest("t", 0, 0, is_commit=True, transaction_version=1)


class Owner:
    """What a connection reports, in order."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.is_changed = asyncio.Event()

    def _add(self, *event: Any) -> None:
        self.events.append(event)
        self.is_changed.set()

    def on_open(self, node_id: int) -> None:
        self._add("open", node_id)

    def on_response(self, node_id: int, request: Request, response: Any) -> None:
        self._add("response", node_id, request)

    def on_request_failed(self, node_id: int, failed: RequestFailed) -> None:
        self._add("failed", node_id, failed.error)

    def on_lost(self, node_id: int, error: ClientError) -> None:
        self._add("lost", node_id)

    async def wait(self, count: int) -> None:
        while len(self.events) < count:
            self.is_changed.clear()
            await self.is_changed.wait()


def connection_of(owner: Owner) -> ProducerConnection:
    return ProducerConnection(owner, 5, "client", Security(), None)


async def test_an_open_connection_has_the_features_of_the_cluster() -> None:
    async with serving() as served:
        owner = Owner()
        connection = connection_of(owner)
        assert connection.features.levels == {}
        connection.connect(addresses_of(served.servers)[0], None)
        await owner.wait(1)
        assert owner.events == [("open", 5)]
        features = connection.features
        assert features.levels["metadata.version"] > 0
        assert features.epoch >= 0
        connection.abort()


async def test_a_request_that_the_broker_does_not_know_fails_after_those_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving() as served:
        owner = Owner()
        connection = connection_of(owner)
        connection.connect(addresses_of(served.servers)[0], None)
        await owner.wait(1)
        codec = connection._connection.codec
        monkeypatch.delitem(codec._broker_versions, ApiKey.END_TXN)
        connection.send(FIND)
        connection.send(END)
        await owner.wait(3)
        assert owner.events[1] == ("response", 5, FIND)
        name, _, error = owner.events[2]
        assert name == "failed"
        assert isinstance(error, UnsupportedVersionError)
        connection.abort()


async def test_a_connection_that_can_not_be_opened_is_lost() -> None:
    owner = Owner()
    connection_of(owner).connect(addresses_of(NOBODY)[0], None)
    await owner.wait(1)
    assert owner.events == [("lost", 5)]
