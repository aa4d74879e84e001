"""What one client sends, and the broker accepts, breaks no response that others get."""

import asyncio
import json
from collections.abc import Iterator
from inspect import isasyncgenfunction, iscoroutinefunction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

import broker.http_admin.web  # noqa: F401 - declares the operations
from broker.cluster.cluster import Cluster
from broker.http_admin.operation import OPERATIONS, Operation, encode_result
from broker.http_admin.state import Admin
from broker.request.session import Session
from broker.routes import ROUTES
from broker.server.client_protocol import ClientProtocol
from broker.server.listener_security import PLAINTEXT
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.request_bounds import STRING_BYTES_MAX
from tests.batches import make_batch
from tests.broker.cluster_builder import ALL_VERSIONS, make_cluster
from tests.broker.connection_driver import Client, request_frame
from tests.broker.http_admin.admin_server import admin_of
from tests.produce_requests import produce_request

LENGTHS = (0, 1, 127, 128, 249, 4096, STRING_BYTES_MAX - 40, STRING_BYTES_MAX, STRING_BYTES_MAX + 1)

names = st.one_of(
    st.text(max_size=40),
    st.builds(str.__mul__, st.sampled_from(["a", "é", "€", "\0", "𝄞"]), st.sampled_from(LENGTHS)),
)


def writes(name: str) -> Iterator[tuple[Any, int]]:
    """Yield requests of flexible versions that store a string."""
    # Creates __consumer_offsets.
    yield messages.FindCoordinatorRequest(version=0, key="g"), 0
    commit: Any = messages.OffsetCommitRequest
    partition = commit.OffsetCommitRequestTopic.OffsetCommitRequestPartition
    yield (
        commit(
            version=9,
            group_id=name,
            generation_id_or_member_epoch=-1,
            member_id="",
            topics=[
                commit.OffsetCommitRequestTopic(
                    version=9,
                    name="t",
                    partitions=[
                        partition(
                            version=9,
                            partition_index=0,
                            committed_offset=0,
                            committed_metadata=name[:4096],
                        )
                    ],
                )
            ],
        ),
        9,
    )
    join: Any = messages.JoinGroupRequest
    yield (
        join(
            version=9,
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            member_id="",
            group_instance_id=name or None,
            protocol_type="consumer",
            protocols=[join.JoinGroupRequestProtocol(version=9, name=name, metadata=b"")],
        ),
        9,
    )
    alter: Any = messages.IncrementalAlterConfigsRequest
    config = alter.AlterConfigsResource.AlterableConfig
    for resource_type, resource_name, key in (
        (2, "t", "follower.replication.throttled.replicas"),
        (32, name, "consumer.session.timeout.ms"),
        (16, name, "metrics"),
    ):
        value = "46000" if resource_type == 32 else name
        yield (
            alter(
                version=1,
                resources=[
                    alter.AlterConfigsResource(
                        version=1,
                        resource_type=resource_type,
                        resource_name=resource_name,
                        configs=[config(version=1, name=key, config_operation=0, value=value)],
                    )
                ],
                validate_only=False,
            ),
            1,
        )
    quotas: Any = messages.AlterClientQuotasRequest
    for entity_type in ("user", "client-id"):
        yield (
            quotas(
                version=1,
                entries=[
                    quotas.EntryData(
                        version=1,
                        entity=[
                            quotas.EntryData.EntityData(
                                version=1, entity_type=entity_type, entity_name=name
                            )
                        ],
                        ops=[
                            quotas.EntryData.OpData(
                                version=1, key="producer_byte_rate", value=1e9, remove=False
                            )
                        ],
                    )
                ],
                validate_only=False,
            ),
            1,
        )


def reads(cluster: Cluster) -> Iterator[tuple[Any, ApiKey]]:
    """Yield requests that list what is stored."""
    groups = cluster.groups.table.group_ids()
    yield messages.ListGroupsRequest(states_filter=[], types_filter=[]), ApiKey.LIST_GROUPS
    yield messages.DescribeGroupsRequest(groups=groups), ApiKey.DESCRIBE_GROUPS
    yield messages.OffsetFetchRequest(group_id="g", topics=None), ApiKey.OFFSET_FETCH
    describe: Any = messages.DescribeConfigsRequest
    resources = [
        describe.DescribeConfigsResource(
            resource_type=resource_type, resource_name=name, configuration_keys=None
        )
        for resource_type, name in [(2, "t"), *cluster.config.resources]
    ]
    yield describe(resources=resources, include_synonyms=True), ApiKey.DESCRIBE_CONFIGS
    yield (
        messages.DescribeClientQuotasRequest(components=[], strict=False),
        ApiKey.DESCRIBE_CLIENT_QUOTAS,
    )


def produces(name: str, version: int) -> Iterator[tuple[Any, int]]:
    """Yield requests that only the journal, the connections and the metrics show."""
    yield (
        produce_request([(0, make_batch(name.encode()[:100]))], version=version, topic="t"),
        version,
    )
    # A null name of a topic, which the broker takes in this version.
    names_of_topics: Any = [None, name[:1000]]
    yield messages.DeleteTopicsRequest(version=1, topic_names=names_of_topics, timeout_ms=0), 1


WAITING = "/v1/requests/wait"
DECISIONS = "/v1/acls/decisions"
"""It needs a question and an authorizer."""


def listings(admin: Admin) -> Iterator[tuple[str, str]]:
    """Yield what each operation of the admin port without a path parameter returns."""
    for operation in OPERATIONS:
        is_listing = operation.method == "GET" and operation.path_type is None
        is_other = operation.path in {WAITING, DECISIONS}
        if not is_listing or isasyncgenfunction(operation.handler) or is_other:
            continue
        arguments = operation.read_input(
            {}, {"limit": "1000"} if "limit" in fields_of(operation) else {}, b""
        )
        result = operation.handler(admin, **arguments)
        if iscoroutinefunction(operation.handler):
            result = asyncio.run(result)
        yield operation.path, result if isinstance(result, str) else encode_result(result).decode()


def fields_of(operation: Operation) -> tuple[str, ...]:
    query_type = operation.query_type
    return () if query_type is None else query_type.__struct_fields__


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(names, names)
def test_what_was_accepted_is_listed_by_the_admin_port(name: str, client_id: str) -> None:
    quotas = "user=<default>,client-id=<default>,producer_byte_rate=1000000,request_percentage=100"
    cluster = make_cluster(1, **ALL_VERSIONS, **{"client.quotas": quotas, "audit.enable": "true"})
    cluster.create_topic("t", [(1,)], {})
    admin = admin_of(cluster)
    server = admin.server
    for request, version in [*writes(name), *produces(name, 9)]:
        client = Client(cluster, dispatcher=server.dispatcher, session=Session(principal=client_id))
        protocol = ClientProtocol(server, 1, PLAINTEXT)
        protocol.connection = client.connection
        server._protocols[protocol] = None
        if len(client_id.encode()) <= STRING_BYTES_MAX:
            client.send(request_frame(request, version, 1, client_id))
        assert client.bugs == []

    found = dict(listings(admin))

    assert {"/v1/requests", "/v1/connections", "/metrics", "/v1/groups", "/v1/quotas/live"} <= set(
        found
    )
    list(text_string_to_metric_families(found["/metrics"]))
    if client_id and len(client_id.encode()) <= STRING_BYTES_MAX:
        views = json.loads(found["/v1/requests"])
        assert {view["client_id"] for view in views} == {client_id}


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(names)
def test_what_was_accepted_is_listed_in_every_version(name: str) -> None:
    cluster = make_cluster(1, **ALL_VERSIONS)
    cluster.create_topic("t", [(1,)], {})
    for request, version in writes(name):
        client = Client(cluster)
        client.send(request_frame(request, version, 1))
        assert client.bugs == []
    if 0 < len(name.encode()) <= STRING_BYTES_MAX:
        assert {name, "g"} <= set(cluster.groups.table.group_ids())
    for request, api_key in reads(cluster):
        route = ROUTES[api_key]
        for version in range(route.version_min, route.version_max + 1):
            if api_key is ApiKey.OFFSET_FETCH and version not in range(2, 8):
                continue  # other versions name topics, or several groups
            client = Client(cluster)
            client.send(request_frame(request, version, 1))
            assert client.bugs == [], (api_key.name, version)
            assert client.close_reason is None, (api_key.name, version)
            assert client.written
