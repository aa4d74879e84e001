"""Groups as frozen values, from the admin port's JSON."""

from typing import Any

import pytest

from mock_kafka.group_views import Group, InFlightRecords, ShareSession, group_of

MEMBER = {
    "member_id": "m",
    "group_instance_id": None,
    "client_id": "app",
    "client_host": "/127.0.0.1",
    "protocol": "consumer",
    "rack_id": None,
    "subscribed_topics": ["t"],
    "subscribed_regex": None,
    "member_epoch": 3,
    "state": "stable",
    "assigned": [{"topic": "t", "partitions": [1, 0]}, {"topic": "a", "partitions": [2]}],
    "revoking": [],
    "target": None,
    "sessions": [{"broker": 1, "epoch": 2, "partitions": 3}],
}
SHARE_PARTITION = {
    "topic": "t",
    "partition": 0,
    "start_offset": None,
    "state_epoch": 1,
    "lag": None,
    "in_flight_records": 2,
    "acquired_records": 2,
    "in_flight": [
        {
            "first_offset": 0,
            "last_offset": 1,
            "state": "acquired",
            "delivery_count": 1,
            "member_id": "m",
            "lock_expires_ms": 9,
        }
    ],
}


def group(*members: dict[str, Any]) -> Group:
    return group_of(
        {
            "group_id": "g",
            "group_type": "consumer",
            "state": "Stable",
            "protocol_type": "consumer",
            "protocol_name": "uniform",
            "coordinator": 1,
            "generation_id": None,
            "group_epoch": 3,
            "assignment_epoch": 3,
            "is_assigned_manually": False,
            "members": members,
            "offsets": [],
            "share_partitions": [SHARE_PARTITION],
        }
    )


def test_partitions_of_a_member_are_pairs_in_order() -> None:
    (member,) = group(MEMBER).members
    assert member.assigned == (("a", 2), ("t", 0), ("t", 1))
    assert (member.revoking, member.target, member.subscribed_topics) == ((), None, ("t",))
    assert member.sessions == (ShareSession(1, 2, 3),)


def test_a_share_partition_has_its_records_in_flight() -> None:
    (partition,) = group().share_partitions
    assert partition.in_flight == (InFlightRecords(0, 1, "acquired", 1, "m", 9),)


def test_a_group_is_hashable() -> None:
    assert hash(group(MEMBER)) == hash(group(MEMBER))


def test_a_member_is_found_by_its_id_its_instance_or_its_client() -> None:
    static = {**MEMBER, "member_id": "n", "group_instance_id": "i", "client_id": "other"}
    found = group(MEMBER, static)
    assert [found.member(name).member_id for name in ("m", "app", "i", "n")] == ["m", "m", "n", "n"]


def test_an_unknown_or_ambiguous_member_is_an_error_that_lists_the_members() -> None:
    found = group(MEMBER, {**MEMBER, "member_id": "n"})
    with pytest.raises(LookupError, match=r"no member 'x'; it has m \(app\), n \(app\)"):
        found.member("x")
    with pytest.raises(LookupError, match="2 members 'app'"):
        found.member("app")
    with pytest.raises(LookupError, match="it has none"):
        group().member("x")
