"""Brokers and connections over the admin port."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from broker.admin.brokers import (
    BrokerPath,
    ConnectionPath,
    CutBody,
    StopBody,
    cut_connection,
    cut_off_broker,
    list_brokers,
    list_connections,
    start_broker,
    stop_broker,
)
from broker.admin.operation import Problem
from broker.admin.topics import NewTopicBody, create_topic
from tests.broker.admin.admin_server import Site, make_admin, run_site
from tests.broker.test_connection import metadata_frame

if TYPE_CHECKING:
    from collections.abc import Callable


async def connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client that has been answered once."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(metadata_frame(1))
    await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    return reader, writer


async def leave(writer: asyncio.StreamWriter) -> None:
    """Close a client's connection, if it isn't."""
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


def test_brokers_are_listed_with_what_they_lead() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a", 4))
    views = list_brokers(admin)
    assert [view.node_id for view in views] == [1, 2, 3]
    assert sum(view.leads for view in views) == 4
    assert [view.is_controller for view in views] == [True, False, False]
    assert {(view.is_alive, view.reach) for view in views} == {(True, "serves")}


def test_a_broker_is_stopped_cut_off_and_started() -> None:
    admin = make_admin()
    path = BrokerPath(1)
    stopped = stop_broker(admin, path, StopBody())
    assert (stopped.is_alive, stopped.reach, stopped.is_controller) == (False, "refuses", False)
    assert start_broker(admin, path).reach == "serves"
    unnoticed = stop_broker(admin, path, StopBody(elect=False))
    assert (unnoticed.is_alive, unnoticed.reach) == (True, "refuses")
    assert cut_off_broker(admin, path, CutBody()).reach == "silent"
    assert start_broker(admin, path).is_alive


@pytest.mark.parametrize("node_id", [0, 4])
def test_a_broker_that_is_not_there_is_a_404(node_id: int) -> None:
    admin, path = make_admin(), BrokerPath(node_id)
    attempts: list[Callable[[], object]] = [
        lambda: stop_broker(admin, path, StopBody()),
        lambda: start_broker(admin, path),
        lambda: cut_off_broker(admin, path, CutBody()),
    ]
    for refused in attempts:
        with pytest.raises(Problem) as caught:
            refused()
        assert caught.value.status == 404


def test_connections_are_listed_with_who_they_are_and_can_be_cut() -> None:
    async def scenario(site: Site) -> None:
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
        last = list(site.admin.cluster.journal)[-1]
        assert getattr(last, "reason", "") == "cut through the admin port"

    run_site(scenario)
