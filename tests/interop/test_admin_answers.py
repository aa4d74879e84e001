"""Answers to admin requests: Apache Kafka and our broker give the same ones, field by field."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from mock_kafka import MockKafka
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.messages import request_class, response_class
from scenarios.clients.deadline import Deadline
from tests.interop.apache_kafka import PASSWORD, USERNAME, ApacheKafka
from tests.interop.raw_client import RawClient


class Both:
    """Sends the same request to Apache Kafka and to our broker, and compares the responses."""

    def __init__(self, apache: RawClient, mock: RawClient) -> None:
        self._apache = apache
        self._mock = mock

    def ask(self, api_key: ApiKey, version: int, **fields: Any) -> Any:
        """The response of both; they are equal."""
        request = request_class(api_key)(version=version, **fields)
        apache, mock = (
            client.ask(request, response_class(api_key), api_key, version)
            for client in (self._apache, self._mock)
        )
        assert str(mock) == str(apache)
        return mock


@pytest.fixture
def both(apache_kafka: ApacheKafka, untouched_kafka: MockKafka) -> Iterator[Both]:
    servers = (apache_kafka.bootstrap_servers, untouched_kafka.bootstrap_servers)
    with RawClient(servers[0]) as apache, RawClient(servers[1]) as mock:
        yield Both(apache, mock)


# SCRAM credentials -----------------------------------------------------------------------------

_Scram = messages.AlterUserScramCredentialsRequest


def _deletion(name: str, mechanism: int = 1) -> Any:
    return _Scram.ScramCredentialDeletion(name=name, mechanism=mechanism)


def _upsertion(name: str, mechanism: int = 1, iterations: int = 4096) -> Any:
    return _Scram.ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"pw"
    )


def test_a_user_whose_credentials_are_altered_twice_is_refused(both: Both) -> None:
    names = [f"scram-{number}" for number in range(8)]
    upsertions = [_upsertion(name, mechanism=2) for name in names]
    key = ApiKey.ALTER_USER_SCRAM_CREDENTIALS
    both.ask(key, 0, deletions=[], upsertions=upsertions)
    response = both.ask(
        key,
        0,
        deletions=[_deletion(name, 2) for name in (*names[:4], "nobody")],
        upsertions=[
            _upsertion(names[0], 1),
            _upsertion(names[4], 1),
            _upsertion(names[5], 1),
            _upsertion(names[5], 2),
            _upsertion(names[6], 9),
            _upsertion(names[7], 1, 10),
            _upsertion("", 1),
        ],
    )
    refused = {result.user: result.error_code for result in response.results if result.error_code}
    assert refused == {"nobody": 91, names[0]: 92, names[5]: 92, names[6]: 33, names[7]: 93, "": 93}
    users = [
        messages.DescribeUserScramCredentialsRequest.UserName(name=name)
        for name in ("nobody", *names[4:], names[4])
    ]
    both.ask(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, users=users)


# Client quotas ---------------------------------------------------------------------------------

_Alter = messages.AlterClientQuotasRequest.EntryData
_RATE = "producer_byte_rate"
_EXACT, _ANY = 0, 2


def _alteration(entity: dict[str, str | None], *changes: tuple[str, float | None]) -> Any:
    return _Alter(
        entity=[_Alter.EntityData(entity_type=kind, entity_name=n) for kind, n in entity.items()],
        ops=[
            _Alter.OpData(key=key, value=value or 0.0, remove=value is None)
            for key, value in changes
        ],
    )


def _alter_quotas(both: Both, *alterations: Any) -> Any:
    return both.ask(ApiKey.ALTER_CLIENT_QUOTAS, 1, entries=list(alterations), validate_only=False)


def _describe_quotas(both: Both, *components: tuple[str, int, str | None]) -> Any:
    component = messages.DescribeClientQuotasRequest.ComponentData
    return both.ask(
        ApiKey.DESCRIBE_CLIENT_QUOTAS,
        1,
        components=[
            component(entity_type=kind, match_type=match_type, match=name)
            for kind, match_type, name in components
        ],
        strict=False,
    )


def _described_soon(both: Both, *components: tuple[str, int, str | None]) -> None:
    deadline = Deadline()
    while True:
        try:
            _describe_quotas(both, *components)
        except AssertionError as error:
            if not deadline.holds(str(error)):
                raise
        else:
            return


def test_quotas_are_altered_and_described_in_kafkas_order(both: Both) -> None:
    keys = ("request_percentage", "consumer_byte_rate", "controller_mutation_rate", _RATE)
    changes = [(key, 1e9) for key in keys]
    for first in (0, 1, 4, 11, 20):
        entities: list[dict[str, str | None]] = [
            {"user": f"order-{number}", "client-id": None if number % 3 else "app"}
            for number in range(first, first + 9)
        ]
        response = _alter_quotas(both, *(_alteration(entity, *changes) for entity in entities))
        assert [part.entity_type for part in response.entries[0].entity] == ["client-id", "user"]
        assert {entry.error_code for entry in response.entries} == {0}
        # The broker of Apache Kafka follows its controller.
        _described_soon(both, ("client-id", _ANY, None))
        _described_soon(both, ("user", _EXACT, f"order-{first}"))


def test_quotas_are_refused_in_kafkas_words(both: Both) -> None:
    key = ("request_percentage", 10.0)
    _alter_quotas(
        both,
        _alteration({}, key),
        _alteration({"user": ""}, key),
        _alteration({"group": "a", "user": "a"}, key),
        _alteration({"ip": "1.1.1.1", "user": "a"}, key),
        _alteration({"ip": "1.1.1.1.1"}, ("connection_creation_rate", 1.0)),
        _alteration({"ip": "1.1.1.2"}, key),
        _alteration({"ip": "1.1.1.3"}, ("connection_creation_rate", 2.0**31)),
        _alteration({"user": "a"}, ("connection_creation_rate", 1.0)),
        _alteration({"user": "b"}, ("nonsense", 1.0)),
        _alteration({"user": "c"}, (_RATE, 0.0), ("nonsense", 1.0)),
        _alteration({"user": "d"}, (_RATE, -1.0)),
        _alteration({"user": "e"}, (_RATE, 1.5)),
        _alteration({"user": "f"}, (_RATE, 1e19)),
        _alteration({"user": "g"}, key, key),
        _alteration({"user": None, "client-id": "h"}, key),
        _alteration({"user": None, "client-id": "h"}, (_RATE, 1e9)),
        _alteration({"user": "i"}, ("nonsense", None)),
    )
    _alter_quotas(both)


@pytest.mark.parametrize(
    "component",
    [
        ("", 0, "a"),
        ("group", 0, "a"),
        ("user", 0, None),
        ("user", 1, "a"),
        ("user", 2, "a"),
        ("user", 3, None),
    ],
)
def test_a_filter_of_quotas_is_refused_in_kafkas_words(
    both: Both, component: tuple[str, int, str | None]
) -> None:
    assert _describe_quotas(both, component).error_code != 0


def test_a_filter_of_addresses_and_users_is_refused_in_kafkas_words(both: Both) -> None:
    assert _describe_quotas(both, ("ip", 2, None), ("user", 2, None)).error_code == 42
    assert _describe_quotas(both, ("user", 2, None), ("user", 2, None)).error_code == 42


# ACLs ------------------------------------------------------------------------------------------


def _creation(codes: dict[str, int]) -> Any:
    creation = {"resource_type": 2, "resource_pattern_type": 3, "operation": 3}
    return messages.CreateAclsRequest.AclCreation(
        resource_name="t",
        principal="User:a",
        host="*",
        **{**creation, "permission_type": 3, **codes},
    )


def _acl_filter(codes: dict[str, int]) -> dict[str, Any]:
    names = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    types = {"resource_type_filter": 1, "pattern_type_filter": 1}
    return {**names, **types, "operation": 1, "permission_type": 1, **codes}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_acls_are_refused_without_an_authorizer(both: Both, version: int) -> None:
    for codes in ({}, {"operation": 33}, {"permission_type": 1}):
        acl_filter = _acl_filter(codes)
        both.ask(ApiKey.DESCRIBE_ACLS, version, **acl_filter)
        filters = [messages.DeleteAclsRequest.DeleteAclsFilter(**acl_filter)] * 2
        both.ask(ApiKey.DELETE_ACLS, version, filters=filters)
        both.ask(ApiKey.CREATE_ACLS, version, creations=[_creation(codes)] * 2)


@pytest.mark.parametrize("field", ["operation", "permission_type"])
def test_acls_of_an_unknown_kind_close_the_connection(servers: str, field: str) -> None:
    acl_filter = _acl_filter({field: 0})
    filters = [messages.DeleteAclsRequest.DeleteAclsFilter(**acl_filter)]
    for request, api_key in (
        (messages.DescribeAclsRequest(version=3, **acl_filter), ApiKey.DESCRIBE_ACLS),
        (messages.DeleteAclsRequest(version=3, filters=filters), ApiKey.DELETE_ACLS),
        (
            messages.CreateAclsRequest(version=3, creations=[_creation({field: 0})]),
            ApiKey.CREATE_ACLS,
        ),
    ):
        with RawClient(servers) as client:
            client.send(request, api_key, 3)
            assert client.is_closed_by_peer()


# Timeouts --------------------------------------------------------------------------------------

_TIMED_OUT = 7


def _new_topic(name: str, partition_count: int = 1) -> Any:
    return messages.CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=partition_count,
        replication_factor=1,
        assignments=[],
        configs=[],
    )


def _create_topics(both: Both, *names: str, timeout_ms: int, validate_only: bool = False) -> Any:
    return both.ask(
        ApiKey.CREATE_TOPICS,
        4,
        topics=[_new_topic(name) for name in names],
        timeout_ms=timeout_ms,
        validate_only=validate_only,
    ).topics


@pytest.fixture
def timed_topic(both: Both, topic: str) -> str:
    """A topic with one partition, on both clusters."""
    (created,) = _create_topics(both, topic, timeout_ms=20_000)
    assert created.error_code == 0
    return topic


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_topics_are_not_created_without_time(both: Both, topic: str, timeout_ms: int) -> None:
    other = f"{topic}-other"
    results = _create_topics(both, topic, other, other, timeout_ms=timeout_ms)
    assert [result.error_code for result in results] == [_TIMED_OUT] * 3
    _create_topics(both, "bad name", timeout_ms=timeout_ms)
    _create_topics(both, topic, timeout_ms=timeout_ms, validate_only=True)
    (twice,) = _create_topics(both, topic, topic, timeout_ms=timeout_ms)
    assert twice.error_code == 42
    _create_topics(both, timeout_ms=timeout_ms)
    # Nothing is left behind: the name is free.
    (created,) = _create_topics(both, topic, timeout_ms=20_000)
    assert created.error_code == 0


def test_partitions_are_not_added_without_time(both: Both, timed_topic: str) -> None:
    def grow(*names: str, timeout_ms: int, validate_only: bool = False) -> list[int]:
        response = both.ask(
            ApiKey.CREATE_PARTITIONS,
            2,
            topics=[
                messages.CreatePartitionsRequest.CreatePartitionsTopic(
                    name=name, count=2, assignments=None
                )
                for name in names
            ],
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )
        return [result.error_code for result in response.results]

    assert grow(timed_topic, "missing", timeout_ms=0) == [_TIMED_OUT] * 2
    assert grow(timed_topic, timeout_ms=0, validate_only=True) == [_TIMED_OUT]
    assert grow(timed_topic, timed_topic, timeout_ms=0) == [42]
    assert grow(timeout_ms=0) == []
    assert grow(timed_topic, timeout_ms=20_000) == [0]


def test_topics_are_not_deleted_without_time(both: Both, timed_topic: str) -> None:
    def delete(*names: str, timeout_ms: int) -> list[int]:
        response = both.ask(ApiKey.DELETE_TOPICS, 4, topic_names=list(names), timeout_ms=timeout_ms)
        return [result.error_code for result in response.responses]

    assert delete(timed_topic, "missing", timeout_ms=0) == [_TIMED_OUT] * 2
    assert delete(timed_topic, timed_topic, timeout_ms=0) == [42]
    assert delete(timeout_ms=0) == []
    assert delete(timed_topic, timeout_ms=20_000) == [0]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_leaders_are_not_elected_without_time(both: Both, timed_topic: str, version: int) -> None:
    partitions = messages.ElectLeadersRequest.TopicPartitions
    named = [partitions(topic=timed_topic, partitions=[0])]
    for requested, timeout_ms in ((None, 0), ([], 0), ([], 20_000), (named, 0), (named, 20_000)):
        both.ask(
            ApiKey.ELECT_LEADERS,
            version,
            election_type=0,
            topic_partitions=requested,
            timeout_ms=timeout_ms,
        )


@pytest.mark.parametrize("version", [0, 1])
def test_partitions_are_not_reassigned_without_time(
    both: Both, timed_topic: str, version: int
) -> None:
    reassignable = messages.AlterPartitionReassignmentsRequest.ReassignableTopic
    partition = reassignable.ReassignablePartition(partition_index=0, replicas=[1])
    for topics in ([], [reassignable(name=timed_topic, partitions=[partition])]):
        for timeout_ms in (0, 20_000):
            both.ask(
                ApiKey.ALTER_PARTITION_REASSIGNMENTS,
                version,
                topics=topics,
                allow_replication_factor_change=True,
                timeout_ms=timeout_ms,
            )


@pytest.mark.parametrize("version", [5, 6])
def test_the_deletion_of_missing_topics_has_kafkas_errors(
    both: Both, topic: str, version: int
) -> None:
    if version < 6:
        both.ask(ApiKey.DELETE_TOPICS, version, topic_names=[topic], timeout_ms=20_000)
        return
    state = messages.DeleteTopicsRequest.DeleteTopicState
    for requested in (
        state(name=topic, topic_id=UUID(int=0)),
        state(name=None, topic_id=UUID(int=0)),
        state(name=None, topic_id=UUID(int=7)),
        state(name=topic, topic_id=UUID(int=7)),
    ):
        both.ask(ApiKey.DELETE_TOPICS, version, topics=[requested], timeout_ms=20_000)


def test_partitions_are_refused_in_kafkas_words(both: Both, timed_topic: str) -> None:
    requested = messages.CreatePartitionsRequest.CreatePartitionsTopic
    assigned = requested.CreatePartitionsAssignment

    def grow(name: str, count: int, *assignments: list[int]) -> int:
        topics = [
            requested(
                name=name,
                count=count,
                assignments=[assigned(broker_ids=ids) for ids in assignments] or None,
            )
        ]
        response = both.ask(
            ApiKey.CREATE_PARTITIONS, 3, topics=topics, timeout_ms=20_000, validate_only=False
        )
        error_code: int = response.results[0].error_code
        return error_code

    assert grow("missing", 2) == 3
    assert grow(timed_topic, 1) == grow(timed_topic, 0) == grow(timed_topic, -1) == 37
    assert grow(timed_topic, 2, [9]) == 39
    assert grow(timed_topic, 2, [1], [1]) == 39
    assert grow(timed_topic, 3, [1]) == 39
    assert grow(timed_topic, 2, [1, 1]) == 39


def test_reassignments_are_refused_in_kafkas_words(both: Both, timed_topic: str) -> None:
    reassignable = messages.AlterPartitionReassignmentsRequest.ReassignableTopic
    partition = reassignable.ReassignablePartition

    def move(name: str, index: int, replicas: list[int] | None) -> int:
        partitions = [partition(partition_index=index, replicas=replicas)]
        response = both.ask(
            ApiKey.ALTER_PARTITION_REASSIGNMENTS,
            1,
            topics=[reassignable(name=name, partitions=partitions)],
            allow_replication_factor_change=True,
            timeout_ms=20_000,
        )
        error_code: int = response.responses[0].partitions[0].error_code
        return error_code

    assert move("missing", 0, [1]) == move(timed_topic, 5, [1]) == 3
    assert move("missing", 0, None) == move(timed_topic, 5, None) == 3
    assert move(timed_topic, 0, None) == 85
    assert move(timed_topic, 0, [9]) == move(timed_topic, 0, []) == 39
    assert move(timed_topic, 0, [1, 1]) == 39


# Controllers and brokers -----------------------------------------------------------------------

_Quorum = messages.DescribeQuorumRequest.TopicData


def _quorum_topics(*partitions: tuple[str, list[int]]) -> list[Any]:
    return [
        _Quorum(
            topic_name=name,
            partitions=[_Quorum.PartitionData(partition_index=index) for index in indexes],
        )
        for name, indexes in partitions
    ]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_only_the_metadata_partition_has_a_quorum(both: Both, version: int) -> None:
    for topics in (
        [],
        _quorum_topics(("__cluster_metadata", [1])),
        _quorum_topics(("__cluster_metadata", [0, 1])),
        _quorum_topics(("other", [0]), ("__cluster_metadata", [0])),
    ):
        both.ask(ApiKey.DESCRIBE_QUORUM, version, topics=topics)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_quorum_has_the_controller_as_leader_and_voter(servers: str, version: int) -> None:
    request = messages.DescribeQuorumRequest(
        version=version, topics=_quorum_topics(("__cluster_metadata", [0]))
    )
    with RawClient(servers) as client:
        response = client.ask(
            request, messages.DescribeQuorumResponse, ApiKey.DESCRIBE_QUORUM, version
        )
    ((partition,),) = (topic.partitions for topic in response.topics)
    assert (response.error_code, partition.error_code) == (0, 0)
    assert (partition.leader_id, partition.leader_epoch >= 1) == (1, True)
    (voter,) = partition.current_voters
    assert voter.replica_id == 1
    assert voter.log_end_offset >= partition.high_watermark > 0
    assert partition.observers == []
    if version >= 1:
        assert voter.last_fetch_timestamp == voter.last_caught_up_timestamp > 1_700_000_000_000
    if version >= 2:
        assert voter.replica_directory_id is None
        ((listener,),) = (node.listeners for node in response.nodes)
        assert (listener.name, listener.port > 0) == ("CONTROLLER", True)


def test_an_unknown_broker_cannot_be_unregistered(both: Both) -> None:
    for broker_id in (-1, 7):
        assert both.ask(ApiKey.UNREGISTER_BROKER, 0, broker_id=broker_id).error_code == 102


@pytest.mark.parametrize("voter_id", [-1, 1, 9])
@pytest.mark.parametrize("directory_id", [UUID(int=0), UUID(int=7)])
def test_voters_of_a_static_quorum_cannot_be_changed(
    both: Both, voter_id: int, directory_id: UUID
) -> None:
    voter = {"cluster_id": None, "voter_id": voter_id, "voter_directory_id": directory_id}
    both.ask(ApiKey.REMOVE_RAFT_VOTER, 0, **voter)
    listener = messages.AddRaftVoterRequest.Listener
    for names in ([], ["other"], ["a", "b", "c"], ["controller"], ["other", "CONTROLLER"]):
        both.ask(
            ApiKey.ADD_RAFT_VOTER,
            0,
            timeout_ms=2_000,
            listeners=[listener(name=name, host="localhost", port=9) for name in names],
            **voter,
        )


def test_a_replica_can_only_move_to_the_directory_where_it_is(
    servers: str, timed_topic: str
) -> None:
    directory = messages.AlterReplicaLogDirsRequest.AlterReplicaLogDir
    with RawClient(servers) as client:

        def ask(api_key: ApiKey, version: int, **fields: Any) -> Any:
            request = request_class(api_key)(version=version, **fields)
            return client.ask(request, response_class(api_key), api_key, version)

        (described,) = ask(ApiKey.DESCRIBE_LOG_DIRS, 4, topics=None).results

        def move(path: str, name: str, index: int) -> int:
            topic = directory.AlterReplicaLogDirTopic(name=name, partitions=[index])
            dirs = [directory(path=path, topics=[topic])]
            response = ask(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, dirs=dirs)
            ((partition,),) = (result.partitions for result in response.results)
            error_code: int = partition.error_code
            return error_code

        deadline = Deadline()
        while move(described.log_dir, timed_topic, 0) and deadline.holds("the partition"):
            pass
        assert move(described.log_dir, timed_topic, 1) == 3
        assert move(described.log_dir, "missing", 0) == 3
        assert move(described.log_dir + "/", timed_topic, 0) == 57
        assert move("", timed_topic, 0) == 57
        assert move("", "x" * 249, 0) == 17


# Delegation tokens -----------------------------------------------------------------------------


def _ask_for_tokens(both: Both) -> set[int]:
    """The error codes of all requests for tokens in all versions."""
    renewer = messages.CreateDelegationTokenRequest.CreatableRenewers
    error_codes = set()
    for version in (1, 2, 3):
        renewers = [renewer(principal_type="User", principal_name="bob")]
        fields: dict[str, Any] = {"renewers": renewers, "max_lifetime_ms": -1}
        if version >= 3:
            fields |= {"owner_principal_type": None, "owner_principal_name": None}
        created = both.ask(ApiKey.CREATE_DELEGATION_TOKEN, version, **fields)
        described = both.ask(ApiKey.DESCRIBE_DELEGATION_TOKEN, version, owners=None)
        error_codes |= {created.error_code, described.error_code}
    for version in (1, 2):
        renewed = both.ask(ApiKey.RENEW_DELEGATION_TOKEN, version, hmac=b"x", renew_period_ms=1)
        expired = both.ask(
            ApiKey.EXPIRE_DELEGATION_TOKEN, version, hmac=b"x", expiry_time_period_ms=1
        )
        error_codes |= {renewed.error_code, expired.error_code}
    return error_codes


def test_tokens_are_not_allowed_on_a_plaintext_listener(both: Both) -> None:
    assert _ask_for_tokens(both) == {64}


def test_tokens_are_disabled_without_a_secret_key(apache_kafka: ApacheKafka) -> None:
    config = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.users": f"{USERNAME}:{PASSWORD}",
        "sasl.enabled.mechanisms": "PLAIN",
    }
    with (
        MockKafka(config=config) as kafka,
        RawClient(apache_kafka.sasl_servers) as apache,
        RawClient(kafka.bootstrap_servers) as mock,
    ):
        for client in (apache, mock):
            _log_in(client)
        both = Both(apache, mock)
        assert _ask_for_tokens(both) == {61}
        renewer = messages.CreateDelegationTokenRequest.CreatableRenewers
        group = [renewer(principal_type="Group", principal_name="bob")]
        response = both.ask(ApiKey.CREATE_DELEGATION_TOKEN, 2, renewers=group, max_lifetime_ms=-1)
        assert response.error_code == 67


def _log_in(client: RawClient) -> None:
    handshake = messages.SaslHandshakeRequest(version=1, mechanism="PLAIN")
    client.ask(handshake, messages.SaslHandshakeResponse, ApiKey.SASL_HANDSHAKE, 1)
    token = f"\0{USERNAME}\0{PASSWORD}".encode()
    request = messages.SaslAuthenticateRequest(version=1, auth_bytes=token)
    response = client.ask(request, messages.SaslAuthenticateResponse, ApiKey.SASL_AUTHENTICATE, 1)
    assert response.error_code == 0
