"""The start of a proxy: listeners, TLS and SASL of clients, rules of the start."""

from dataclasses import replace

import pytest

from broker.addresses import Address
from broker.faults import fault_rule
from broker.serve import StartError, bootstrap_lines, security_lines, start_server
from client.security import SaslSettings, Security, TlsSettings
from proxy.own_requests import describe_cluster
from proxy.serve import start_proxy
from tests.free_ports import free_port_run
from tests.proxy.served_proxy import HOST, options, serving


async def test_the_first_line_has_the_bootstrap_port_alone() -> None:
    async with serving(3) as served:
        port = served.bootstrap_port
        assert bootstrap_lines(served.proxy) == [f"bootstrap.servers={HOST}:{port}"]


async def test_listeners_have_ports_of_each_broker() -> None:
    async with serving(
        2, listeners="A://:0,B://:0", listener_security_protocol_map="A:PLAINTEXT,B:PLAINTEXT"
    ) as served:
        found = served.proxy.cluster.brokers[2].endpoints
        assert list(found) == ["A", "B"]
        client = await served.connect(found["B"].port)
        ports = {broker.node_id: broker.port for broker in (await client.metadata()).brokers}
        assert ports[2] == found["B"].port


async def test_tls_ends_and_begins_at_the_proxy_and_sasl_passes_through() -> None:
    users = {"sasl.users": "alice:secret"}
    secure = replace(options(users), has_tls=True, has_sasl=True)
    cluster = await start_server(secure)
    assert cluster.ca_path is not None
    to = [Address(HOST, cluster.cluster.brokers[1].port)]
    security = Security(
        TlsSettings(ca_path=str(cluster.ca_path)), SaslSettings("PLAIN", "alice", "secret")
    )
    proxy = await start_proxy(replace(options(), has_tls=True, has_sasl=True), to, security)
    try:
        assert proxy.ca_path != cluster.ca_path
        assert "security.protocol=SASL_SSL" in security_lines(proxy)
        assert list(proxy.cluster.brokers) == [-1, 1]
        own = Security(TlsSettings(ca_path=str(proxy.ca_path)), security.sasl)
        found = await describe_cluster([Address(HOST, proxy.cluster.brokers[-1].port)], own)
        assert found.brokers[0].port == proxy.cluster.brokers[1].port
    finally:
        await proxy.stop()
        await cluster.stop()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
async def test_rules_for_a_user_match_the_one_that_the_cluster_has_accepted(mechanism: str) -> None:
    secure = replace(options({"sasl.users": "alice:secret"}), has_sasl=True)
    cluster = await start_server(secure)
    to = [Address(HOST, cluster.cluster.brokers[1].port)]
    proxy = await start_proxy(replace(options(), has_sasl=True), to, Security())
    rule = fault_rule(api="Metadata", user="alice", error="INVALID_REQUEST")
    proxy.forwarding.faults.add(rule, proxy.clock.now_ms())
    try:
        security = Security(None, SaslSettings(mechanism, "alice", "secret"))
        port = proxy.cluster.brokers[-1].port
        await describe_cluster([Address(HOST, port)], security)
        (state,) = proxy.forwarding.faults.rules()
        assert state.fire_count == 1
    finally:
        await proxy.stop()
        await cluster.stop()


async def test_a_proxy_starts_before_its_cluster() -> None:
    port = free_port_run(1)
    async with serving(to=[Address(HOST, port)]) as served:
        assert list(served.proxy.cluster.brokers) == [-1]
        cluster = await start_server(replace(options(), port=port))
        client = await served.connect()
        found = await client.metadata()
        assert found.brokers[0].port == served.proxy.cluster.brokers[1].port != port
        await cluster.stop()


async def test_a_rule_of_the_start_that_a_proxy_cannot_carry_out_is_an_error() -> None:
    rules = (fault_rule(api="Metadata", stale_metadata=True),)
    with pytest.raises(StartError, match=r"--faults: .*this is a proxy"):
        await start_proxy(
            replace(options(), faults=rules), [Address(HOST, free_port_run(1))], Security()
        )
