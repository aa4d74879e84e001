"""The listeners of brokers: opened and ended together, and moved to new ports."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from broker.addresses import Address
from broker.cluster.brokers import Availability, Broker
from broker.server.broker_listeners import BrokerListeners
from broker.server.listener import Listener, ListenError
from broker.server.listener_security import PLAINTEXT, ListenerSecurity
from broker.server.listener_settings import ListenerPlan, SecurityProtocol
from tests.broker.server.tcp_client import connect


def plan(name: str, port: int = 0) -> tuple[ListenerPlan, ListenerSecurity]:
    address = Address("127.0.0.1", port)
    return ListenerPlan(name, SecurityProtocol.PLAINTEXT, address, address, 1), PLAINTEXT


@pytest.fixture
async def listeners() -> AsyncIterator[BrokerListeners]:
    made = BrokerListeners(
        lambda node_id: node_id - 5, lambda _broker_id, _security: asyncio.Protocol()
    )
    made.plans = [plan("A"), plan("B")]
    yield made
    await made.close()


async def is_refused(port: int) -> bool:
    try:
        _reader, writer = await connect(port)
    except ConnectionRefusedError:
        return True
    writer.close()
    return False


async def test_a_broker_gets_the_addresses_of_its_listeners(listeners: BrokerListeners) -> None:
    broker = Broker(6, "", -1)
    await listeners.open(broker)
    assert list(broker.endpoints) == list(broker.bound) == ["A", "B"]
    assert (broker.host, broker.port) == ("127.0.0.1", broker.endpoints["A"].port)
    assert listeners.broker_ids == {6}
    assert not await is_refused(broker.endpoints["B"].port)

    broker.availability = Availability.DOWN
    listeners.apply_availability(broker)
    assert await is_refused(broker.endpoints["B"].port)
    broker.availability = Availability.UP
    listeners.apply_availability(broker)
    assert not await is_refused(broker.endpoints["B"].port)

    listeners.end(6)
    assert listeners.broker_ids == set()
    assert await is_refused(broker.endpoints["B"].port)


async def test_if_one_address_is_taken_none_is_opened(listeners: BrokerListeners) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listeners.plans[1] = plan("B", taken.getsockname()[1])
        broker = Broker(5, "", -1)
        with pytest.raises(ListenError):
            await listeners.open(broker)
    assert listeners.broker_ids == set()
    assert broker.endpoints == {}


async def test_ports_that_were_left_stay_bound(listeners: BrokerListeners) -> None:
    broker = Broker(5, "", -1)
    await listeners.open(broker)
    old = [address.port for address in broker.endpoints.values()]
    await listeners.move([broker])
    new = [address.port for address in broker.endpoints.values()]
    assert set(new).isdisjoint(old)
    for port in old:
        assert await is_refused(port)
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
    for port in new:
        assert not await is_refused(port)


async def test_a_move_that_is_cancelled_changes_nothing(
    listeners: BrokerListeners, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = Broker(5, "", -1)
    await listeners.open(broker)
    endpoints = dict(broker.endpoints)
    open_listener, names = Listener.open, iter("AB")
    is_waiting = asyncio.Event()

    async def open_or_wait(self: Listener, host: str, port: int) -> int:
        if next(names) == "B":
            is_waiting.set()
            await asyncio.Event().wait()
        return await open_listener(self, host, port)

    monkeypatch.setattr(Listener, "open", open_or_wait)
    moving = asyncio.create_task(listeners.move([broker]))
    await is_waiting.wait()
    moving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await moving
    assert broker.endpoints == endpoints
    assert listeners.broker_ids == {5}
    for address in endpoints.values():
        assert not await is_refused(address.port)
