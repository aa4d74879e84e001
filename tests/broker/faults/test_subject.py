"""What a request asks for is found in every API, whatever its fields are called."""

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.faults.subject import Subject, subject_of
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import make_cluster
from tests.broker.faults.requests import GROUP, TOPIC, sample_request

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
}


@pytest.mark.parametrize("api_key", sorted(ROUTES))
def test_topics_partitions_and_groups_are_found_in_every_version(api_key: int) -> None:
    cluster = make_cluster()
    cluster.create_topic(TOPIC, [(1,), (2,)], {})
    route = ROUTES[api_key]
    for version in range(route.version_min, route.version_max + 1):
        subject = subject_of(sample_request(api_key, version), cluster)
        assert subject.has_partition(TOPIC, None) is (api_key in ABOUT_TOPICS), version
        assert subject.has_partition(None, 0) is (api_key in ABOUT_PARTITIONS), version
        assert (GROUP in subject.groups) is (api_key in ABOUT_GROUPS), version
        assert not subject.has_partition("other", None)


def test_a_transactional_id_is_no_group() -> None:
    cluster = make_cluster()
    asked = messages.FindCoordinatorRequest(version=3, key="x", key_type=1)
    assert subject_of(asked, cluster) == Subject(transactional_ids=frozenset({"x"}))
    init = messages.InitProducerIdRequest(version=3, transactional_id="x")
    assert subject_of(init, cluster).transactional_ids == {"x"}
