from typing import Any

import pytest

from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.config.topic_keys import TOPIC_KEYS
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import make_acl_cluster, send
from tests.broker.cluster_builder import NOW_MS, call, make_cluster

VERSIONS = range(2, 8)
KEY_COUNT = sum(not key.is_hidden for key in TOPIC_KEYS.values())
_Topic = messages.CreateTopicsRequest.CreatableTopic


def topic(name: str, partitions: int = -1, replicas: int = -1, **rest: Any) -> Any:
    return _Topic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[
            _Topic.CreatableReplicaAssignment(partition_index=index, broker_ids=broker_ids)
            for index, broker_ids in rest.get("assignments", ())
        ],
        configs=[
            _Topic.CreatableTopicConfig(name=key, value=value)
            for key, value in rest.get("configs", ())
        ],
    )


def create(
    cluster: Cluster,
    *topics: Any,
    version: int = 7,
    validate_only: bool = False,
    timeout_ms: int = 1000,
    **rest: int,
) -> list[Any]:
    request = messages.CreateTopicsRequest(
        version=version, topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only
    )
    responses: list[Any] = call(cluster, request, version, **rest).topics
    return responses


def only(responses: list[Any]) -> Any:
    (response,) = responses
    return response


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_creates_a_topic_and_fills_all_its_fields(version: int) -> None:
    cluster = make_cluster()
    response = only(create(cluster, topic("a", 4, 2), version=version))

    created = cluster.topics.get("a")
    assert created is not None
    assert [len(part.replicas) for part in created.partitions] == [2, 2, 2, 2]
    assert (response.name, response.error_code, response.error_message) == (
        "a",
        ErrorCode.NONE,
        None,
    )
    if version >= 5:
        assert (response.num_partitions, response.replication_factor) == (4, 2)
    assert len(response.configs or ()) == (KEY_COUNT if version >= 5 else 0)
    assert response.topic_id == (created.topic_id if version >= 7 else None)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_refuses_a_topic_that_exists(version: int) -> None:
    cluster = make_cluster()
    create(cluster, topic("a"))

    response = only(create(cluster, topic("a"), version=version))

    assert response.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert response.error_message == "Topic 'a' already exists."
    if version >= 5:
        assert (response.num_partitions, response.replication_factor, response.configs) == (
            -1,
            -1,
            [],
        )


def test_counts_of_minus_one_are_the_brokers_defaults() -> None:
    cluster = make_cluster(**{"num.partitions": "5", "default.replication.factor": "3"})

    response = only(create(cluster, topic("a")))

    assert (response.num_partitions, response.replication_factor) == (5, 3)


def test_every_broker_accepts_the_request() -> None:
    cluster = make_cluster()

    for broker_id in cluster.brokers:
        response = only(create(cluster, topic(f"by-{broker_id}"), broker_id=broker_id))
        assert response.error_code == ErrorCode.NONE


def test_validate_only_returns_a_success_and_creates_nothing() -> None:
    cluster = make_cluster()

    good, bad = create(cluster, topic("a", 2, 3), topic("b", 0), validate_only=True)

    assert (good.error_code, good.num_partitions, good.replication_factor) == (0, 2, 3)
    assert good.topic_id is not None  # Kafka makes one, too
    assert bad.error_code == ErrorCode.INVALID_PARTITIONS
    assert len(cluster.topics) == 0
    # Nor does it take a turn in the round robin of leaders.
    create(cluster, topic("c", 1, 1))
    assert [part.leader_id for created in cluster.topics.all() for part in created.partitions] == [
        1
    ]


def test_each_topic_has_its_own_result_in_request_order() -> None:
    cluster = make_cluster()

    responses = create(cluster, topic("c"), topic("bad name"), topic("a"))

    assert [response.name for response in responses] == ["c", "bad name", "a"]
    assert [response.error_code for response in responses] == [
        0,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        0,
    ]


def test_a_duplicate_name_is_refused_once_and_other_topics_are_created() -> None:
    cluster = make_cluster()

    other, twice = create(cluster, topic("a"), topic("b"), topic("a", 3))

    assert (twice.name, twice.error_code) == ("a", ErrorCode.INVALID_REQUEST)
    assert twice.error_message == "Duplicate topic name."
    assert other.error_code == ErrorCode.NONE
    assert [created.name for created in cluster.topics.all()] == ["b"]


def test_a_request_for_more_than_ten_thousand_partitions_creates_nothing() -> None:
    cluster = make_cluster()

    responses = create(cluster, topic("a", 10_000, 1), topic("b", 1, 1))

    assert {response.error_code for response in responses} == {ErrorCode.POLICY_VIOLATION}
    assert len(cluster.topics) == 0


def test_the_configuration_of_a_topic_is_stored_and_returned_with_its_source() -> None:
    cluster = make_cluster(**{"log.retention.ms": "77"})

    set_here = [("cleanup.policy", "compact"), ("segment.ms", " 7 ")]
    response = only(create(cluster, topic("a", configs=set_here)))

    configs = {entry.name: (entry.value, entry.config_source) for entry in response.configs}
    assert configs["cleanup.policy"] == ("compact", 1)
    assert configs["segment.ms"] == (" 7 ", 1)
    assert configs["retention.ms"] == ("77", 4)
    assert configs["max.message.bytes"][1] == 5
    created = cluster.topics.get("a")
    assert created is not None
    assert dict(created.config.overrides) == dict(set_here)


def test_a_new_topic_has_the_defaults_that_were_set_for_the_only_broker() -> None:
    cluster = make_cluster(1)
    resource = messages.IncrementalAlterConfigsRequest.AlterConfigsResource
    setting = resource.AlterableConfig(name="message.max.bytes", config_operation=0, value="5000")
    one_broker = resource(resource_type=4, resource_name="1", configs=[setting])
    request = messages.IncrementalAlterConfigsRequest(
        version=1, resources=[one_broker], validate_only=False
    )
    assert call(cluster, request, 1).responses[0].error_code == ErrorCode.NONE

    response = only(create(cluster, topic("a")))

    (entry,) = [entry for entry in response.configs if entry.name == "max.message.bytes"]
    assert (entry.value, entry.config_source) == ("5000", 2)


def test_the_brokers_of_each_partition_can_be_chosen() -> None:
    cluster = make_cluster()

    response = only(create(cluster, topic("a", assignments=[(1, [3, 1]), (0, [2, 3])])))

    created = cluster.topics.get("a")
    assert created is not None
    assert [part.replicas for part in created.partitions] == [(2, 3), (3, 1)]
    assert [part.leader_id for part in created.partitions] == [2, 3]
    assert (response.num_partitions, response.replication_factor) == (2, 2)


def test_replicas_are_placed_on_stopped_brokers_if_too_few_are_up() -> None:
    cluster = make_cluster()
    failover.stop_broker(cluster, 2, NOW_MS)

    response = only(create(cluster, topic("a", 2, 3)))

    assert response.error_code == ErrorCode.NONE
    created = cluster.topics.get("a")
    assert created is not None
    for partition in created.partitions:
        assert sorted(partition.replicas) == [1, 2, 3]
        assert sorted(partition.isr) == [1, 3]
        assert partition.leader_id in {1, 3}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_nothing_is_created_without_time(version: int, timeout_ms: int) -> None:
    cluster = make_cluster()
    topics = (topic("a"), topic("b"), topic("b"))
    results = create(cluster, *topics, version=version, timeout_ms=timeout_ms)

    assert [(result.name, result.error_code) for result in results] == [
        ("a", ErrorCode.REQUEST_TIMED_OUT),
        ("b", ErrorCode.REQUEST_TIMED_OUT),
        ("b", ErrorCode.REQUEST_TIMED_OUT),
    ]
    assert list(cluster.topics.all()) == []


def test_two_topics_of_one_request_may_differ_in_dots_and_underscores_only() -> None:
    cluster = make_cluster(1)
    results = create(cluster, topic("a.b"), topic("a_b"))
    assert [result.error_code for result in results] == [ErrorCode.NONE] * 2
    # A name of an earlier request collides, also if this request names that topic again.
    create(cluster, topic("c.d"))
    results = create(cluster, topic("c.d"), topic("c_d"))
    assert [result.error_code for result in results] == [
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]


DENIED = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("right", ["CREATE CLUSTER", "CREATE TOPIC a"])
def test_create_on_the_cluster_or_on_the_topic_is_enough(right: str, version: int) -> None:
    cluster = make_acl_cluster(right)
    assert only(create(cluster, topic("a", 1, 1), version=version)).error_code == ErrorCode.NONE
    assert cluster.topics.get("a") is not None


@pytest.mark.parametrize("version", VERSIONS)
def test_each_topic_is_authorized_by_itself(version: int) -> None:
    cluster = make_acl_cluster("CREATE TOPIC a", "CREATE TOPIC there", "DESCRIBE TOPIC *")
    cluster.create_topic("there", [(1,)], {})
    names = ["a", "b", "there", "bad name", "d", "d", "__cluster_metadata"]
    request = messages.CreateTopicsRequest(
        version=version,
        topics=[topic(name, 1, 1) for name in names],
        timeout_ms=1000,
        validate_only=False,
    )
    response, denials = send(cluster, request, version)
    results = {result.name: result for result in response.topics}
    assert {name: result.error_code for name, result in results.items()} == {
        "a": ErrorCode.NONE,
        "b": DENIED[0],
        "there": ErrorCode.TOPIC_ALREADY_EXISTS,
        "bad name": DENIED[0],
        "d": ErrorCode.INVALID_REQUEST,
        "__cluster_metadata": ErrorCode.INVALID_REQUEST,
    }
    assert results["b"].error_message == DENIED[1]
    assert denials[:2] == ["CREATE TOPIC b", "CREATE TOPIC bad name"]
    assert [found.name for found in cluster.topics.all()] == ["there", "a"]


@pytest.mark.parametrize("version", [5, 6, 7])
@pytest.mark.parametrize("validate_only", [False, True])
def test_without_describe_configs_a_result_has_no_counts_and_no_configuration(
    version: int, *, validate_only: bool
) -> None:
    cluster = make_acl_cluster("CREATE CLUSTER", "DESCRIBE_CONFIGS TOPIC b")
    hidden, shown = create(
        cluster, topic("a", 2, 1), topic("b", 2, 1), version=version, validate_only=validate_only
    )
    assert (hidden.error_code, hidden.num_partitions, hidden.replication_factor) == (0, -1, -1)
    assert hidden.configs == []
    assert hidden.topic_config_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert (shown.num_partitions, shown.replication_factor) == (2, 1)
    assert len(shown.configs) == KEY_COUNT
    assert shown.topic_config_error_code == ErrorCode.NONE


def test_a_hidden_configuration_is_no_denial_to_note() -> None:
    request = messages.CreateTopicsRequest(
        version=7, topics=[topic("a", 1, 1)], timeout_ms=1000, validate_only=False
    )
    assert send(make_acl_cluster("CREATE TOPIC a"), request, 7)[1] == []


def test_a_request_whose_topics_are_all_denied_does_not_time_out() -> None:
    cluster = make_acl_cluster("CREATE TOPIC a")
    (denied,) = create(cluster, topic("b"), timeout_ms=0)
    assert (denied.error_code, denied.error_message) == DENIED
    results = create(cluster, topic("a"), topic("b"), timeout_ms=0)
    assert {result.error_code for result in results} == {ErrorCode.REQUEST_TIMED_OUT}


def test_denied_topics_do_not_count_against_the_limit_of_a_request() -> None:
    cluster = make_acl_cluster("CREATE TOPIC a")
    created, denied = create(cluster, topic("a", 1, 1), topic("b", 10_000, 1))
    assert (created.error_code, denied.error_code) == (ErrorCode.NONE, DENIED[0])
