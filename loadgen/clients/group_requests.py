"""Requests to the coordinator of a consumer group, and what is in their responses."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from protocol import messages


def find_coordinator_request(group: str) -> "messages.FindCoordinatorRequest":
    """Return a FindCoordinator for a group, in the fields of all versions."""
    return messages.FindCoordinatorRequest(key=group, key_type=0, coordinator_keys=[group])


def found_coordinator(
    response: "messages.FindCoordinatorResponse",
) -> "messages.FindCoordinatorResponse | messages.FindCoordinatorResponse.Coordinator":
    """Return the part with error code, node id, host and port."""
    return response.coordinators[0] if response.coordinators else response


def offset_fetch_request(
    group: str, topic: str, topic_id: UUID, partitions: Sequence[int], *, require_stable: bool
) -> "messages.OffsetFetchRequest":
    """Return an OffsetFetch for partitions of a topic, in the fields of all versions."""
    fetch_class = messages.OffsetFetchRequest
    group_class = fetch_class.OffsetFetchRequestGroup
    return fetch_class(
        group_id=group,
        topics=[
            fetch_class.OffsetFetchRequestTopic(name=topic, partition_indexes=list(partitions))
        ],
        groups=[
            group_class(
                group_id=group,
                topics=[
                    group_class.OffsetFetchRequestTopics(
                        name=topic, topic_id=topic_id, partition_indexes=list(partitions)
                    )
                ],
            )
        ],
        require_stable=require_stable,
    )


def offsets_in(response: "messages.OffsetFetchResponse") -> dict[int, int]:
    """Return the committed offsets by partition in an OffsetFetch response; -1 without one."""
    topics = response.groups[0].topics if response.groups else response.topics
    return {
        partition.partition_index: partition.committed_offset
        for topic in topics
        for partition in topic.partitions
    }


def first_error(response: "messages.Message") -> int:
    """Return the error of the whole response, or else the first of its parts."""
    codes = [getattr(response, "error_code", 0)]
    for topic in _topics(response):
        codes += [partition.error_code for partition in topic.partitions]
    for part in (
        *(getattr(response, "groups", None) or ()),
        *(getattr(response, "coordinators", None) or ()),
    ):
        codes.append(part.error_code)
    return next((code for code in codes if code), 0)


def _topics(response: "messages.Message") -> list[Any]:
    groups = getattr(response, "groups", None)
    if groups:
        return list(groups[0].topics)
    return list(getattr(response, "topics", None) or ())
