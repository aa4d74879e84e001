"""Brokers and connections over the admin port."""

import asyncio
import re
import socket
from typing import TYPE_CHECKING

import pytest

from broker.addresses import Address
from broker.http_admin.brokers import (
    AdvertisedBody,
    BrokerPath,
    ConnectionPath,
    CutBody,
    NewBrokerBody,
    StartBody,
    StopBody,
    add_broker,
    advertise_address,
    cut_connection,
    decommission_broker,
    fence_broker,
    isolate_broker,
    list_brokers,
    list_connections,
    start_broker,
    stop_broker,
)
from broker.http_admin.operation import Problem
from broker.http_admin.topics import NewTopicBody, create_topic
from broker.server.listener_security import PLAINTEXT
from broker.server.listener_settings import ListenerPlan, SecurityProtocol
from protocol.pacing import LOOK_EVERY
from tests.broker.http_admin.admin_server import make_admin, serving_site
from tests.broker.http_admin.kafka_clients import connect, leave
from tests.protocol.counting_turn import pauses_of

if TYPE_CHECKING:
    from collections.abc import Callable


def test_brokers_are_listed_with_the_partitions_they_lead() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a", 4))
    views = list_brokers(admin)
    assert [view.node_id for view in views] == [1, 2, 3]
    assert sum(view.leads for view in views) == 4
    assert [view.is_controller for view in views] == [True, False, False]
    assert {(view.is_alive, view.availability) for view in views} == {(True, "up")}


def test_an_advertised_address_is_set_and_survives_a_reset() -> None:
    admin = make_admin()
    view = advertise_address(admin, BrokerPath(2), AdvertisedBody("proxy", 7000))
    assert (view.host, view.port, view.endpoints) == ("proxy", 7000, {"PLAINTEXT": "proxy:7000"})
    admin.cluster.reset()
    assert list_brokers(admin)[1] == view
    with pytest.raises(Problem, match="no listener 'TLS', only PLAINTEXT"):
        advertise_address(admin, BrokerPath(2), AdvertisedBody("proxy", 7000, "TLS"))


def test_a_broker_is_stopped_isolated_and_started() -> None:
    admin = make_admin()
    path = BrokerPath(1)
    stopped = stop_broker(admin, path, StopBody())
    assert (stopped.is_alive, stopped.availability, stopped.is_controller) == (
        False,
        "down",
        False,
    )
    assert start_broker(admin, path, StartBody()).availability == "up"
    unnoticed = stop_broker(admin, path, StopBody(elect=False))
    assert (unnoticed.is_alive, unnoticed.availability) == (True, "down")
    assert isolate_broker(admin, path, CutBody()).availability == "isolated"
    assert start_broker(admin, path, StartBody()).is_alive


def test_a_controlled_shutdown_moves_leaders_before_the_broker_is_down() -> None:
    admin = make_admin()
    path = BrokerPath(1)
    shutting_down = stop_broker(admin, path, StopBody(controlled=True))
    assert (shutting_down.is_alive, shutting_down.availability) == (False, "up")
    with pytest.raises(Problem, match="elect must be true"):
        stop_broker(admin, path, StopBody(elect=False, controlled=True))
    fenced = fence_broker(admin, path)
    assert (fenced.is_alive, fenced.availability) == (False, "up")
    assert start_broker(admin, path, StartBody()).is_alive


async def test_an_added_broker_has_its_own_port_and_is_removed_by_a_reset() -> None:
    async with serving_site(broker_count=2) as site:
        admin = site.admin
        view = await add_broker(admin, NewBrokerBody(rack="r1"))
        assert (view.node_id, view.rack, view.is_alive, view.availability) == (
            3,
            "r1",
            True,
            "up",
        )
        assert view.port not in site.kafka_ports
        _reader, writer = await connect(view.port)
        await leave(writer)
        status, problem = await site.ask("POST", "/v1/brokers", json={"node_id": 3})
        assert (status, problem["detail"]) == (409, "there is a broker 3 already")

        status, _nothing = await site.ask("DELETE", "/v1/brokers/3")
        assert status == 204
        with pytest.raises(ConnectionRefusedError):
            await connect(view.port)
        again = await add_broker(admin, NewBrokerBody(3))
        assert (again.port, again.rack) == (view.port, "r1")
        _reader, writer = await connect(view.port)
        await leave(writer)

        decommission_broker(admin, BrokerPath(1))
        decommission_broker(admin, BrokerPath(2))
        with pytest.raises(Problem, match="broker 3 is the last one") as caught:
            decommission_broker(admin, BrokerPath(3))
        assert caught.value.status == 409
        await site.ask("POST", "/v1/reset")
        assert [view.port for view in list_brokers(admin)] == site.kafka_ports
        for port in site.kafka_ports:
            _reader, writer = await connect(port)
            await leave(writer)
        with pytest.raises(ConnectionRefusedError):
            await connect(view.port)


async def test_brokers_added_concurrently_get_different_node_ids() -> None:
    async with serving_site(broker_count=1) as site:
        adding = (site.ask("POST", "/v1/brokers", json={}) for _ in range(5))
        views = [view for _status, view in await asyncio.gather(*adding)]
        assert sorted(view["node_id"] for view in views) == [2, 3, 4, 5, 6]
        assert len({view["port"] for view in views}) == 5


async def test_a_broker_whose_port_is_in_use_is_not_added() -> None:
    async with serving_site(broker_count=1) as site:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            address = Address("127.0.0.1", port - 1)
            plan = ListenerPlan("TAKEN", SecurityProtocol.PLAINTEXT, address, address, 1)
            listener_plans = site.admin.server.listeners.plans
            listener_plans.append((plan, PLAINTEXT))
            status, problem = await site.ask("POST", "/v1/brokers", json={})
            assert status == 409
            assert problem["detail"].startswith(f"cannot listen on 127.0.0.1:{port}: ")
            listener_plans.pop()
        assert site.admin.server.listeners.broker_ids == {1}
        assert (await add_broker(site.admin, NewBrokerBody())).node_id == 2


@pytest.mark.parametrize("node_id", [0, 4])
def test_a_missing_broker_is_a_404(node_id: int) -> None:
    admin, path = make_admin(), BrokerPath(node_id)
    attempts: list[Callable[[], object]] = [
        lambda: stop_broker(admin, path, StopBody()),
        lambda: start_broker(admin, path, StartBody()),
        lambda: isolate_broker(admin, path, CutBody()),
        lambda: fence_broker(admin, path),
        lambda: decommission_broker(admin, path),
    ]
    for refused in attempts:
        with pytest.raises(Problem) as caught:
            refused()
        assert caught.value.status == 404


async def test_connections_are_listed_with_their_clients_and_can_be_closed() -> None:
    async with serving_site() as site:
        reader, writer = await connect(site.kafka_ports[1])
        (view,) = list_connections(site.admin)
        assert (view.broker, view.user, view.client_id) == (2, "ANONYMOUS", "test")
        assert view.peer.startswith("127.0.0.1:")
        assert (view.is_waiting, view.muted_until_ms) == (False, 0)
        assert list_brokers(site.admin)[1].connections == 1

        cut_connection(site.admin, ConnectionPath(view.connection))
        assert await reader.read() == b""
        await leave(writer)
        assert list_connections(site.admin) == []
        with pytest.raises(Problem) as caught:
            cut_connection(site.admin, ConnectionPath(view.connection))
        assert caught.value.status == 404
        last = list(site.admin.journal)[-1]
        assert getattr(last, "reason", "") == "cut through the admin port"


def test_a_broker_can_be_started_with_other_values_of_its_keys() -> None:
    admin, path = make_admin(), BrokerPath(2)
    key = "producer.state.batches"
    stop_broker(admin, path, StopBody())
    start_broker(admin, path, StartBody({key: "5", "broker.rack": "b"}))
    assert [admin.cluster.config.for_broker(n)[key] for n in (1, 2, 3)] == [1, 5, 1]
    assert list_brokers(admin)[1].rack == "b"

    start_broker(admin, path, StartBody({key: None}))
    assert admin.cluster.config.for_broker(2)[key] == 1
    assert admin.cluster.config.for_broker(2)["broker.rack"] == "b"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"num.partitions": "3"}, "broker.2.num.partitions: num.partitions has one value for all"),
        ({"producer.state.batches": "3"}, "must be one of: 1, 5"),
        ({"max.conections": "3"}, "did you mean max.connections?"),
    ],
)
def test_a_broker_with_invalid_keys_stays_down(config: dict[str, str | None], message: str) -> None:
    admin, path = make_admin(), BrokerPath(2)
    stop_broker(admin, path, StopBody())
    with pytest.raises(Problem, match=re.escape(message)) as caught:
        start_broker(admin, path, StartBody(config))
    assert caught.value.status == 422
    assert not admin.cluster.brokers[2].is_alive


def test_a_start_cannot_change_a_key_that_was_set_at_run_time() -> None:
    admin, path = make_admin(), BrokerPath(2)
    for node_id in (2, None):
        config = admin.cluster.config.with_dynamic(node_id, {"max.connections": "9"})
        admin.cluster.set_config(config)
        with pytest.raises(Problem, match="was set at run time"):
            start_broker(admin, path, StartBody({"max.connections": "8"}))
        admin.cluster.set_config(config.with_dynamic(node_id, {}))
    start_broker(admin, path, StartBody({"max.connections": "8"}))


def test_to_list_brokers_looks_at_each_partition_once_and_pauses() -> None:
    admin = make_admin(20)
    admin.cluster.create_topic("many", [(1,)] * 1000, {})
    assert [view.leads for view in list_brokers(admin)] == [1000, *[0] * 19]
    assert 1000 // LOOK_EVERY < pauses_of(lambda: list_brokers(admin)) < 2 * 1000 // LOOK_EVERY
