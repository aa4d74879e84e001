"""A cluster starts with a snapshot, and no client sees it without."""

import asyncio
import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from broker.clock import BrokerClock
from broker.cluster.cluster import Cluster
from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.faults import FaultRule, fault_rule
from broker.http_admin.acls import AclQuery, list_acls
from broker.http_admin.snapshot_start import FirstSnapshot, read_snapshot
from broker.http_admin.state import Admin
from broker.option_files import NO_DEFAULTS
from broker.serve import ServeOptions, start_server
from broker.server.server import Server
from protocol import messages
from tests.broker.connection_driver import request_frame
from tests.free_ports import free_port_run

ORDERS: dict[str, Any] = {
    "name": "orders",
    "partitions": [{"records": [{"value": "one"}]}],
}
RECORDED: dict[str, Any] = {
    "cluster": {
        "cluster_id": "recorded",
        "brokers": [{"node_id": 4, "rack": "east"}, {"node_id": 5}],
        "release": "3.9",
        "features": {"metadata.version": 20, "kraft.version": 1},
    },
    "acls": [
        {
            "principal": "User:ann",
            "resource_type": "topic",
            "resource_name": "orders",
            "operation": "read",
            "permission_type": "allow",
        }
    ],
}
DELAY = fault_rule(api="Heartbeat", delay_ms=1)


@pytest.fixture
def first(tmp_path: Path) -> Callable[..., FirstSnapshot]:
    def write(**document: Any) -> FirstSnapshot:
        path = tmp_path / "setup.json"
        path.write_text(json.dumps(document))
        return read_snapshot(path)

    return write


def options(
    snapshot: FirstSnapshot, port: int = 0, config: Mapping[str, str] = NO_DEFAULTS
) -> ServeOptions:
    return ServeOptions(
        "127.0.0.1",
        port,
        snapshot.broker_count,
        BrokerConfig.from_overrides({**snapshot.config, **config}),
        snapshot=snapshot,
    )


def rules(server: Server) -> list[FaultRule]:
    return [state.rule for state in server.dispatcher.faults.rules()]


def admin_of(server: Server) -> Admin:
    assert isinstance(server.clock, BrokerClock)
    return Admin(server, server.clock)


class WatchedSnapshot:
    """A snapshot whose load begins once a client waits for a response and gets none."""

    def __init__(self, snapshot: FirstSnapshot, port: int) -> None:
        self._snapshot, self._port = snapshot, port
        self.response: asyncio.Task[bytes] | None = None

    def hold_requests(self, cluster: Cluster) -> None:
        self._snapshot.hold_requests(cluster)

    async def load(self, server: Server, clock: BrokerClock, faults: tuple[FaultRule, ...]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        request = messages.MetadataRequest(version=9, topics=None, allow_auto_topic_creation=False)
        writer.write(request_frame(request, 9, 1))
        self.response = asyncio.ensure_future(reader.readexactly(4))
        for _ in range(50):  # of the event loop: the broker reads and answers in a few turns
            await asyncio.sleep(0)
        assert len(server.protocols) == 1
        assert not self.response.done()
        await self._snapshot.load(server, clock, faults)
        size = int.from_bytes(await self.response, "big")
        self.frame = await reader.readexactly(size)
        writer.close()


async def test_a_client_that_connects_before_the_load_waits_and_sees_all_of_it(
    first: Callable[..., FirstSnapshot],
) -> None:
    port = free_port_run(1)
    watched = WatchedSnapshot(first(topics=[ORDERS]), port)
    given = replace(options(first(topics=[ORDERS]), port), snapshot=cast("FirstSnapshot", watched))
    server = await start_server(given)
    await server.stop()
    assert b"orders" in watched.frame


async def test_a_reset_loads_it_again_if_it_is_kept(first: Callable[..., FirstSnapshot]) -> None:
    snapshot = first(topics=[ORDERS], cluster_id="saved")
    server = await start_server(options(snapshot))
    admin = admin_of(server)
    snapshot.keep(admin)
    admin.cluster.topics.remove(admin.topic("orders"))
    await admin.reset()
    assert admin.partition("orders", 0).log.log_end_offset == 1
    assert admin.cluster.cluster_id == "saved"
    await server.stop()


async def test_rules_of_the_command_line_apply_if_the_document_has_none(
    first: Callable[..., FirstSnapshot],
) -> None:
    given = replace(options(first(topics=[ORDERS])), faults=(DELAY,))
    server = await start_server(given)
    assert rules(server) == [DELAY]
    admin = admin_of(server)
    assert given.snapshot is not None
    given.snapshot.keep(admin)
    await admin.reset()
    assert rules(server) == [DELAY]
    await server.stop()
    saved = first(faults=[{"api": "Fetch", "delay_ms": 2}])
    server = await start_server(replace(options(saved), faults=(DELAY,)))
    assert rules(server) == [fault_rule(api="Fetch", delay_ms=2)]
    await server.stop()


async def test_the_id_of_the_configuration_is_stronger_than_that_of_the_document(
    first: Callable[..., FirstSnapshot],
) -> None:
    for config, cluster_id in (({}, "saved"), ({"cluster.id": "mine"}, "mine")):
        server = await start_server(options(first(cluster_id="saved"), config=config))
        assert server.cluster.cluster_id == cluster_id
        await server.stop()


async def test_a_refused_part_stops_the_server_and_names_the_file(
    first: Callable[..., FirstSnapshot],
) -> None:
    port = free_port_run(1)
    refused = first(topics=[ORDERS, {"name": "a b", "partitions": [{}]}])
    with pytest.raises(ConfigError, match=r"setup\.json: topics: a b: INVALID_TOPIC_EXCEPTION"):
        await start_server(options(refused, port))
    with pytest.raises(OSError, match=str(port)):
        await asyncio.open_connection("127.0.0.1", port)


def test_the_configuration_is_that_of_the_recorded_cluster(
    first: Callable[..., FirstSnapshot],
) -> None:
    recorded = first(**RECORDED)
    assert recorded.broker_count == 2
    assert recorded.config == {
        "broker.4.broker.rack": "east",
        "node.id": "4",
        "cluster.id": "recorded",
        "broker.api.versions": "3.9",
        "cluster.features": "metadata.version=20",
    }


def test_a_cluster_of_an_unknown_release_has_the_features_of_ours(
    first: Callable[..., FirstSnapshot],
) -> None:
    unknown = first(cluster={**RECORDED["cluster"], "release": None, "brokers": []})
    assert (unknown.broker_count, unknown.config) == (1, {"cluster.id": "recorded"})


def test_another_snapshot_changes_no_configuration(first: Callable[..., FirstSnapshot]) -> None:
    for document in ({}, {"cluster": None, "cluster_id": "saved"}):
        snapshot = first(**document)
        assert (snapshot.broker_count, snapshot.config) == (1, {})


async def test_access_control_lists_of_a_recording_need_an_authorizer(
    first: Callable[..., FirstSnapshot],
) -> None:
    for config, count in (({}, 0), ({"authorizer.class.name": "acl"}, 1)):
        server = await start_server(options(first(**RECORDED), config=config))
        found = list_acls(admin_of(server), AclQuery()) if config else []
        assert len(found) == count
        assert server.cluster.cluster_id == "recorded"
        await server.stop()


def test_a_file_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "setup.mk.gz"
    path.write_bytes(gzip.compress(json.dumps({"topics": [ORDERS]}).encode()))
    assert [topic.name for topic in read_snapshot(path).document.topics] == ["orders"]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ConfigError, match=r"setup\.mk\.gz: gzip: Compressed file ended"):
        read_snapshot(path)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff", "not JSON: 'utf-8' codec"),
        (b"[]", "Expected `object`"),
        (b"{} {}", "invalid JSON: expected the end"),
        (b'{"version": 3}', "version: Invalid"),
    ],
)
def test_a_file_that_is_no_snapshot_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "setup.json"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        read_snapshot(path)
    assert str(caught.value).startswith(f"{path}: {reason}")
    with pytest.raises(ConfigError, match=r"cannot read .*none\.json: No such file"):
        read_snapshot(tmp_path / "none.json")
