"""Rules that select requests, and parts of them, by any field."""

from typing import Any
from uuid import UUID

import pytest

from broker.cluster.coordinators import move_coordinator
from broker.faults.actions import Error
from broker.faults.decision import RuleState
from broker.faults.match import Match
from broker.faults.rule import ContradictionError, fault_rule
from broker.faults.selection import RESOURCE_PATHS, Selection, is_too_large
from broker.routes import ROUTES
from protocol import codec, messages
from protocol.api_keys import ApiKey
from protocol.codec import SCHEMA_BODY_BYTES_MAX
from protocol.json_view import error_name
from protocol.messages import API_NAMES
from protocol.request_conditions import paths_of
from protocol.request_targets import request_targets
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_context
from tests.broker.connection_driver import request_frame
from tests.broker.faults.faulty_clients import Clients
from tests.broker.faults.requests import TOPIC, TOPIC_ID, sample_request


def respond(request: Any, *rules: dict[str, Any], clients: Clients | None = None) -> Any:
    """Send a request to a cluster with these rules; return the decoded response."""
    clients = clients or Clients()
    for rule in rules:
        clients.dispatcher.faults.add(fault_rule(**rule), clients.now_ms)
    api_key, version = request.API_KEY, request.version
    clients.send(request_frame(request, version, 1))
    assert (clients.bugs, clients.closed) == ([], [None])
    (frame,) = clients.responses()
    return codec.decode_response(len(frame).to_bytes(4) + frame, ApiKey(api_key), version)


def produce(*indexes: int, version: int = 9, acks: int = -1) -> Any:
    topic_class = messages.ProduceRequest.TopicProduceData
    parts = [
        topic_class.PartitionProduceData(version=version, index=index, records=make_batch(b"x"))
        for index in indexes
    ]
    topic = topic_class(version=version, name=TOPIC, topic_id=TOPIC_ID, partition_data=parts)
    return messages.ProduceRequest(version=version, acks=acks, timeout_ms=1000, topic_data=[topic])


def produced(response: Any) -> dict[int, str]:
    (topic,) = response.responses
    return {part.index: error_name(part.error_code) for part in topic.partition_responses}


FAIL = {"api": "Produce", "error": "CORRUPT_MESSAGE"}
NAME, INDEX = "topic_data[].name", "topic_data[].partition_data[].index"


@pytest.mark.parametrize("version", [3, 9, 13])
@pytest.mark.parametrize(
    ("where", "failed"),
    [
        ({INDEX: 1}, {1}),
        ({INDEX: [0, 1]}, {0, 1}),
        ({INDEX: {"min": 1}, "acks": -1}, {1}),
        ({"acks": -1}, {0, 1}),  # of the request, not of a part
        ({"acks": 0, INDEX: 1}, set()),
        ({INDEX: 7}, set()),
        ({"topic_data[].partition_data[].records.batches[].record_count": 1}, {0, 1}),
        ({NAME: TOPIC}, {0, 1}),
        ({NAME: TOPIC, INDEX: 1}, {1}),
        ({NAME: {"matches": "[a-t]"}, INDEX: 0}, {0}),
        ({NAME: ["other", "another"], INDEX: 1}, set()),
        ({NAME: ""}, set()),
    ],
)
def test_an_error_is_for_the_partitions_that_fit(
    version: int, where: dict[str, Any], failed: set[int]
) -> None:
    clients = Clients()
    response = respond(produce(0, 1, version=version), {**FAIL, "where": where}, clients=clients)
    assert produced(response) == {
        index: "CORRUPT_MESSAGE" if index in failed else "NONE" for index in (0, 1)
    }
    ends = [partition.log.log_end_offset for partition in clients.topic.partitions]
    assert ends == [int(index not in failed) for index in (0, 1)]


def test_a_topic_id_matches_whether_or_not_there_is_such_a_topic() -> None:
    rule = {"error": "UNKNOWN_TOPIC_ID", "topic_id": str(TOPIC_ID)}
    assert set(produced(respond(produce(0, 1, version=13), rule)).values()) == {"UNKNOWN_TOPIC_ID"}
    assert set(produced(respond(produce(0, 1, version=12), rule)).values()) == {"NONE"}
    with pytest.raises(ContradictionError, match="topic_id: Heartbeat names none"):
        fault_rule(api="Heartbeat", topic_id=str(TOPIC_ID), delay_ms=0)
    with pytest.raises(ValueError, match="topic_id: 'x' is no uuid"):
        fault_rule(topic_id="x", delay_ms=0)


def test_the_name_of_a_topic_does_not_fit_its_id_after_it_was_deleted() -> None:
    clients = Clients()
    clients.cluster.delete_topic(clients.topic, clients.now_ms)
    rule = {**FAIL, "where": {NAME: TOPIC}}
    response = respond(produce(0, version=13), rule, clients=clients)
    assert produced(response) == {0: "UNKNOWN_TOPIC_ID"}


NAMES_OR_IDS = {
    ApiKey.PRODUCE: ("topic_data[].name", 3),
    ApiKey.FETCH: ("topics[].topic", 4),
    ApiKey.METADATA: ("topics[].name", 0),
    ApiKey.OFFSET_COMMIT: ("topics[].name", 2),
    ApiKey.OFFSET_FETCH: ("groups[].topics[].name", 8),
    ApiKey.TXN_OFFSET_COMMIT: ("topics[].name", 0),
    ApiKey.DELETE_TOPICS: ("topics[].name", 6),
}
"""The paths of names in whose place there may be an id, and the first version that has them."""


def topic_names(topic_id: UUID) -> str | None:
    return {TOPIC_ID: TOPIC}.get(topic_id)


def matches_sample(request: Any, **match: Any) -> bool:
    state = RuleState(1, fault_rule(delay_ms=0, **match), NOW_MS)
    context = make_context(request.API_KEY, request.version)
    targets = request_targets(request).with_topic_names(topic_names)
    return state.matches(context, lambda: targets, lambda: request, topic_names)


@pytest.mark.parametrize("api_key", NAMES_OR_IDS)
def test_a_condition_on_a_name_fits_the_requests_that_a_rule_with_the_topic_fits(
    api_key: ApiKey,
) -> None:
    path, first = NAMES_OR_IDS[api_key]
    api, last = API_NAMES[api_key], ROUTES[api_key].version_max
    for version in range(first, last + 1):
        request = sample_request(api_key, version)
        assert matches_sample(request, api=api, topic=TOPIC)
        assert matches_sample(request, api=api, where={path: TOPIC})
        assert not matches_sample(request, api=api, where={path: "other"})
    *arrays, name = path.split("[].")
    topic = request
    for array in arrays:
        (topic,) = getattr(topic, array)
    setattr(topic, name, None if api_key in {ApiKey.METADATA, ApiKey.DELETE_TOPICS} else "")
    assert matches_sample(request, api=api, where={path: TOPIC})
    topic.topic_id = UUID(int=7)  # of no topic
    assert not matches_sample(request, api=api, where={path: TOPIC})


def test_every_name_beside_an_id_is_known_above() -> None:
    found = set()
    for api_key in map(ApiKey, ROUTES):
        paths = paths_of(api_key)
        for path in paths:
            holder, _, name = path.rpartition(".")
            if f"{holder}.topic_id" in paths and name in {"name", "topic", "topic_name"}:
                found.add((api_key, path))
    forgotten = (ApiKey.FETCH, "forgotten_topics_data[].topic")
    assert found == {(key, path) for key, (path, _version) in NAMES_OR_IDS.items()} | {forgotten}


def test_one_of_several_resources_fails() -> None:
    resource = messages.DescribeConfigsRequest.DescribeConfigsResource
    request = messages.DescribeConfigsRequest(
        version=4,
        resources=[
            resource(version=4, resource_type=2, resource_name=TOPIC, configuration_keys=None),
            resource(version=4, resource_type=4, resource_name="1", configuration_keys=[]),
        ],
    )
    response = respond(request, {"error": "INVALID_CONFIG", "resource": "1"})
    assert {entry.resource_name: error_name(entry.error_code) for entry in response.results} == {
        TOPIC: "NONE",
        "1": "INVALID_CONFIG",
    }


def test_one_user_of_several_fails() -> None:
    deletion = messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion
    upsertion = messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion
    request = messages.AlterUserScramCredentialsRequest(
        version=0,
        deletions=[deletion(version=0, name="alice", mechanism=1)],
        upsertions=[
            upsertion(
                version=0,
                name=name,
                mechanism=1,
                iterations=4096,
                salt=b"s" * 8,
                salted_password=b"p" * 32,
            )
            for name in ("bob", "carol")
        ],
    )
    response = respond(request, {"error": "NOT_CONTROLLER", "resource": "bob"})
    assert {entry.user: error_name(entry.error_code) for entry in response.results} == {
        "alice": "RESOURCE_NOT_FOUND",
        "bob": "NOT_CONTROLLER",
        "carol": "NONE",
    }


@pytest.mark.parametrize("at", ["before_handling", "before_response"])
def test_entries_without_a_name_keep_their_places(at: str) -> None:
    creation = messages.CreateAclsRequest.AclCreation
    request = messages.CreateAclsRequest(
        version=3,
        creations=[
            creation(
                version=3,
                resource_type=2,
                resource_name=name,
                resource_pattern_type=3,
                principal="User:a",
                host="*",
                operation=3,
                permission_type=3,
            )
            for name in ("x", "y", "z")
        ],
    )
    clients = Clients(overrides={"authorizer.class.name": STANDARD, "super.users": ANONYMOUS})
    response = respond(
        request, {"error": "NOT_CONTROLLER", "resource": "y", "at": at}, clients=clients
    )
    assert [error_name(entry.error_code) for entry in response.results] == [
        "NONE",
        "NOT_CONTROLLER",
        "NONE",
    ]


STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ANONYMOUS = "User:ANONYMOUS"


def test_one_quota_entity_of_several_fails() -> None:
    entry_class = messages.AlterClientQuotasRequest.EntryData
    request = messages.AlterClientQuotasRequest(
        version=1,
        entries=[
            entry_class(
                version=1,
                entity=[entry_class.EntityData(version=1, entity_type="user", entity_name=name)],
                ops=[
                    entry_class.OpData(
                        version=1, key="producer_byte_rate", value=1000.0, remove=False
                    )
                ],
            )
            for name in ("alice", "bob")
        ],
        validate_only=False,
    )
    response = respond(request, {"error": "NOT_CONTROLLER", "resource": "bob"})
    assert {
        entry.entity[0].entity_name: error_name(entry.error_code) for entry in response.entries
    } == {"alice": "NONE", "bob": "NOT_CONTROLLER"}


@pytest.mark.parametrize("member", ["a", "static"])
def test_one_member_of_several_that_leave_fails(member: str) -> None:
    identity = messages.LeaveGroupRequest.MemberIdentity
    request = messages.LeaveGroupRequest(
        version=5,
        group_id="g",
        members=[
            identity(version=5, member_id="a", group_instance_id="static", reason="x"),
            identity(version=5, member_id="b", group_instance_id=None, reason="x"),
        ],
    )
    rule = {"error": "FENCED_INSTANCE_ID", "resource": member, "level": "part"}
    clients = Clients()
    move_coordinator(clients.cluster, "g", 1, clients.now_ms)
    response = respond(request, rule, clients=clients)
    assert error_name(response.error_code) == "NONE"
    assert {entry.member_id: error_name(entry.error_code) for entry in response.members} == {
        "a": "FENCED_INSTANCE_ID",
        "b": "UNKNOWN_MEMBER_ID",
    }


@pytest.mark.parametrize("by", ["topic_id", "name"])
def test_an_error_for_one_of_two_topic_ids_of_a_fetch(by: str) -> None:
    clients = Clients()
    other = clients.cluster.create_topic("other", [(1,)], {})
    fetch_topic = messages.FetchRequest.FetchTopic
    request = messages.FetchRequest(
        version=13,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1000,
        session_id=0,
        session_epoch=-1,
        topics=[
            fetch_topic(
                version=13,
                topic_id=topic_id,
                partitions=[
                    fetch_topic.FetchPartition(
                        version=13, partition=0, fetch_offset=0, partition_max_bytes=100
                    )
                ],
            )
            for topic_id in (TOPIC_ID, other.topic_id)
        ],
        forgotten_topics_data=[],
        rack_id="",
    )
    rule: dict[str, Any] = {"error": "UNKNOWN_TOPIC_ID", "topic_id": str(other.topic_id)}
    if by == "name":
        rule = {
            "api": "Fetch",
            "error": "UNKNOWN_TOPIC_ID",
            "where": {"topics[].topic": other.name, "topics[].partitions[].fetch_offset": 0},
        }
    response = respond(request, rule, clients=clients)
    assert {
        topic.topic_id: error_name(topic.partitions[0].error_code) for topic in response.responses
    } == {TOPIC_ID: "NONE", other.topic_id: "UNKNOWN_TOPIC_ID"}


@pytest.mark.parametrize("version", [7, 8, 9, 10])
@pytest.mark.parametrize(
    ("rule", "failed"),
    [
        ({"topic": TOPIC, "partition": 1}, {1}),
        ({"topic": TOPIC}, {0, 1}),
        ({"partition": 0}, {0}),
    ],
)
def test_a_partition_of_a_group_has_an_error_of_its_own(
    version: int, rule: dict[str, Any], failed: set[int]
) -> None:
    topic: dict[str, Any] = {"name": TOPIC, "partition_indexes": [0, 1]}
    if version < 8:
        topic_class = messages.OffsetFetchRequest.OffsetFetchRequestTopic
        request = messages.OffsetFetchRequest(
            version=version, group_id="g", topics=[topic_class(version=version, **topic)]
        )
    else:
        group_class = messages.OffsetFetchRequest.OffsetFetchRequestGroup
        group_topic = group_class.OffsetFetchRequestTopics
        groups = [
            group_class(
                version=version,
                group_id=name,
                member_id=None,
                member_epoch=-1,
                topics=[group_topic(version=version, topic_id=TOPIC_ID, **topic)]
                if name == "g"
                else None,
            )
            for name in ("g", "other")
        ]
        request = messages.OffsetFetchRequest(version=version, groups=groups)
    clients = Clients()
    for name in ("g", "other"):
        move_coordinator(clients.cluster, name, 1, clients.now_ms)
    fault = {"api": "OffsetFetch", "error": "UNSTABLE_OFFSET_COMMIT", **rule}
    response = respond(request, fault, clients=clients)
    if version < 8:
        assert response.error_code == 0
        (found,) = response.topics
    else:
        by_name = {group.group_id: group for group in response.groups}
        assert {name: group.error_code for name, group in by_name.items()} == {"g": 0, "other": 0}
        (found,) = by_name["g"].topics
    codes = {part.partition_index: error_name(part.error_code) for part in found.partitions}
    assert codes == {
        index: "UNSTABLE_OFFSET_COMMIT" if index in failed else "NONE" for index in (0, 1)
    }


def test_conditions_on_partitions_of_a_group_select_these() -> None:
    group_class = messages.OffsetFetchRequest.OffsetFetchRequestGroup
    topic_class = group_class.OffsetFetchRequestTopics
    request = messages.OffsetFetchRequest(
        version=9,
        groups=[
            group_class(
                version=9,
                group_id=name,
                member_id=None,
                member_epoch=-1,
                topics=[topic_class(version=9, name=TOPIC, partition_indexes=[0, 1])],
            )
            for name in ("g", "other")
        ],
    )
    clients = Clients()
    for name in ("g", "other"):
        move_coordinator(clients.cluster, name, 1, clients.now_ms)
    where = {"groups[].group_id": "other", "groups[].topics[].partition_indexes[]": 1}
    rule = {"api": "OffsetFetch", "error": "UNSTABLE_OFFSET_COMMIT", "where": where}
    response = respond(request, rule, clients=clients)
    assert {
        (group.group_id, part.partition_index): part.error_code
        for group in response.groups
        for topic in group.topics
        for part in topic.partitions
    } == {("g", 0): 0, ("g", 1): 0, ("other", 0): 0, ("other", 1): 88}


def test_one_log_dir_of_several_fails() -> None:
    dir_class = messages.AlterReplicaLogDirsRequest.AlterReplicaLogDir
    topic_class = dir_class.AlterReplicaLogDirTopic
    request = messages.AlterReplicaLogDirsRequest(
        version=2,
        dirs=[
            dir_class(
                version=2,
                path=path,
                topics=[topic_class(version=2, name=TOPIC, partitions=[index])],
            )
            for path, index in (("/a", 0), ("/b", 1))
        ],
    )
    response = respond(request, {"error": "KAFKA_STORAGE_ERROR", "resource": "/b"})
    (topic,) = response.results
    codes = {part.partition_index: error_name(part.error_code) for part in topic.partitions}
    assert codes == {0: "LOG_DIR_NOT_FOUND", 1: "KAFKA_STORAGE_ERROR"}


@pytest.mark.parametrize(("level", "top"), [(None, "NONE"), ("top", "NOT_CONTROLLER")])
def test_the_error_of_one_partition_may_be_that_of_the_request(level: str | None, top: str) -> None:
    topic_class = messages.AlterPartitionReassignmentsRequest.ReassignableTopic
    request = messages.AlterPartitionReassignmentsRequest(
        version=1,
        timeout_ms=1000,
        topics=[
            topic_class(
                version=1,
                name=TOPIC,
                partitions=[
                    topic_class.ReassignablePartition(
                        version=1, partition_index=index, replicas=[1, 2]
                    )
                    for index in (0, 1)
                ],
            )
        ],
    )
    rule = {"api": "AlterPartitionReassignments", "partition": 1, "error": "NOT_CONTROLLER"}
    response = respond(request, rule if level is None else {**rule, "level": level})
    assert error_name(response.error_code) == top
    codes = {
        part.partition_index: error_name(part.error_code)
        for topic in response.responses
        for part in topic.partitions
    }
    assert codes == ({0: "NONE", 1: "NOT_CONTROLLER"} if level is None else {})


def test_an_error_at_a_level_matches_only_requests_that_have_it() -> None:
    fetch = {"api": "Fetch", "error": "KAFKA_STORAGE_ERROR", "level": "top"}
    old = messages.FetchRequest(version=4, max_wait_ms=0, min_bytes=0, max_bytes=1, topics=[])
    clients = Clients()
    respond(old, fetch, clients=clients)  # version 4 has no error at the top
    (state,) = clients.dispatcher.faults.rules()
    assert state.match_count == 0
    with pytest.raises(ContradictionError, match="level: the response to Fetch has no error of"):
        fault_rule(**fetch, version_max=6)
    with pytest.raises(ContradictionError, match=r"level: .* Heartbeat has no error for parts"):
        fault_rule(api="Heartbeat", error="NOT_COORDINATOR", level="part")
    with pytest.raises(ContradictionError, match="level: needs error"):
        fault_rule(api="Heartbeat", delay_ms=5, level="top")


def test_a_late_error_is_after_the_work_unless_the_rule_says_when() -> None:
    for error in ("REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"):
        for at, stored in ((None, 1), ("before_response", 1), ("before_handling", 0)):
            clients = Clients()
            rule = {"api": "Produce", "error": error} | ({} if at is None else {"at": at})
            assert produced(respond(produce(0), rule, clients=clients)) == {0: error}
            assert clients.stored == stored


def test_other_apis_may_time_out_before_the_work() -> None:
    timed_out = Error("REQUEST_TIMED_OUT")
    late = {api_key for api_key in ApiKey if timed_out.stage(api_key) == "before_response"}
    assert late == {ApiKey.PRODUCE, ApiKey.WRITE_TXN_MARKERS, ApiKey.DELETE_RECORDS}
    assert Error("NOT_ENOUGH_REPLICAS").stage(ApiKey.PRODUCE) == "before_handling"


@pytest.mark.parametrize("api_key", sorted(RESOURCE_PATHS))
def test_every_path_of_a_resource_is_in_a_version_that_is_served(api_key: ApiKey) -> None:
    route = ROUTES[api_key]
    alternatives = Selection(Match(resource="x")).alternatives(api_key)
    assert len(alternatives) == len(RESOURCE_PATHS[api_key])
    for conditions in alternatives:
        assert any(
            conditions.is_in(version) for version in range(route.version_min, route.version_max + 1)
        )


def test_conditions_on_fields_combine_with_resource_and_topic_id() -> None:
    where = {"resources[].resource_type": 2}
    selection = Selection(Match(api="DescribeConfigs", resource="t", where=where))
    (conditions,) = selection.alternatives(ApiKey.DESCRIBE_CONFIGS)
    assert set(conditions.root.children["resources[]"].children) == {
        "resource_type",
        "resource_name",
    }
    assert Selection(Match(topic_id=str(UUID(int=1)))).alternatives(ApiKey.HEARTBEAT) == ()
    assert Selection(Match()).is_empty


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"where": {"acks": 1}}, "where: needs api"),
        ({"where": {}, "api": "Produce"}, "where: must be an object"),
        ({"where": {"ack": 1}, "api": "Produce"}, "where: ack: there is no ack; did you mean acks"),
        (
            {"where": {"transactional_id": "t"}, "api": "Produce", "version_max": 2},
            "version_max: the versions of Produce are 3 to 13",
        ),
        (
            {"where": {"topic_data[].topic_id": str(TOPIC_ID)}, "api": "Produce", "version_max": 9},
            "where: no such version of Produce has all fields",
        ),
        (
            {"where": {"topics[].partitions[].index": 1}, "api": "Produce"},
            r"there is no topics; did you mean topic_data\[\].partition_data\[\].index\?",
        ),
        ({"resource": "t", "api": "Produce"}, "resource: Produce names none"),
    ],
)
def test_rules_that_fit_no_request_are_refused(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fault_rule(delay_ms=0, **rule)


def test_a_request_that_is_too_large_for_its_schema_fits_no_conditions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert is_too_large(SCHEMA_BODY_BYTES_MAX + 1)
    assert not is_too_large(SCHEMA_BODY_BYTES_MAX)
    monkeypatch.setattr("broker.faults.selection.SCHEMA_BODY_BYTES_MAX", 10)
    assert produced(respond(produce(0), {**FAIL, "where": {"acks": -1}})) == {0: "NONE"}


def test_only_a_rule_with_conditions_has_the_request_decoded_by_its_schema(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoded: list[ApiKey] = []
    decode_request = codec.decode_request

    def decode(api_key: ApiKey, *arguments: Any) -> Any:
        decoded.append(api_key)
        return decode_request(api_key, *arguments)

    monkeypatch.setattr("protocol.codec.decode_request", decode)
    other = {"api": "Fetch", "where": {"max_bytes": 1}, "delay_ms": 0}
    respond(produce(0), other, {"api": "Produce", "delay_ms": 0})
    assert decoded == []
    respond(produce(0), {"api": "Produce", "where": {"acks": -1}, "delay_ms": 0})
    assert decoded == [ApiKey.PRODUCE]
