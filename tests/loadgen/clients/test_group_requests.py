"""Requests to group coordinators in all versions, and their responses."""

from loadgen.clients.fetch_responses import NO_TOPIC_ID
from loadgen.clients.group_requests import (
    find_coordinator_request,
    first_error,
    found_coordinator,
    offset_fetch_request,
    offsets_in,
)
from protocol import messages

Response = messages.OffsetFetchResponse
Topic = Response.OffsetFetchResponseTopic
Partition = Topic.OffsetFetchResponsePartition
Group = Response.OffsetFetchResponseGroup
TopicOfGroup = Group.OffsetFetchResponseTopics
PartitionOfGroup = TopicOfGroup.OffsetFetchResponsePartitions


def test_a_request_has_the_fields_of_old_and_new_versions() -> None:
    request = offset_fetch_request("g", "t", NO_TOPIC_ID, [1, 2], require_stable=True)
    [topic], [group] = request.topics or [], request.groups
    [of_group] = group.topics or []
    assert topic.partition_indexes == [1, 2]
    assert of_group.partition_indexes == [1, 2]
    assert (request.group_id, group.group_id) == ("g", "g")
    assert request.require_stable
    find = find_coordinator_request("g")
    assert (find.key, find.coordinator_keys) == ("g", ["g"])


def test_offsets_are_found_in_old_and_new_versions() -> None:
    old_partitions = [
        Partition(partition_index=0, committed_offset=5),
        Partition(partition_index=1, committed_offset=-1),
    ]
    partitions = [
        PartitionOfGroup(partition_index=0, committed_offset=5),
        PartitionOfGroup(partition_index=1, committed_offset=-1),
    ]
    old = Response(topics=[Topic(partitions=old_partitions)])
    new = Response(groups=[Group(topics=[TopicOfGroup(partitions=partitions)])])
    for response in (old, new):
        assert offsets_in(response) == {0: 5, 1: -1}
        assert first_error(response) == 0


def test_the_first_error_may_be_that_of_a_part() -> None:
    assert first_error(messages.JoinGroupResponse(error_code=3)) == 3
    partitions = [Partition(partition_index=0), Partition(partition_index=1, error_code=88)]
    assert first_error(Response(topics=[Topic(partitions=partitions)])) == 88
    assert first_error(Response(groups=[Group(topics=[], error_code=16)])) == 16
    coordinator = messages.FindCoordinatorResponse.Coordinator(error_code=15)
    assert first_error(messages.FindCoordinatorResponse(coordinators=[coordinator])) == 15


def test_the_coordinator_is_the_response_before_there_were_several() -> None:
    coordinator = messages.FindCoordinatorResponse.Coordinator(node_id=2)
    new = messages.FindCoordinatorResponse(coordinators=[coordinator])
    assert found_coordinator(new) is coordinator
    old = messages.FindCoordinatorResponse(node_id=2)
    assert found_coordinator(old) is old
