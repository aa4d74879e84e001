"""StreamsGroupDescribe on the wire."""

from typing import Any

import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.groups.group_cluster import GROUP, GroupCluster, versions
from tests.broker.handlers.streams_requests import (
    heartbeat,
    joined,
    make_cluster,
    store,
    subtopology,
    tasks,
)

_Request = messages.StreamsGroupHeartbeatRequest


def describe(cluster: GroupCluster, version: int = 1, **fields: Any) -> Any:
    defaults: dict[str, Any] = {"group_ids": [GROUP], "include_authorized_operations": False}
    (group,) = cluster.ask(ApiKey.STREAMS_GROUP_DESCRIBE, version, **(defaults | fields)).groups
    return group


@pytest.mark.parametrize("version", versions(ApiKey.STREAMS_GROUP_DESCRIBE))
def test_a_group_has_its_epochs_its_topology_and_its_members(version: int) -> None:
    cluster = make_cluster()
    topology = [subtopology(version, state_changelog_topics=[store(version)])]
    tag = _Request.KeyValue(version=version, key="zone", value="z")
    joined(cluster, version=version, subtopologies=topology, client_tags=[tag], rack_id="r")
    waiting = describe(cluster, version)
    assert waiting.group_state == "NotReady"
    assert waiting.topology.subtopologies[0].state_changelog_topics[0].partitions == 0
    offset = _Request.TaskOffset(version=version, subtopology_id="0", partition=1, offset=7)
    heartbeat(cluster, 2, version, task_offsets=[offset])
    group = describe(cluster, version)
    assert (group.error_code, group.group_state) == (ErrorCode.NONE, "Stable")
    assert (group.group_epoch, group.assignment_epoch) == (3, 3)
    if version >= 1:
        assert (group.assignor_name, group.topology_description_status) == ("sticky", 0)
    (found,) = group.topology.subtopologies
    assert (found.subtopology_id, found.source_topics) == ("0", ["t"])
    (changelog,) = found.state_changelog_topics
    assert (changelog.name, changelog.partitions, changelog.replication_factor) == ("store", 2, 0)
    assert [(c.key, c.value) for c in changelog.topic_configs] == [("cleanup.policy", "compact")]
    (member,) = group.members
    assert (member.member_id, member.member_epoch, member.rack_id) == ("m", 3, "r")
    assert (member.process_id, member.topology_epoch, member.client_host) == ("p", 0, "/127.0.0.1")
    assert tasks(member.assignment.active_tasks) == {"0": [0, 1]}
    assert tasks(member.target_assignment.active_tasks) == {"0": [0, 1]}
    assert [(t.key, t.value) for t in member.client_tags] == [("zone", "z")]
    assert [(o.partition, o.offset) for o in member.task_offsets] == [(1, 7)]
    assert not member.is_classic


def test_operations_and_the_description_are_there_on_request() -> None:
    cluster = make_cluster()
    joined(cluster)
    group = describe(cluster, include_authorized_operations=True, include_topology_description=True)
    assert group.authorized_operations > 0
    assert (group.topology_description_status, group.topology_description) == (1, None)


def test_other_groups_are_not_found() -> None:
    cluster = make_cluster()
    missing = describe(cluster)
    assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert missing.error_message == "Group g not found."
    cluster.ask(
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        1,
        group_id=GROUP,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    other = describe(cluster)
    assert other.error_message == "Group g is not a streams group."
    assert heartbeat(cluster).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_errors_are_per_group() -> None:
    cluster = make_cluster()
    assert describe(cluster, group_ids=[""]).error_code == ErrorCode.INVALID_GROUP_ID
    wrong = describe(cluster, broker_id=cluster.other_id)
    assert wrong.error_code == ErrorCode.NOT_COORDINATOR
    old = describe(make_cluster("4.1"))
    assert old.error_code == ErrorCode.UNSUPPORTED_VERSION
