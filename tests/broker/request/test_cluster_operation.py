"""Requests that need one operation on the cluster: every API and version, denied and allowed."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from broker.authorization.checks import (
    ALTER_CLUSTER,
    ALTER_CONFIGS_CLUSTER,
    DESCRIBE_CLUSTER,
    DESCRIBE_CONFIGS_CLUSTER,
    Check,
)
from broker.cluster.cluster import Cluster
from broker.request.cluster_operation import refuse_cluster_operation
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import allow, make_acl_cluster, noted, send
from tests.broker.cluster_builder import make_cluster, make_context

DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
TEXT = "Cluster authorization failed."
VOTER_ID = UUID(int=7)


class Case(NamedTuple):
    """What an API needs; its request in a version; a denied response's errors and messages.

    The message is None if the response has none, or none in every version.
    """

    check: Check
    request: Callable[[int], Any]
    errors: Callable[[Any], list[Any]]
    message: str | None


def needs(operation: str, api: str) -> str:
    return f"Request {api} needs {operation} permission."


def alter_replica_log_dirs(version: int) -> Any:
    directory = messages.AlterReplicaLogDirsRequest.AlterReplicaLogDir
    topic = directory.AlterReplicaLogDirTopic(version=version, name="a", partitions=[0, 9])
    dirs = [directory(version=version, path="broker-1", topics=[topic])]
    return messages.AlterReplicaLogDirsRequest(version=version, dirs=dirs)


def elect_leaders(version: int) -> Any:
    topic = messages.ElectLeadersRequest.TopicPartitions
    return messages.ElectLeadersRequest(
        version=version,
        election_type=0,
        topic_partitions=[topic(version=version, topic="a", partitions=[0, 9])],
        timeout_ms=1000,
    )


def alter_reassignments(version: int) -> Any:
    topic = messages.AlterPartitionReassignmentsRequest.ReassignableTopic
    partition = topic.ReassignablePartition(version=version, partition_index=0, replicas=[3])
    return messages.AlterPartitionReassignmentsRequest(
        version=version,
        timeout_ms=1000,
        topics=[topic(version=version, name="a", partitions=[partition])],
    )


def list_reassignments(version: int) -> Any:
    topic = messages.ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
    return messages.ListPartitionReassignmentsRequest(
        version=version, timeout_ms=1000, topics=[topic(name="a", partition_indexes=[0, 9])]
    )


def alter_quotas(version: int) -> Any:
    entry = messages.AlterClientQuotasRequest.EntryData
    return messages.AlterClientQuotasRequest(
        version=version,
        entries=[
            entry(
                version=version,
                entity=[
                    entry.EntityData(version=version, entity_type="user", entity_name=None),
                ],
                ops=[
                    entry.OpData(version=version, key="request_percentage", value=5.0, remove=False)
                ],
            )
        ],
        validate_only=False,
    )


def describe_users(version: int) -> Any:
    user = messages.DescribeUserScramCredentialsRequest.UserName
    return messages.DescribeUserScramCredentialsRequest(
        version=version, users=[user(name="alice"), user(name="bob")]
    )


def alter_users(version: int) -> Any:
    request = messages.AlterUserScramCredentialsRequest
    upsertion = request.ScramCredentialUpsertion(
        name="bob", mechanism=1, iterations=4096, salt=b"s", salted_password=b"p"
    )
    deletions = [request.ScramCredentialDeletion(name=name, mechanism=1) for name in ("eve", "al")]
    return request(version=version, deletions=deletions, upsertions=[upsertion])


def describe_quorum(version: int) -> Any:
    topic = messages.DescribeQuorumRequest.TopicData
    partition = topic.PartitionData(version=version, partition_index=0)
    return messages.DescribeQuorumRequest(
        version=version,
        topics=[topic(version=version, topic_name="__cluster_metadata", partitions=[partition])],
    )


def update_features(version: int) -> Any:
    update = messages.UpdateFeaturesRequest.FeatureUpdateKey(
        version=version, feature="group.version", max_version_level=0
    )
    if version > 0:
        update.upgrade_type = 3  # an unsafe downgrade
    return messages.UpdateFeaturesRequest(
        version=version, timeout_ms=1000, feature_updates=[update]
    )


def add_voter(version: int) -> Any:
    return messages.AddRaftVoterRequest(
        version=version,
        cluster_id=None,
        timeout_ms=1000,
        voter_id=1,
        voter_directory_id=VOTER_ID,
        listeners=[],
    )


def partitions(topics: str, entries: str) -> Callable[[Any], list[Any]]:
    """Return how to get the errors of the partitions of a response."""
    return lambda response: [
        part for topic in getattr(response, topics) for part in getattr(topic, entries)
    ]


def whole(response: Any) -> list[Any]:
    return [response]


def with_partitions(topics: str, entries: str) -> Callable[[Any], list[Any]]:
    return lambda response: [response, *partitions(topics, entries)(response)]


CASES: dict[ApiKey, Case] = {
    ApiKey.ALTER_REPLICA_LOG_DIRS: Case(
        ALTER_CLUSTER, alter_replica_log_dirs, partitions("results", "partitions"), None
    ),
    ApiKey.DESCRIBE_LOG_DIRS: Case(
        DESCRIBE_CLUSTER,
        lambda version: messages.DescribeLogDirsRequest(version=version, topics=None),
        whole,
        None,
    ),
    ApiKey.ELECT_LEADERS: Case(
        ALTER_CLUSTER,
        elect_leaders,
        partitions("replica_election_results", "partition_result"),
        needs("ALTER", "ElectLeaders"),
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Case(
        ALTER_CLUSTER,
        alter_reassignments,
        with_partitions("responses", "partitions"),
        needs("ALTER", "AlterPartitionReassignments"),
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Case(
        DESCRIBE_CLUSTER, list_reassignments, whole, needs("DESCRIBE", "ListPartitionReassignments")
    ),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Case(
        DESCRIBE_CONFIGS_CLUSTER,
        lambda version: messages.DescribeClientQuotasRequest(
            version=version, components=[], strict=False
        ),
        whole,
        None,
    ),
    ApiKey.ALTER_CLIENT_QUOTAS: Case(
        ALTER_CONFIGS_CLUSTER, alter_quotas, lambda response: response.entries, TEXT
    ),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Case(
        DESCRIBE_CLUSTER, describe_users, lambda response: [response, *response.results], None
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: Case(
        ALTER_CLUSTER,
        alter_users,
        lambda response: response.results,
        needs("ALTER", "AlterUserScramCredentials"),
    ),
    ApiKey.DESCRIBE_QUORUM: Case(DESCRIBE_CLUSTER, describe_quorum, whole, TEXT),
    ApiKey.UPDATE_FEATURES: Case(
        ALTER_CLUSTER, update_features, whole, needs("ALTER", "UpdateFeatures")
    ),
    ApiKey.UNREGISTER_BROKER: Case(
        ALTER_CLUSTER,
        lambda version: messages.UnregisterBrokerRequest(version=version, broker_id=3),
        whole,
        needs("ALTER", "UnregisterBroker"),
    ),
    ApiKey.LIST_CONFIG_RESOURCES: Case(
        DESCRIBE_CONFIGS_CLUSTER,
        lambda version: messages.ListConfigResourcesRequest(version=version, resource_types=[]),
        whole,
        None,
    ),
    ApiKey.ADD_RAFT_VOTER: Case(ALTER_CLUSTER, add_voter, whole, TEXT),
    ApiKey.REMOVE_RAFT_VOTER: Case(
        ALTER_CLUSTER,
        lambda version: messages.RemoveRaftVoterRequest(
            version=version, cluster_id=None, voter_id=1, voter_directory_id=VOTER_ID
        ),
        whole,
        TEXT,
    ),
    ApiKey.UNREGISTER_CONTROLLER: Case(
        ALTER_CLUSTER,
        lambda version: messages.UnregisterControllerRequest(version=version, controller_id=3),
        whole,
        needs("ALTER", "UnregisterController"),
    ),
}
ERRORLESS = {(ApiKey.DESCRIBE_LOG_DIRS, 1), (ApiKey.DESCRIBE_LOG_DIRS, 2)}
"""The response has no error; it is empty."""


def versions() -> Iterator[tuple[ApiKey, int]]:
    for api_key in CASES:
        route = ROUTES[api_key]
        for version in range(route.version_min, route.version_max + 1):
            yield api_key, version


def cluster_with_a(*rights: str) -> Cluster:
    cluster = make_acl_cluster(*rights)
    cluster.create_topic("a", [(1, 2)], {})
    return cluster


def error_codes(api_key: ApiKey, response: Any) -> list[int]:
    return [entry.error_code for entry in CASES[api_key].errors(response)]


def right_of(check: Check) -> str:
    return f"{check.operation.name} CLUSTER"


@pytest.mark.parametrize(("api_key", "version"), list(versions()))
def test_a_client_without_the_operation_gets_the_error_everywhere(
    api_key: ApiKey, version: int
) -> None:
    case = CASES[api_key]
    cluster = cluster_with_a("ALL TOPIC *", "ALL GROUP *", "CLUSTER_ACTION CLUSTER")
    response, denials = send(cluster, case.request(version), version)
    assert ROUTES[api_key].checks == (case.check,)
    assert denials == [f"{right_of(case.check)} kafka-cluster"]
    if (api_key, version) in ERRORLESS:
        assert response.results == []
        return
    entries = case.errors(response)
    assert {entry.error_code for entry in entries} == {DENIED}
    if case.message is not None and hasattr(entries[-1], "error_message"):
        expected = "" if api_key is ApiKey.DESCRIBE_QUORUM and version < 2 else case.message
        assert {entry.error_message or "" for entry in entries} == {expected}


@pytest.mark.parametrize(("api_key", "version"), list(versions()))
def test_the_operation_is_enough(api_key: ApiKey, version: int) -> None:
    case = CASES[api_key]
    cluster = cluster_with_a(right_of(case.check))
    response, denials = send(cluster, case.request(version), version)
    assert denials == []
    assert DENIED not in error_codes(api_key, response)


def test_nothing_changes_without_the_operation() -> None:
    cluster = cluster_with_a()
    topic = cluster.topics.get("a")
    assert topic is not None
    (partition,) = topic.partitions
    before = (partition.replicas, partition.leader_epoch, dict(cluster.features.levels))
    for api_key, case in CASES.items():
        version = ROUTES[api_key].version_max
        send(cluster, case.request(version), version)
    assert (partition.replicas, partition.leader_epoch, dict(cluster.features.levels)) == before
    assert sorted(cluster.brokers) == [1, 2, 3]
    assert cluster.alive_broker_ids() == [1, 2, 3]
    assert cluster.quotas.clients.entity_count == 0
    assert cluster.credentials.scram_users() == []
    assert not cluster.brokers[3].is_unregistered_controller

    allow(cluster, "ALTER CLUSTER", "ALTER_CONFIGS CLUSTER")
    for api_key, case in CASES.items():
        send(cluster, case.request(ROUTES[api_key].version_max), ROUTES[api_key].version_max)
    assert (partition.replicas, dict(cluster.features.levels)) != (before[0], before[2])
    assert cluster.quotas.clients.entity_count == 1
    assert 3 not in cluster.alive_broker_ids()


def test_a_denial_comes_before_the_checks_of_the_request() -> None:
    cluster = cluster_with_a()
    nothing = messages.ElectLeadersRequest(
        version=2, election_type=9, topic_partitions=[], timeout_ms=0
    )
    response, _ = send(cluster, nothing, 2)
    assert (response.error_code, response.replica_election_results) == (DENIED, [])
    everything = messages.ElectLeadersRequest(
        version=2, election_type=0, topic_partitions=None, timeout_ms=1000
    )
    response, _ = send(cluster, everything, 2)
    assert (response.error_code, response.replica_election_results) == (DENIED, [])
    late = alter_reassignments(1)
    late.timeout_ms = 0
    assert set(error_codes(ApiKey.ALTER_PARTITION_REASSIGNMENTS, send(cluster, late, 1)[0])) == {
        DENIED
    }
    wrong_cluster = add_voter(1)
    wrong_cluster.cluster_id = "another"
    assert send(cluster, wrong_cluster, 1)[0].error_code == DENIED
    unknown_type = messages.ListConfigResourcesRequest(version=1, resource_types=[99])
    assert send(cluster, unknown_type, 1)[0].error_code == DENIED


def test_denied_lists_show_nothing_of_the_cluster() -> None:
    cluster = cluster_with_a("ALL TOPIC *")
    listed, _ = send(cluster, list_reassignments(0), 0)
    (topic,) = listed.topics
    assert topic.name == "a"
    assert [(part.partition_index, part.replicas) for part in topic.partitions] == [
        (0, []),
        (9, []),
    ]
    users, _ = send(cluster, describe_users(0), 0)
    assert [user.user for user in users.results] == ["", ""]
    all_users = messages.DescribeUserScramCredentialsRequest(version=0, users=None)
    assert send(cluster, all_users, 0)[0].results == []
    quotas, _ = send(cluster, CASES[ApiKey.DESCRIBE_CLIENT_QUOTAS].request(1), 1)
    assert (quotas.entries, quotas.error_message) == (None, None)
    altered, _ = send(cluster, alter_users(0), 0)
    assert [user.user for user in altered.results] == ["al", "bob", "eve"]
    quorum, _ = send(cluster, describe_quorum(2), 2)
    assert (quorum.topics, quorum.nodes) == ([], [])


def test_the_refusal_says_which_operation_is_needed() -> None:
    context = make_context(ApiKey.UNREGISTER_BROKER, 0)
    cluster = make_acl_cluster()
    refusal = refuse_cluster_operation(context, cluster, ALTER_CLUSTER)
    assert refusal is not None
    assert (refusal.error_code, refusal.error_message) == (
        DENIED,
        "Request UnregisterBroker needs ALTER permission.",
    )
    assert noted(context) == ["ALTER CLUSTER kafka-cluster"]
    allow(cluster, "ALTER CLUSTER")
    assert refuse_cluster_operation(context, cluster, ALTER_CLUSTER) is None
    assert refuse_cluster_operation(context, make_cluster(), ALTER_CLUSTER) is None
