"""The records of a group, decoded with Kafka's schemas."""

from typing import Any
from uuid import UUID

from broker.groups.consumer.consumer_group_records import (
    current_record,
    epoch_record,
    member_record,
    regex_record,
    target_epoch_record,
    target_record,
)
from broker.groups.consumer.member import ClassicMetadata, ConsumerMember, MemberState
from broker.groups.consumer.regexes import ResolvedRegex
from protocol.coordinator_records import GROUP_RECORDS, CoordinatorRecord, decode_key, decode_value

T = UUID(int=7)


def decoded(record: CoordinatorRecord) -> tuple[Any, Any]:
    key = decode_key(GROUP_RECORDS, record[0])
    return key, decode_value(GROUP_RECORDS, key, record[1])


def partitions(entries: Any) -> list[tuple[UUID, list[int]]]:
    return [(entry.topic_id, entry.partitions) for entry in entries]


def test_a_member_is_written_with_sorted_topics_and_its_classic_protocols() -> None:
    member = ConsumerMember(
        "m",
        group_instance_id="i",
        rack_id="r",
        client_id="c",
        client_host="/h",
        rebalance_timeout_ms=5,
        subscribed_topic_names=frozenset({"u", "t"}),
        subscribed_topic_regex="x.*",
        server_assignor="range",
        classic=ClassicMetadata(10, {"range": b"x"}),
    )
    key, value = decoded(member_record("g", member))
    assert (key.group_id, key.member_id) == ("g", "m")
    assert (value.instance_id, value.rack_id, value.client_id, value.client_host) == (
        *("i", "r", "c", "/h"),
    )
    assert value.subscribed_topic_names == ["t", "u"]
    assert (value.subscribed_topic_regex, value.server_assignor) == ("x.*", "range")
    classic = value.classic_member_metadata
    assert (value.rebalance_timeout_ms, classic.session_timeout_ms) == (5, 10)
    assert [(p.name, bytes(p.metadata)) for p in classic.supported_protocols] == [("range", b"x")]


def test_a_member_of_the_consumer_protocol_has_no_classic_metadata() -> None:
    assert decoded(member_record("g", ConsumerMember("m")))[1].classic_member_metadata is None


def test_what_a_member_owns_is_written_with_its_epochs_and_state() -> None:
    member = ConsumerMember(
        "m",
        5,
        4,
        MemberState.UNREVOKED_PARTITIONS,
        assigned_partitions={T: frozenset({2, 1})},
        partitions_pending_revocation={T: frozenset({0})},
        partition_epochs={T: {2: 5, 1: 3, 0: 4}},
    )
    _, value = decoded(current_record("g", member))
    assert (value.member_epoch, value.previous_member_epoch, value.state) == (5, 4, 1)
    assert partitions(value.assigned_partitions) == [(T, [1, 2])]
    assert partitions(value.partitions_pending_revocation) == [(T, [0])]
    assert [entry.assignment_epochs for entry in value.assigned_partitions] == [[3, 5]]
    assert [entry.assignment_epochs for entry in value.partitions_pending_revocation] == [[4]]

    _, value = decoded(current_record("g", member, with_epochs=False))
    assert partitions(value.assigned_partitions) == [(T, [1, 2])]
    assert [entry.assignment_epochs for entry in value.assigned_partitions] == [[]]


def test_an_expression_is_written_with_its_topics_and_the_time() -> None:
    resolved = ResolvedRegex(frozenset({"ob", "oa"}), 3, 99)
    key, value = decoded(regex_record("g", "o.*", resolved))
    assert key.regular_expression == "o.*"
    assert (value.topics, value.image_version, value.timestamp) == (["oa", "ob"], 3, 99)


def test_epochs_are_written_with_the_hash_of_the_topics() -> None:
    _, value = decoded(epoch_record("g", 5, -7))
    assert (value.epoch, value.metadata_hash) == (5, -7)
    _, value = decoded(target_epoch_record("g", 4, 99))
    assert (value.assignment_epoch, value.assignment_timestamp) == (4, 99)


def test_targets_are_written_by_member() -> None:
    key, value = decoded(target_record("g", "m", {T: frozenset({1, 0})}))
    assert (key.member_id, partitions(value.topic_partitions)) == ("m", [(T, [0, 1])])
