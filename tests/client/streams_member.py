"""A member of a streams group, which reads a topic and keeps its counts in a changelog topic."""

from collections.abc import Callable
from typing import Any

from client.admin import Admin
from protocol import messages
from protocol.errors import ErrorCode

CHANGELOG = "s-store-changelog"
HEARTBEATS_MAX = 50
_MISSING_SOURCE_TOPICS = 1

_Request = messages.StreamsGroupHeartbeatRequest
_Subtopology = _Request.Topology.Subtopology


class StreamsMember:
    """One member; it has joined, and has its tasks if it can have any, when it was created.

    Without its source topic it gets none. `wait` is called before it asks for them again.
    """

    def __init__(
        self,
        admin: Admin,
        group_id: str,
        *,
        source: str = "t",
        changelog: str = CHANGELOG,
        wait: Callable[[], None] = lambda: None,
    ) -> None:
        self._admin = admin
        self._group_id = group_id
        topology = _Request.Topology(epoch=0, subtopologies=[_subtopology(source, changelog)])
        response = self._heartbeat(
            0,
            rebalance_timeout_ms=60_000,
            topology=topology,
            process_id="p",
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
        )
        for _ in range(HEARTBEATS_MAX):
            statuses = {status.status_code for status in response.status or ()}
            if response.active_tasks or _MISSING_SOURCE_TOPICS in statuses:
                break
            wait()
            response = self._heartbeat(response.member_epoch)
        self._epoch = response.member_epoch

    def stay(self) -> None:
        """Send a heartbeat."""
        self._epoch = self._heartbeat(self._epoch).member_epoch

    def leave(self) -> None:
        """Leave the group."""
        self._heartbeat(-1)

    def _heartbeat(self, epoch: int, **fields: Any) -> messages.StreamsGroupHeartbeatResponse:
        request = _Request(group_id=self._group_id, member_id="m", member_epoch=epoch, **fields)
        _, _, response = self._admin._ask_coordinator(
            self._group_id, request, lambda response: response.error_code
        )
        assert response.error_code == ErrorCode.NONE, response.error_message
        return response


def _subtopology(source: str, changelog: str) -> Any:
    store = _Subtopology.TopicInfo(
        name=changelog, partitions=0, replication_factor=0, topic_configs=[]
    )
    return _Subtopology(
        subtopology_id="0",
        source_topics=[source],
        source_topic_regex=[],
        state_changelog_topics=[store],
        repartition_sink_topics=[],
        repartition_source_topics=[],
        copartition_groups=[],
    )
