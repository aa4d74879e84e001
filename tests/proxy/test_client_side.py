"""The change between requests that pass and requests that somebody looks at."""

from broker.faults import fault_rule
from protocol import messages
from protocol.api_keys import ApiKey
from proxy.client_side import ClientSide
from tests.proxy.served_proxy import Served, serving, until

NOTHING = messages.MetadataRequest(topics=[])


def only_client(served: Served) -> ClientSide:
    (protocol,) = served.proxy.protocols
    assert isinstance(protocol, ClientSide)
    return protocol


async def test_requests_pass_again_when_the_last_rule_is_used_up() -> None:
    async with serving() as served:
        client = await served.connect()
        await client.metadata()
        rule = fault_rule(api="Metadata", error="INVALID_REQUEST", times=1)
        served.proxy.forwarding.faults.add(rule, served.proxy.clock.now_ms())
        await client.metadata()
        side = only_client(served)
        await client.metadata()
        await client.metadata()
        assert side._is_passing
        served.proxy.forwarding.journal.is_enabled = True
        await client.metadata()
        assert not side._is_passing


async def test_what_is_sent_before_the_connection_to_the_broker_waits() -> None:
    async with serving() as served:
        client = await served.connect()
        for correlation_id in range(3):
            client.send(ApiKey.METADATA, 12, NOTHING, correlation_id)
        found = [int.from_bytes((await client.frame())[4:8]) for _ in range(3)]
        assert found == [0, 1, 2]


async def test_a_long_poll_is_no_idle_connection() -> None:
    async with serving() as served:
        client = await served.connect()
        await client.metadata()
        side = only_client(served)
        assert not side.is_waiting
        served.cluster.dispatcher.faults.add(
            fault_rule(api="Metadata", hang="before_handling"), served.cluster.clock.now_ms()
        )
        client.send(ApiKey.METADATA, 12, NOTHING)
        await until(lambda: side.is_waiting)


async def test_an_isolated_broker_keeps_the_connection_without_traffic() -> None:
    async with serving() as served:
        client = await served.connect(served.proxy.cluster.brokers[1].port)
        await client.metadata()
        faults, now_ms = served.proxy.forwarding.faults, served.proxy.clock.now_ms()
        faults.add(fault_rule(isolate_broker=1, at_once=True), now_ms)
        client.send(ApiKey.METADATA, 12, NOTHING, 7)
        await client.writer.drain()
        assert only_client(served).is_isolated
        faults.add(fault_rule(start_broker=1, at_once=True), now_ms)
        assert (await client.frame())[4:8] == (7).to_bytes(4)
