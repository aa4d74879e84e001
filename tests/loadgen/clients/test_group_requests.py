"""Requests to group coordinators in all versions, and their responses."""

from types import SimpleNamespace

from loadgen.clients.fetch_responses import NO_TOPIC_ID
from loadgen.clients.group_requests import (
    find_coordinator_request,
    first_error,
    found_coordinator,
    offset_fetch_request,
    offsets_in,
)


def topics(*partitions: tuple[int, int, int]) -> list[SimpleNamespace]:
    found = [
        SimpleNamespace(partition_index=index, committed_offset=offset, error_code=error_code)
        for index, offset, error_code in partitions
    ]
    return [SimpleNamespace(partitions=found)]


def test_a_request_has_the_fields_of_old_and_new_versions() -> None:
    request = offset_fetch_request("g", "t", NO_TOPIC_ID, [1, 2], require_stable=True)
    assert request.topics[0].partition_indexes == [1, 2]
    assert request.groups[0].topics[0].partition_indexes == [1, 2]
    assert (request.group_id, request.groups[0].group_id) == ("g", "g")
    assert request.require_stable
    find = find_coordinator_request("g")
    assert (find.key, find.coordinator_keys) == ("g", ["g"])


def test_offsets_are_found_in_old_and_new_versions() -> None:
    old = SimpleNamespace(topics=topics((0, 5, 0), (1, -1, 0)), groups=[], error_code=0)
    group = SimpleNamespace(topics=old.topics, error_code=0)
    new = SimpleNamespace(topics=[], groups=[group])
    for response in (old, new):
        assert offsets_in(response) == {0: 5, 1: -1}
        assert first_error(response) == 0


def test_the_first_error_may_be_that_of_a_part() -> None:
    assert first_error(SimpleNamespace(error_code=3)) == 3
    assert first_error(SimpleNamespace(topics=topics((0, 5, 0), (1, 5, 88)))) == 88
    group = SimpleNamespace(topics=[], error_code=16)
    assert first_error(SimpleNamespace(groups=[group])) == 16
    coordinator = SimpleNamespace(error_code=15)
    assert first_error(SimpleNamespace(coordinators=[coordinator])) == 15


def test_the_coordinator_is_the_response_before_there_were_several() -> None:
    coordinator = SimpleNamespace(node_id=2)
    assert found_coordinator(SimpleNamespace(coordinators=[coordinator])) is coordinator
    old = SimpleNamespace(coordinators=None, node_id=2)
    assert found_coordinator(old) is old
