"""Patches of responses: which are valid, and what they change."""

from typing import Any

import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.response_patch import apply_patch, check_patch


def changed(message: Any, version: int, overlay: dict[str, Any]) -> Any:
    """Return the patched message as a client decodes it."""
    check_patch(ApiKey(message.API_KEY), overlay)
    apply_patch(message, version, overlay)
    return type(message).decode(bytes(message.encode(version=version)), version=version)


def coordinators(*keys: str) -> Any:
    entry = messages.FindCoordinatorResponse.Coordinator
    return messages.FindCoordinatorResponse(
        version=4,
        coordinators=[
            entry(version=4, key=key, node_id=1, host="h", port=9092, error_code=0) for key in keys
        ],
    )


def test_an_object_patches_every_entry_and_leaves_the_rest() -> None:
    overlay = {"throttle_time_ms": 5, "coordinators": {"node_id": 7, "error_code": "NONE"}}
    response = changed(coordinators("a", "b"), 4, overlay)
    assert response.throttle_time_ms == 5
    assert [(e.key, e.node_id, e.port) for e in response.coordinators] == [
        ("a", 7, 9092),
        ("b", 7, 9092),
    ]


def test_a_list_replaces_an_array_with_defaults_for_missing_fields() -> None:
    entries = [{"key": "x", "error_code": "NOT_COORDINATOR"}, {"key": "y", "host": "h"}]
    response = changed(coordinators("a"), 4, {"coordinators": entries})
    actual = [(e.key, e.node_id, e.host, e.error_code) for e in response.coordinators]
    assert actual == [("x", 0, "", ErrorCode.NOT_COORDINATOR), ("y", 0, "h", 0)]


def test_fields_that_the_version_lacks_are_ignored() -> None:
    response = messages.FindCoordinatorResponse(
        version=0, error_code=0, node_id=1, host="h", port=1
    )
    result = changed(
        response, 0, {"coordinators": {"node_id": 7}, "node_id": 3, "error_message": "m"}
    )
    assert (result.node_id, result.host) == (3, "h")


def test_nested_structs_in_lists_are_patched() -> None:
    topic = {"name": "t", "partitions": [{"leader_id": 3, "isr_nodes": [3, 4]}, {}]}
    overlay = {"topics": [topic], "cluster_id": None, "brokers": []}
    response = messages.MetadataResponse(version=9, brokers=[], topics=[], cluster_id="c")
    result = changed(response, 9, overlay)
    partitions = [
        (partition.leader_id, partition.isr_nodes) for partition in result.topics[0].partitions
    ]
    assert (result.cluster_id, partitions) == (None, [(3, [3, 4]), (0, [])])


def test_bytes_are_text_or_base64_and_uuids_are_text() -> None:
    response = messages.SyncGroupResponse(version=3, error_code=0, assignment=b"")
    assert changed(response, 3, {"assignment": {"text": "ä"}}).assignment == "ä".encode()
    assert changed(response, 3, {"assignment": {"base64": "AP8="}}).assignment == b"\x00\xff"
    text = "00000000-0000-0000-0000-00000000002a"
    metadata = messages.MetadataResponse(version=12, brokers=[], topics=[])
    result = changed(metadata, 12, {"topics": [{"name": "t", "topic_id": text}]})
    assert str(result.topics[0].topic_id) == text


def test_a_single_struct_is_changed_or_created() -> None:
    overlay = {"responses": {"partitions": {"current_leader": {"leader_id": 4}}}}
    response = messages.FetchResponse(
        version=12,
        responses=[
            messages.FetchResponse.FetchableTopicResponse(
                version=12,
                topic="t",
                partitions=[messages.FetchResponse.FetchableTopicResponse.PartitionData()],
            )
        ],
    )
    (partition,) = changed(response, 12, overlay).responses[0].partitions
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (4, -1)


@pytest.mark.parametrize(
    ("api_key", "overlay", "problem"),
    [
        (ApiKey.FIND_COORDINATOR, [], "must be an object"),
        (
            ApiKey.FIND_COORDINATOR,
            {"coordinators": {"nod_id": 1}},
            "coordinators.nod_id: there is no such field; did you mean node_id",
        ),
        (
            ApiKey.HEARTBEAT,
            {"zzz": 1},
            "zzz: there is no such field; it has throttle_time_ms, error",
        ),
        (ApiKey.HEARTBEAT, {"error_code": "NOT_COORDINATR"}, "there is no NOT_COORDINATR; did you"),
        (ApiKey.HEARTBEAT, {"error_code": "ß"}, "error_code: there is no ß"),
        (ApiKey.HEARTBEAT, {"error_code": 1 << 15}, "error_code: 32768 doesn't fit into int16"),
        (ApiKey.HEARTBEAT, {"error_code": True}, "error_code: must be of type int16, not True"),
        (ApiKey.HEARTBEAT, {"error_code": None}, "error_code: can't be null"),
        (ApiKey.METADATA, {"topics": 3}, "topics: must be a list, or an object for each, not 3"),
        (ApiKey.METADATA, {"topics": [3]}, r"topics\[0\]: must be an object, not 3"),
        (ApiKey.METADATA, {"topics": [{"name": 3}]}, r"topics\[0\].name: must be of type string"),
        (ApiKey.METADATA, {"cluster_id": "x" * 40_000}, "cluster_id: must be of type string"),
        (ApiKey.METADATA, {"topics": {"topic_id": "x"}}, "topics.topic_id: 'x' is no uuid"),
        (
            ApiKey.METADATA,
            {"topics": {"partitions": {"isr_nodes": ["a"]}}},
            r"topics.partitions.isr_nodes\[0\]: must be of type int32, not 'a'",
        ),
        (
            ApiKey.METADATA,
            {"topics": {"partitions": {"isr_nodes": 1}}},
            "isr_nodes: must be a list,",
        ),
        (ApiKey.SYNC_GROUP, {"assignment": "x"}, "assignment: must be of type bytes, not 'x'"),
        (ApiKey.SYNC_GROUP, {"assignment": {"base64": "*"}}, "assignment: .* is no base64"),
        (ApiKey.SYNC_GROUP, {"assignment": {"hex": "00"}}, "assignment: must be .*base64"),
        (
            ApiKey.FETCH,
            {"responses": {"partitions": {"current_leader": 3}}},
            "responses.partitions.current_leader: must be an object, not 3",
        ),
    ],
)
def test_an_invalid_value_is_named_in_the_error(
    api_key: ApiKey, overlay: Any, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        check_patch(api_key, overlay)


def test_a_struct_that_a_new_entry_leaves_out_has_the_defaults() -> None:
    overlay = {"responses": [{"partitions": [{"partition_index": 3}]}]}
    response = changed(messages.ShareFetchResponse(version=1), 1, overlay)
    (partition,) = response.responses[0].partitions
    assert (partition.partition_index, partition.current_leader.leader_epoch) == (3, 0)


@pytest.mark.parametrize("port", [0, 65535])
def test_a_port_is_an_unsigned_integer(port: int) -> None:
    def overlay(port: int) -> dict[str, Any]:
        return {"groups": [{"members": [{"user_endpoint": {"host": "h", "port": port}}]}]}

    response = changed(messages.StreamsGroupDescribeResponse(version=0), 0, overlay(port))
    assert response.groups[0].members[0].user_endpoint.port == port
    with pytest.raises(ValueError, match=r"port: -?\d+ doesn't fit into uint16"):
        check_patch(ApiKey.STREAMS_GROUP_DESCRIBE, overlay(port + 1 if port else -1))
