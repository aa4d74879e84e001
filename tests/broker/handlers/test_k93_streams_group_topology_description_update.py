"""StreamsGroupTopologyDescriptionUpdate on the wire, and StreamsGroupDescribe with its result."""

from typing import Any

import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.coordinator_records import GROUP_RECORDS, decode_key, decode_value
from protocol.errors import ErrorCode
from protocol.records import read_records
from tests.broker.groups.group_cluster import GROUP, GroupCluster
from tests.broker.handlers.streams_requests import heartbeat, joined, make_cluster

_Description = messages.StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription
_Subtopology = _Description.TopologyDescriptionSubtopology
_Store = _Description.TopologyDescriptionGlobalStore

SOURCE, PROCESSOR, SINK = 1, 2, 3
AVAILABLE, NOT_STORED, NOT_REQUESTED = 3, 1, 0


def node(name: str, node_type: int, kind: Any = _Subtopology, **fields: Any) -> Any:
    defaults: dict[str, Any] = {
        "source_topics": [],
        "sink_topic": None,
        "stores": [],
        "successors": [],
    }
    values = defaults | fields
    return kind.TopologyDescriptionNode(version=0, name=name, node_type=node_type, **values)


def description(*nodes: Any) -> Any:
    """Return a description of a topology that has these nodes and a global store."""
    store = _Store(
        version=0,
        source=node("g", SOURCE, _Store, source_topics=["global"], successors=["h"]),
        processor=node("h", PROCESSOR, _Store, stores=["all"]),
    )
    part = _Subtopology(version=0, subtopology_id="0", nodes=list(nodes))
    return _Description(version=0, subtopologies=[part], global_stores=[store])


def keeping_cluster() -> GroupCluster:
    """Return a cluster that keeps descriptions, with the topic t."""
    plugin = {"group_streams_topology_description_plugin_class": "org.example.Plugin"}
    return make_cluster(**plugin)


def update(cluster: GroupCluster, described: Any = None, **fields: Any) -> Any:
    defaults: dict[str, Any] = {
        "group_id": GROUP,
        "member_id": "m",
        "topology_epoch": 0,
        "topology_description": description() if described is None else described,
    }
    return cluster.ask(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, 0, **(defaults | fields))


def describe(cluster: GroupCluster, *, asks: bool = True) -> Any:
    response = cluster.ask(
        ApiKey.STREAMS_GROUP_DESCRIBE,
        1,
        group_ids=[GROUP],
        include_authorized_operations=False,
        include_topology_description=asks,
    )
    return response.groups[0]


def stored_epochs(cluster: GroupCluster) -> list[int]:
    """Return what each record of the group's epoch says about its description."""
    topic = cluster.cluster.topics.get("__consumer_offsets")
    assert topic is not None
    found = []
    for partition in topic.partitions:
        for batch in partition.log.read(0, 1 << 20, at_least_one=True) or ():
            for record in read_records(batch):
                key = decode_key(GROUP_RECORDS, record.key or b"")
                if type(key).__name__ == "StreamsGroupMetadataKey":
                    value = decode_value(GROUP_RECORDS, key, record.value)
                    found.append(value.stored_description_topology_epoch)
    return found


def test_there_is_no_plugin_for_descriptions_by_default() -> None:
    cluster = make_cluster("4.4")
    assert not joined(cluster).topology_description_required
    response = update(cluster)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert response.error_message == (
        "The broker has no streams group topology description plugin configured."
    )
    assert describe(cluster).topology_description_status == NOT_STORED
    off = update(make_cluster("4.1"))
    assert (off.error_code, off.error_message) == (ErrorCode.UNSUPPORTED_VERSION, None)


def test_a_member_is_asked_once_and_its_description_is_returned() -> None:
    cluster = keeping_cluster()
    response = joined(cluster)
    assert response.topology_description_required
    again = heartbeat(cluster, response.member_epoch)
    assert not again.topology_description_required

    described = description(
        node("a", SOURCE, source_topics=["t", "t"], stores=["ignored"], successors=["b"]),
        node("b", PROCESSOR, stores=["s"], source_topics=["ignored"], successors=["c"]),
        node("c", SINK, sink_topic="u", stores=["ignored"]),
    )
    assert update(cluster, described).error_code == ErrorCode.NONE

    group = describe(cluster)
    assert group.topology_description_status == AVAILABLE
    (part,) = group.topology_description.subtopologies
    assert part.subtopology_id == "0"
    assert [
        (n.name, n.node_type, n.source_topics, n.sink_topic, n.stores, n.successors)
        for n in part.nodes
    ] == [
        ("a", SOURCE, ["t"], None, [], ["b"]),
        ("b", PROCESSOR, [], None, ["s"], ["c"]),
        ("c", SINK, [], "u", [], []),
    ]
    (store,) = group.topology_description.global_stores
    assert (store.source.name, store.processor.stores) == ("g", ["all"])
    unasked = describe(cluster, asks=False)
    assert unasked.topology_description_status == NOT_REQUESTED
    assert unasked.topology_description is None
    assert stored_epochs(cluster)[-3:] == [-1, -2, 0]


def test_a_client_that_does_not_know_descriptions_is_not_asked() -> None:
    cluster = keeping_cluster()
    first = joined(cluster, version=0)
    assert heartbeat(cluster, first.member_epoch).topology_description_required
    left = heartbeat(cluster, -1)
    assert not left.topology_description_required


@pytest.mark.parametrize(
    ("fields", "error_code", "message"),
    [
        ({"member_id": " "}, ErrorCode.INVALID_REQUEST, "MemberId can't be empty."),
        ({"group_id": ""}, ErrorCode.INVALID_REQUEST, "GroupId can't be empty."),
        ({"group_id": "other"}, ErrorCode.NOT_COORDINATOR, None),
        (
            {"member_id": "n"},
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"Member n is not a member of group {GROUP}.",
        ),
        (
            {"topology_epoch": 3},
            ErrorCode.INVALID_REQUEST,
            "Topology epoch 3 does not match the group's current topology epoch 0.",
        ),
        (
            {"topology_description": description(node("a", 9))},
            ErrorCode.INVALID_REQUEST,
            "Unknown topology node type: 9",
        ),
    ],
)
def test_a_description_is_refused(
    fields: dict[str, Any], error_code: ErrorCode, message: str | None
) -> None:
    cluster = keeping_cluster()
    joined(cluster)
    response = update(cluster, **fields)
    assert (response.error_code, response.error_message) == (error_code, message)
    assert describe(cluster).topology_description_status == NOT_STORED


def test_a_description_of_no_group_is_refused() -> None:
    response = update(keeping_cluster())
    assert response.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert response.error_message == f"Group {GROUP} not found."


def test_a_description_ends_with_its_group() -> None:
    cluster = keeping_cluster()
    joined(cluster)
    update(cluster)
    heartbeat(cluster, -1)
    assert describe(cluster).topology_description_status == AVAILABLE
    cluster.ask(ApiKey.DELETE_GROUPS, 2, groups_names=[GROUP])
    assert joined(cluster).topology_description_required
    assert describe(cluster).topology_description_status == NOT_STORED
