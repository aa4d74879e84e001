"""Heartbeat on the wire."""

import pytest

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.groups.group_cluster import GROUP, GroupCluster, versions


@pytest.mark.parametrize("version", versions(ApiKey.HEARTBEAT))
def test_every_version_keeps_the_session_or_returns_an_error(version: int) -> None:
    cluster = GroupCluster()
    member_id = cluster.stable_member()

    def beat(**changes: object) -> int:
        fields = {"group_id": GROUP, "member_id": member_id, "generation_id": 1} | changes
        return int(cluster.ask(ApiKey.HEARTBEAT, version, **fields).error_code)

    assert beat() == ErrorCode.NONE
    assert beat(generation_id=2) == ErrorCode.ILLEGAL_GENERATION
    assert beat(member_id="made-up") == ErrorCode.UNKNOWN_MEMBER_ID
    cluster.join()
    assert beat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert beat(broker_id=cluster.other_id) == ErrorCode.NOT_COORDINATOR
    cluster.stop_all()
    assert beat() == ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("version", versions(ApiKey.HEARTBEAT, 3))
def test_the_old_id_of_a_static_member_is_fenced(version: int) -> None:
    cluster = GroupCluster()
    old_id = cluster.stable_member(group_instance_id="i")
    cluster.join(5, group_instance_id="i")

    response = cluster.ask(
        ApiKey.HEARTBEAT,
        version,
        group_id=GROUP,
        member_id=old_id,
        generation_id=1,
        group_instance_id="i",
    )

    assert response.error_code == ErrorCode.FENCED_INSTANCE_ID
