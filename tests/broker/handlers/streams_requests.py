"""Requests of members of streams groups, for the tests of their handlers."""

from typing import Any

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.groups.group_cluster import GROUP, GroupCluster

Topology = messages.StreamsGroupHeartbeatRequest.Topology
Subtopology = Topology.Subtopology
TopicInfo = Subtopology.TopicInfo


def make_cluster(release: str = "4.4", **overrides: str) -> GroupCluster:
    """Return a cluster of a release that has streams groups."""
    return GroupCluster(broker_api_versions=release, **overrides)


def subtopology(version: int = 1, **fields: Any) -> Any:
    """Return a subtopology that by default reads t."""
    defaults: dict[str, Any] = {
        "subtopology_id": "0",
        "source_topics": ["t"],
        "source_topic_regex": [],
        "state_changelog_topics": [],
        "repartition_sink_topics": [],
        "repartition_source_topics": [],
        "copartition_groups": [],
    }
    return Subtopology(version=version, **(defaults | fields))


def store(version: int = 1, name: str = "store", **fields: Any) -> Any:
    """Return a changelog topic."""
    config = TopicInfo.KeyValue(version=version, key="cleanup.policy", value="compact")
    defaults: dict[str, Any] = {
        "name": name,
        "partitions": 0,
        "replication_factor": 0,
        "topic_configs": [config],
    }
    return TopicInfo(version=version, **(defaults | fields))


def heartbeat(
    cluster: GroupCluster,
    epoch: int = 0,
    version: int = 1,
    subtopologies: list[Any] | None = None,
    **fields: Any,
) -> Any:
    """Send a heartbeat of the member m, by default one that joins."""
    defaults: dict[str, Any] = {"group_id": GROUP, "member_id": "m", "member_epoch": epoch}
    if epoch == 0:
        found = [subtopology(version)] if subtopologies is None else subtopologies
        defaults |= {
            "rebalance_timeout_ms": 60_000,
            "topology": Topology(version=version, epoch=0, subtopologies=found),
            "active_tasks": [],
            "standby_tasks": [],
            "warmup_tasks": [],
            "process_id": "p",
        }
    return cluster.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, version, **(defaults | fields))


def tasks(entries: Any) -> dict[str, list[int]]:
    """Return tasks of a response by subtopology."""
    return {entry.subtopology_id: entry.partitions for entry in entries}


def joined(cluster: GroupCluster, **fields: Any) -> Any:
    """Let the member m join without an error."""
    response = heartbeat(cluster, **fields)
    assert response.error_code == ErrorCode.NONE, response.error_message
    return response
