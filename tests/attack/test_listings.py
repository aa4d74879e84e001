"""What one client sends, and the broker accepts, breaks no response that others get."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.cluster.cluster import Cluster
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.request_bounds import STRING_BYTES_MAX
from tests.broker.cluster_builder import ALL_VERSIONS, make_cluster
from tests.broker.connection_driver import Client, request_frame

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
    groups = cluster.groups.group_ids()
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
        assert {name, "g"} <= set(cluster.groups.group_ids())
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
