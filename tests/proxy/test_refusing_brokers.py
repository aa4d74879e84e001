"""The port of a broker that is down refuses connections, as the broker does."""

import asyncio

import pytest

from broker.cluster.failover import start_broker, stop_broker
from proxy import refusing_brokers
from tests.proxy.served_proxy import Served, serving, until


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusing_brokers, "RETRY_S", 0)


async def refused(served: Served, node_id: int) -> bool:
    """Connect to the port of a broker; return whether it refuses."""
    try:
        client = await served.connect(served.proxy.cluster.brokers[node_id].port)
    except ConnectionRefusedError:
        return True
    await client.close()
    return False


async def stop(served: Served, node_id: int) -> None:
    """Stop a broker behind the proxy, and have a client find out."""
    stop_broker(served.cluster.cluster, node_id, 0)
    client = await served.connect(served.proxy.cluster.brokers[node_id].port)
    assert await client.frame() == b""


async def test_it_refuses_until_the_broker_is_back() -> None:
    async with serving(2) as served:
        await stop(served, 1)
        assert await refused(served, 1)
        assert not await refused(served, 2)
        assert 1 in served.proxy.refusing
        start_broker(served.cluster.cluster, 1, 0)
        await until(lambda: 1 not in served.proxy.refusing)
        client = await served.connect(served.proxy.cluster.brokers[1].port)
        assert len((await client.metadata()).brokers) == 2


async def test_a_rule_and_a_reset_do_not_open_it() -> None:
    async with serving(2) as served:
        await stop(served, 1)
        for change in (stop_broker, start_broker):
            change(served.proxy.cluster, 1, 0)
            assert await refused(served, 1)
        served.proxy.reset()
        await asyncio.sleep(0)
        assert await refused(served, 1)


async def test_a_port_that_a_rule_has_closed_stays_closed_when_the_broker_is_back() -> None:
    async with serving(2) as served:
        await stop(served, 1)
        stop_broker(served.proxy.cluster, 1, 0)
        start_broker(served.cluster.cluster, 1, 0)
        await until(lambda: 1 not in served.proxy.refusing)
        assert await refused(served, 1)
        start_broker(served.proxy.cluster, 1, 0)
        assert not await refused(served, 1)


async def test_others_hear_of_it_once() -> None:
    async with serving(2) as served:
        heard: list[int] = []
        served.proxy.forwarding.on_refusing.append(heard.append)
        await stop(served, 2)
        await refused(served, 2)
        assert heard == [2]
