"""Topics, partitions, groups and transactional ids are found in the requests of every API."""

from typing import Any
from uuid import UUID

import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.messages import API_NAMES, schema_versions
from protocol.request_targets import RequestTargets, request_targets, targets_in_schema
from tests.broker.faults.requests import (
    GROUP,
    TOPIC,
    TOPIC_ID,
    TRANSACTIONAL_ID,
    sample_request,
)

ABOUT_PARTITIONS = {
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.DELETE_RECORDS,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.OFFSET_DELETE,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.PRODUCE,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.WRITE_TXN_MARKERS,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE,
    ApiKey.DELETE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
}
ABOUT_TOPICS = ABOUT_PARTITIONS | {
    ApiKey.METADATA,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
}
ABOUT_GROUPS = {
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.DELETE_GROUPS,
    ApiKey.OFFSET_DELETE,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_DESCRIBE,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE,
    ApiKey.DELETE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    ApiKey.STREAMS_GROUP_HEARTBEAT,
    ApiKey.STREAMS_GROUP_DESCRIBE,
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
}
ABOUT_TRANSACTIONAL_IDS = {
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.DESCRIBE_TRANSACTIONS,
}


def name_of(topic_id: UUID) -> str | None:
    return TOPIC if topic_id == TOPIC_ID else None


@pytest.mark.parametrize("api_key", API_NAMES)
def test_topics_partitions_and_groups_are_found_in_every_version(api_key: ApiKey) -> None:
    low, high = schema_versions(api_key)
    for version in range(low, high + 1):
        targets = request_targets(sample_request(api_key, version)).with_topic_names(name_of)
        assert targets.has_partition(TOPIC, None) is (api_key in ABOUT_TOPICS), version
        assert targets.has_partition(None, 0) is (api_key in ABOUT_PARTITIONS), version
        assert (GROUP in targets.groups) is (api_key in ABOUT_GROUPS), version
        is_in_transaction = TRANSACTIONAL_ID in targets.transactional_ids
        assert is_in_transaction is (api_key in ABOUT_TRANSACTIONAL_IDS), version
        assert not targets.has_partition("other", None)
        assert (targets.topics == {TOPIC}) is (api_key in ABOUT_TOPICS), version


@pytest.mark.parametrize(
    ("api_key", "version"),
    [
        (api_key, version)
        for api_key in API_NAMES
        for version in range(schema_versions(api_key)[0], schema_versions(api_key)[1] + 1)
    ],
)
def test_request_targets_are_those_of_the_schema(api_key: ApiKey, version: int) -> None:
    found = request_targets(sample_request(api_key, version))
    names = targets_in_schema(api_key, version)[0]
    assert ("topic" in names) == bool(found.partitions)
    assert ("partition" in names) == any(index is not None for _name, index in found.partitions)
    assert ("group" in names) == bool(found.groups)


def test_a_transactional_id_is_no_group() -> None:
    find = messages.FindCoordinatorRequest(version=3, key="x", key_type=1)
    assert request_targets(find) == RequestTargets(transactional_ids=frozenset({"x"}))
    find = messages.FindCoordinatorRequest(version=4, coordinator_keys=["g", "h"], key_type=0)
    assert request_targets(find) == RequestTargets(groups=frozenset({"g", "h"}))
    init = messages.InitProducerIdRequest(version=3, transactional_id="x")
    assert request_targets(init).transactional_ids == {"x"}


def test_only_resources_of_type_topic_are_topics() -> None:
    resource = messages.DescribeConfigsRequest.DescribeConfigsResource
    resources = [
        resource(version=4, resource_type=kind, resource_name=name)
        for kind, name in ((2, "orders"), (4, "1"), (16, "subscription"))
    ]
    request = messages.DescribeConfigsRequest(version=4, resources=resources)
    assert request_targets(request).topics == {"orders"}


def test_a_quota_entity_and_its_keys_are_no_targets() -> None:
    assert request_targets(sample_request(ApiKey.ALTER_CLIENT_QUOTAS, 1)) == RequestTargets()


def test_a_topic_id_without_a_name_is_shown_as_text_and_matches_no_rule() -> None:
    targets = RequestTargets(frozenset({(TOPIC_ID, 0), ("other", None)}))
    assert targets.topic_names(lambda _topic_id: None) == {str(TOPIC_ID), "other"}
    assert targets.with_topic_names(lambda _topic_id: None).topics == {"other"}
    assert targets.with_topic_names(name_of).has_partition(TOPIC, 0)


def test_a_null_id_is_no_target() -> None:
    ids: list[Any] = [None, "x"]
    request = messages.DescribeTransactionsRequest(version=0, transactional_ids=ids)
    assert request_targets(request) == RequestTargets(transactional_ids=frozenset({"x"}))
