"""JoinGroup on the wire."""

import pytest

from broker.groups.group import Group
from broker.groups.requests import JoinRequest
from broker.pending_response import PendingResponse
from protocol.api_keys import ApiKey
from protocol.consumer_protocol import encode_subscription
from protocol.errors import ErrorCode
from protocol.pacing import LOOK_EVERY
from tests.broker.groups.group_cluster import GROUP, SESSION_MS, GroupCluster, versions
from tests.broker.interleaving import run_with_pauses


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP))
def test_every_version_joins_and_gets_the_fields_of_its_schema(version: int) -> None:
    cluster = GroupCluster()
    (response,) = cluster.join(version)
    if version >= 4:
        assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert response.member_id.startswith("client-")
        (response,) = cluster.join(version, member_id=response.member_id)

    assert (response.error_code, response.generation_id) == (ErrorCode.NONE, 1)
    assert response.leader == response.member_id
    assert response.protocol_name == "range"
    assert response.protocol_type == ("consumer" if version >= 7 else None)
    assert [(member.member_id, member.metadata) for member in response.members] == [
        (response.member_id, b"meta")
    ]


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP))
def test_every_version_can_be_refused(version: int) -> None:
    (response,) = GroupCluster().join(version, session_timeout_ms=1)

    assert response.error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    assert response.protocol_name == (None if version >= 7 else "")
    assert (response.generation_id, response.leader, response.members) == (-1, "", [])


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP))
def test_another_broker_is_not_the_coordinator(version: int) -> None:
    cluster = GroupCluster()

    (response,) = cluster.join(version, broker_id=cluster.other_id, member_id="m")

    assert (response.error_code, response.member_id) == (ErrorCode.NOT_COORDINATOR, "m")
    assert len(cluster.cluster.groups.table) == 0


@pytest.mark.parametrize(("count", "error_code"), [(1000, 0), (1001, ErrorCode.INVALID_REQUEST)])
def test_a_member_has_a_thousand_protocols_at_most(count: int, error_code: int) -> None:
    protocols = {str(number): b"" for number in range(count)}
    (response,) = GroupCluster().join(3, protocols=protocols)
    assert response.error_code == error_code


def test_a_long_subscription_is_read_with_pauses_before_the_rebalance() -> None:
    cluster = GroupCluster()
    metadata = encode_subscription([f"topic-{number}" for number in range(3000)])
    pauses: list[None] = []
    (response,) = run_with_pauses(
        lambda: cluster.join(3, protocols={"range": metadata}), lambda: pauses.append(None)
    )
    assert response.error_code == 0
    assert len(pauses) > 3000 // LOOK_EVERY
    group = cluster.cluster.groups.table._groups[GROUP]
    assert isinstance(group, Group)
    assert len(group.subscribed_topics or ()) == 3000


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP, 5))
def test_a_static_member_is_listed_with_its_instance(version: int) -> None:
    (response,) = GroupCluster().join(version, group_instance_id="i")

    assert response.member_id.startswith("i-")
    assert [member.group_instance_id for member in response.members] == ["i"]


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP, 5))
def test_only_version_9_lets_a_static_leader_skip_the_assignment(version: int) -> None:
    cluster = GroupCluster()
    old_id = cluster.stable_member(group_instance_id="i")

    (response,) = cluster.join(version, group_instance_id="i")

    assert response.skip_assignment == (version >= 9)
    assert response.leader == (response.member_id if version >= 9 else old_id)


def test_a_join_waits_for_the_others_and_no_longer_than_the_rebalance_timeout() -> None:
    cluster = GroupCluster()
    cluster.stable_member()

    responses = cluster.join()
    assert responses == []
    cluster.cluster.timers.run_due(cluster.now_ms + SESSION_MS)

    assert [response.generation_id for response in responses] == [2]


def test_in_version_0_the_session_timeout_is_the_rebalance_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = GroupCluster()
    seen: list[JoinRequest] = []
    monkeypatch.setattr(cluster.cluster.groups, "join", lambda request, *_: seen.append(request))

    cluster.join(0)
    cluster.join(1, rebalance_timeout_ms=7)

    timeouts = [request.rebalance_timeout_ms for request in seen]
    assert timeouts == [SESSION_MS, 7]


def test_a_client_that_disconnects_stays_a_member_until_its_session_expires() -> None:
    cluster = GroupCluster()
    cluster.stable_member()
    pending = cluster.handle(ApiKey.JOIN_GROUP, 3, **cluster.join_fields(3))
    assert isinstance(pending, PendingResponse)

    pending.cancel()

    group = cluster.cluster.groups.describe(GROUP)
    assert group is not None
    assert len(group.members) == 2
    cluster.cluster.timers.run_due(cluster.now_ms + SESSION_MS)
    cluster.cluster.timers.run_due(cluster.now_ms + 2 * SESSION_MS)
    assert cluster.cluster.groups.table.list_groups(["Empty"]) != []


def test_a_reason_is_accepted() -> None:
    (response,) = GroupCluster().join(8, reason="because", group_instance_id="i")
    assert response.error_code == ErrorCode.NONE


def test_the_members_of_a_group_are_described_with_the_clients_address() -> None:
    cluster = GroupCluster()
    cluster.stable_member()
    group = cluster.cluster.groups.describe(GROUP)
    assert group is not None
    assert [(member.client_id, member.client_host) for member in group.members] == [
        ("client", "/127.0.0.1")
    ]
