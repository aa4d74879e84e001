"""A member of a streams group, which reads topic t and keeps its counts in a changelog topic."""

from typing import Any

from client.admin import Admin
from protocol import messages
from protocol.errors import ErrorCode

CHANGELOG = "s-store-changelog"
HEARTBEATS_MAX = 20

_Request = messages.StreamsGroupHeartbeatRequest
_Subtopology = _Request.Topology.Subtopology


class StreamsMember:
    """One member; it has joined, and has its tasks, when it was created.

    `source` is the topic that it reads; if there is no such topic it gets no tasks.
    """

    def __init__(self, admin: Admin, group_id: str, *, source: str = "t") -> None:
        self._admin = admin
        self._group_id = group_id
        topology = _Request.Topology(epoch=0, subtopologies=[_subtopology(source)])
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
            if response.active_tasks:
                break
            response = self._heartbeat(response.member_epoch)
        self.tasks = {task.subtopology_id: task.partitions for task in response.active_tasks or ()}

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


def _subtopology(source: str) -> Any:
    changelog = _Subtopology.TopicInfo(
        name=CHANGELOG, partitions=0, replication_factor=0, topic_configs=[]
    )
    return _Subtopology(
        subtopology_id="0",
        source_topics=[source],
        source_topic_regex=[],
        state_changelog_topics=[changelog],
        repartition_sink_topics=[],
        repartition_source_topics=[],
        copartition_groups=[],
    )
