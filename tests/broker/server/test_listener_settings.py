"""Listeners: names, addresses, protocols, and distinct ports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.addresses import Address
from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.server.listener_settings import ListenerPlan, SecurityProtocol, plan_listeners


def plan(broker_count: int = 1, **overrides: str) -> list[ListenerPlan]:
    config = BrokerConfig.from_overrides({k.replace("_", "."): v for k, v in overrides.items()})
    return plan_listeners(config, "here", 9092, broker_count)


def test_without_listeners_the_host_and_port_of_the_command_line_are_used() -> None:
    (listener,) = plan(3)
    assert (listener.name, listener.protocol) == ("PLAINTEXT", SecurityProtocol.PLAINTEXT)
    assert [listener.bound_by(i).port for i in range(3)] == [9092, 9093, 9094]
    assert listener.advertised_by(2) == Address("here", 0)


def test_without_listeners_the_first_advertised_address_is_used() -> None:
    (listener,) = plan(2, advertised_listeners="ANY://[::1]:7000,OTHER://b:1")
    assert listener.advertised_by(1) == Address("::1", 7001)
    assert str(listener.advertised) == "[::1]:7000"


def test_listeners_have_the_configured_order_names_and_protocols() -> None:
    overrides = {
        "listeners": "IN://:1000,OUT://0.0.0.0:2000",
        "listener_security_protocol_map": "IN:SASL_PLAINTEXT,OUT:SSL",
        "advertised_listeners": "OUT://far:3000",
    }
    first, second = plan(1, **overrides)
    assert (first.name, first.bound, first.advertised) == (
        "IN",
        Address("here", 1000),
        Address("here", 0),
    )
    assert first.protocol.has_sasl
    assert not first.protocol.has_tls
    assert (second.bound, second.advertised) == (Address("0.0.0.0", 2000), Address("far", 3000))
    assert second.protocol.has_tls
    assert not second.protocol.has_sasl


def test_controller_listeners_are_ignored() -> None:
    overrides = {
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "advertised_listeners": "CONTROLLER://far:9093,PLAINTEXT://far:9092",
        "controller_listener_names": "CONTROLLER",
    }
    [listener] = plan(1, **overrides)
    assert (listener.name, listener.advertised) == ("PLAINTEXT", Address("far", 9092))


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("advertised_listeners", "host:9092"),
        ("advertised_listeners", "PLAINTEXT://:9092"),
        ("advertised_listeners", "PLAINTEXT://host"),
        ("advertised_listeners", "P://h:x"),
        ("advertised_listeners", "P://h:65536"),
        ("listeners", "PLAINTEXT"),
        ("listeners", "://h:1"),
        ("listeners", "PLAINTEXT://:1,PLAINTEXT://:2"),
        ("listeners", "PLAINTEXT://:1,SSL://:1"),
        ("listeners", "NAME://:1"),
        ("listeners", ""),
        ("listener_security_protocol_map", "PLAINTEXT:CLEAR"),
    ],
)
def test_an_invalid_listener_is_refused_with_its_key(key: str, text: str) -> None:
    with pytest.raises(ConfigError):
        plan(1, **{key: text})


def test_only_a_listener_can_be_advertised() -> None:
    with pytest.raises(ConfigError, match="SSL is not among"):
        plan(1, listeners="PLAINTEXT://:1", advertised_listeners="SSL://h:1")


@pytest.mark.parametrize(
    "overrides",
    [
        {"listeners": "PLAINTEXT://:65534"},
        {"listeners": "PLAINTEXT://:1,SSL://:65534"},
        {"advertised_listeners": "PLAINTEXT://far:65534"},
    ],
)
def test_a_port_above_65535_of_a_later_broker_is_refused(overrides: dict[str, str]) -> None:
    assert plan(2, **overrides)
    with pytest.raises(ConfigError, match="port 65536 of broker 3"):
        plan(3, **overrides)


def test_adjacent_listener_ports_increase_the_port_step() -> None:
    first, second = plan(3, listeners="PLAINTEXT://:9092,SASL_SSL://:9093")
    assert [first.bound_by(i).port for i in range(3)] == [9092, 9094, 9096]
    assert [second.bound_by(i).port for i in range(3)] == [9093, 9095, 9097]


@given(
    ports=st.lists(st.integers(1, 60), min_size=1, max_size=4, unique=True),
    broker_count=st.integers(1, 20),
)
def test_no_two_brokers_share_a_port_and_the_port_step_is_minimal(
    ports: list[int], broker_count: int
) -> None:
    names = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
    text = ",".join(f"{name}://:{port}" for name, port in zip(names, ports, strict=False))
    listeners = plan(broker_count, listeners=text)
    taken = [listener.bound_by(i).port for listener in listeners for i in range(broker_count)]
    assert len(set(taken)) == len(taken)
    for step in range(1, listeners[0].port_step):
        shifted = [port + i * step for port in ports for i in range(broker_count)]
        assert len(set(shifted)) < len(shifted)


def test_a_listener_without_an_advertised_address_advertises_the_given_host() -> None:
    config = BrokerConfig.from_overrides(
        {
            "listeners": "A://:1,B://:2",
            "listener.security.protocol.map": "A:SSL,B:PLAINTEXT",
            "advertised.listeners": "B://far:3",
        }
    )
    plans = plan_listeners(config, "0.0.0.0", 9092, 1, "here")
    assert [plan.advertised for plan in plans] == [Address("here", 0), Address("far", 3)]


@pytest.mark.parametrize("protocol", SecurityProtocol)
def test_the_protocol_of_the_only_listener_is_its_name_or_must_be_among_the_listeners(
    protocol: SecurityProtocol,
) -> None:
    assert SecurityProtocol.of(has_tls=protocol.has_tls, has_sasl=protocol.has_sasl) is protocol
    advertised = {"advertised.listeners": "ANY://far:1"}
    config = BrokerConfig.from_overrides(advertised)
    (listener,) = plan_listeners(config, "here", 9092, 1, protocol=protocol)
    assert (listener.name, listener.protocol) == (protocol.value, protocol)
    assert listener.advertised == Address("far", 1)

    both = BrokerConfig.from_overrides({"listeners": "SASL_PLAINTEXT://:1,SSL://:2"})
    assert len(plan_listeners(both, "here", 9092, 1, protocol=protocol)) == 2
    for lacks, has_it, other in (
        ("TLS", protocol.has_tls, "SASL_PLAINTEXT"),
        ("SASL", protocol.has_sasl, "SSL"),
    ):
        config = BrokerConfig.from_overrides({"listeners": f"{other}://:1"})
        if has_it:
            with pytest.raises(ConfigError, match=rf"listeners: {lacks} \(.*needs one such as "):
                plan_listeners(config, "here", 9092, 1, protocol=protocol)


def addresses(plans: list[ListenerPlan], broker_count: int) -> dict[str, list[tuple[str, str]]]:
    """Return where each broker listens and what it advertises, by listener."""
    return {
        plan.name: [
            (str(plan.bound_by(index)), str(plan.advertised_by(index)))
            for index in range(broker_count)
        ]
        for plan in plans
    }


def test_brokers_may_have_the_ports_of_a_compose_file() -> None:
    overrides = {"listener_security_protocol_map": "IN:PLAINTEXT,HOST:PLAINTEXT"}
    for node_id, port in ((1, 29092), (2, 39092), (3, 49092)):
        listeners = f"IN://0.0.0.0:{9091 + node_id},HOST://0.0.0.0:{port}"
        overrides[f"broker_{node_id}_listeners"] = listeners
        advertised = f"IN://kafka-{node_id}:{9091 + node_id},HOST://localhost:{port}"
        overrides[f"broker_{node_id}_advertised_listeners"] = advertised
    assert addresses(plan(3, **overrides), 4) == {
        "IN": [
            ("0.0.0.0:9092", "kafka-1:9092"),
            ("0.0.0.0:9093", "kafka-2:9093"),
            ("0.0.0.0:9094", "kafka-3:9094"),
            ("0.0.0.0:0", "0.0.0.0:0"),
        ],
        "HOST": [
            ("0.0.0.0:29092", "localhost:29092"),
            ("0.0.0.0:39092", "localhost:39092"),
            ("0.0.0.0:49092", "localhost:49092"),
            ("0.0.0.0:0", "0.0.0.0:0"),
        ],
    }


def test_a_broker_with_listeners_alone_advertises_the_shared_host_with_its_own_port() -> None:
    overrides = {
        "listeners": "PLAINTEXT://:1000,SSL://:2000",
        "advertised_listeners": "SSL://far:5000",
        "broker_2_listeners": "SSL://:3000,PLAINTEXT://there:4000",
    }
    assert addresses(plan(3, **overrides), 3) == {
        "PLAINTEXT": [("here:1000", "here:0"), ("there:4000", "there:0"), ("here:1002", "here:0")],
        "SSL": [("here:2000", "far:5000"), ("here:3000", "far:0"), ("here:2002", "far:5002")],
    }


def test_a_broker_may_advertise_an_address_of_its_own_without_any_listeners() -> None:
    plans = plan(2, broker_2_advertised_listeners="PLAINTEXT://far:7")
    assert addresses(plans, 2) == {"PLAINTEXT": [("here:9092", "here:0"), ("here:9093", "far:7")]}


def test_own_listeners_are_found_by_node_id() -> None:
    plans = plan(2, node_id="5", broker_6_listeners="PLAINTEXT://:7")
    assert addresses(plans, 2) == {"PLAINTEXT": [("here:9092", "here:0"), ("here:7", "here:0")]}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"broker_2_listeners": "SSL://:7"},
            "broker.2.listeners: each broker has the listeners PLAINTEXT",
        ),
        (
            {"listeners": "PLAINTEXT://:1,SSL://:9", "broker_2_listeners": "SSL://:7"},
            "broker.2.listeners: each broker has the listeners PLAINTEXT, SSL",
        ),
        ({"broker_2_listeners": "PLAINTEXT"}, "broker.2.listeners: 'PLAINTEXT' is not NAME"),
        (
            {"listeners": "SSL://:1", "broker_2_advertised_listeners": "A://h:7"},
            "broker.2.advertised.listeners: A is not among the listeners",
        ),
        (
            {f"broker_{n}_advertised_listeners": "PLAINTEXT://far:7" for n in (1, 2)},
            "two listeners advertise far:7",
        ),
    ],
)
def test_invalid_listeners_of_one_broker_are_refused(
    overrides: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        plan(2, **overrides)
