"""One share group: epochs, members and assignments."""

from typing import Any
from uuid import UUID

from broker.errors import Refusal
from broker.groups.consumer.topics import TopicMetadata
from broker.groups.modern_rules import rules_of
from broker.share_groups.member import ShareHeartbeat, ShareMember
from broker.share_groups.sessions import TopicIdPartition
from broker.share_groups.share_group import ShareGroup
from protocol.coordinator_records import GROUP_RECORDS, decode_key, decode_value
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import JOINED

TOPIC_ID = UUID(int=7)
NOW_MS = 1_000


class Topics:
    """The topic t."""

    created_count = 1

    def __init__(self, partition_count: int = 2) -> None:
        self.partition_count = partition_count

    def get(self, name: str) -> TopicMetadata | None:
        if name != "t":
            return None
        return TopicMetadata("t", TOPIC_ID, self.partition_count, self.partition_count)

    def name_of(self, topic_id: UUID) -> str | None:
        return "t" if topic_id == TOPIC_ID else None

    def names(self) -> list[str]:
        return ["t"]

    def forget(self, name: str) -> None:
        """Nothing is kept."""


def beat(
    group: ShareGroup,
    topics: Topics,
    member_id: str,
    epoch: int,
    *names: str,
    now_ms: int = NOW_MS,
    interval_ms: int = 0,
) -> ShareMember | Refusal:
    request = ShareHeartbeat(
        "g", member_id, epoch, "client", "/host", subscribed_topic_names=names or None
    )
    before = group.find_member(request)
    if isinstance(before, Refusal):
        return before
    return group.heartbeat(before, request, topics, now_ms, interval_ms=interval_ms)


def joined(group: ShareGroup, topics: Topics, member_id: str) -> ShareMember:
    member = beat(group, topics, member_id, 0, "t")
    assert isinstance(member, ShareMember)
    return member


def initialized(group: ShareGroup, topics: Topics) -> None:
    partitions = group.begin_initialization(topics)
    group.end_initialization(partitions, [])


def test_partitions_are_assigned_once_their_state_exists() -> None:
    group, topics = ShareGroup("g"), Topics()
    assert joined(group, topics, "a").assigned == {}
    initialized(group, topics)

    member = beat(group, topics, "a", JOINED)

    assert isinstance(member, ShareMember)
    assert member.assigned == {TOPIC_ID: frozenset({0, 1})}
    assert (member.member_epoch, member.previous_member_epoch, group.group_epoch) == (
        *(JOINED + 1, JOINED, JOINED + 1),
    )
    again = beat(group, topics, "a", JOINED + 1)
    assert again == member


def test_new_partitions_of_a_topic_begin_a_new_epoch_and_get_a_state() -> None:
    group, topics = ShareGroup("g"), Topics(1)
    joined(group, topics, "a")
    initialized(group, topics)
    beat(group, topics, "a", JOINED)
    topics.partition_count = 2

    member = beat(group, topics, "a", JOINED + 1)

    assert isinstance(member, ShareMember)
    assert member.member_epoch == JOINED + 2
    assert group.begin_initialization(topics) == [TopicIdPartition(TOPIC_ID, 1)]


def test_a_state_that_cannot_be_created_is_tried_again() -> None:
    group, topics = ShareGroup("g"), Topics(1)
    joined(group, topics, "a")
    partitions = group.begin_initialization(topics)
    assert group.begin_initialization(topics) == []

    group.end_initialization([], partitions)

    assert group.begin_initialization(topics) == partitions


def test_a_member_with_a_wrong_epoch_is_fenced_and_the_last_epoch_is_accepted() -> None:
    group, topics = ShareGroup("g"), Topics()
    joined(group, topics, "a")
    initialized(group, topics)
    beat(group, topics, "a", JOINED)

    for epoch in (JOINED + 2, JOINED - 1):
        refused = beat(group, topics, "a", epoch)
        assert isinstance(refused, Refusal)
        assert refused.error_code is ErrorCode.FENCED_MEMBER_EPOCH
    assert isinstance(beat(group, topics, "a", JOINED), ShareMember)
    unknown = beat(group, topics, "b", JOINED)
    assert isinstance(unknown, Refusal)
    assert unknown.error_code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_joins_again_at_once_since_kafka_4_2() -> None:
    group, topics = ShareGroup("g", rules=lambda: rules_of((4, 2))), Topics()
    joined(group, topics, "a")
    initialized(group, topics)
    member = beat(group, topics, "a", 1)
    assert joined(group, topics, "a") == member


def group_of(minor: int) -> tuple[ShareGroup, Topics]:
    """A group of Kafka 4.minor with a member a that has both partitions."""
    group, topics = ShareGroup("g", rules=lambda: rules_of((4, minor))), Topics()
    member = joined(group, topics, "a")
    initialized(group, topics)
    assert isinstance(beat(group, topics, "a", member.member_epoch), ShareMember)
    group.take_records()
    return group, topics


def test_a_target_is_computed_when_the_last_one_is_as_old_as_the_interval() -> None:
    group, topics = group_of(3)
    epoch = group.assignment_epoch
    for now_ms, expected in (
        (NOW_MS + 999, epoch),
        (NOW_MS + 999, epoch),
        (NOW_MS + 1000, epoch + 1),
    ):
        member = beat(group, topics, "b", 0, "t", now_ms=now_ms, interval_ms=1000)
        assert isinstance(member, ShareMember)
        assert (member.member_epoch, bool(member.assigned)) == (expected, expected > epoch)
        assert group.group_epoch == epoch + 1
    times = [
        value.assignment_timestamp
        for key, value in decoded(group)
        if "TargetAssignmentMetadata" in key
    ]
    assert times == [NOW_MS + 1000]


def test_new_partitions_begin_one_epoch_while_the_target_has_to_wait() -> None:
    group, topics = group_of(3)
    topics.partition_count = 3
    beat(group, topics, "a", group.assignment_epoch, interval_ms=1000)
    initialized(group, topics)
    epoch = group.group_epoch
    for _ in range(2):
        beat(group, topics, "a", group.assignment_epoch, interval_ms=1000)
    assert group.group_epoch == epoch


def test_before_kafka_4_3_every_epoch_has_its_target_at_once_and_no_time() -> None:
    group, topics = group_of(2)
    joined(group, topics, "b")
    assert group.assignment_epoch == group.group_epoch
    assert {getattr(value, "assignment_timestamp", 0) for _, value in decoded(group)} == {0}


def test_the_interval_ends_with_the_last_member_since_kafka_4_4() -> None:
    for minor, waits in ((3, True), (4, False)):
        group, topics = group_of(minor)
        group.remove("a", topics)
        assert (group.group_epoch > group.assignment_epoch) is waits
        member = beat(group, topics, "b", 0, "t", interval_ms=1000)
        assert isinstance(member, ShareMember)
        assert bool(member.assigned) is not waits


def test_a_member_that_ends_a_subscription_in_the_interval_has_its_partitions_no_longer() -> None:
    group, topics = group_of(3)
    epoch = group.assignment_epoch
    member = beat(group, topics, "a", epoch, "u", interval_ms=1000)
    assert isinstance(member, ShareMember)
    assert (member.member_epoch, member.assigned) == (epoch, {})
    assert [key for key, _ in decoded(group)][-1] == "ShareGroupCurrentMemberAssignment"


def decoded(group: ShareGroup) -> list[tuple[str, Any]]:
    """Return the type and the value of the records since the last call."""
    keys = [(decode_key(GROUP_RECORDS, key), value) for key, value in group.take_records()]
    return [
        (type(key).__name__.removesuffix("Key"), decode_value(GROUP_RECORDS, key, value))
        for key, value in keys
    ]


def test_a_member_with_an_epoch_does_not_join_again_before_kafka_4_2() -> None:
    group, topics = ShareGroup("g", rules=lambda: rules_of((4, 1))), Topics()
    joined(group, topics, "a")
    initialized(group, topics)
    beat(group, topics, "a", 1)
    refused = beat(group, topics, "a", 0, "t")
    assert isinstance(refused, Refusal)
    assert refused.error_code is ErrorCode.FENCED_MEMBER_EPOCH


def test_the_others_take_over_what_a_leaver_had() -> None:
    group, topics = ShareGroup("g"), Topics()
    joined(group, topics, "a")
    initialized(group, topics)
    joined(group, topics, "b")

    group.remove("b", topics)
    member = beat(group, topics, "a", JOINED)

    assert isinstance(member, ShareMember)
    assert member.assigned == {TOPIC_ID: frozenset({0, 1})}
    assert (group.state_name, group.is_empty) == ("Stable", False)
    group.remove("a", topics)
    assert group.state_name == "Empty"


def test_a_deleted_topic_is_forgotten() -> None:
    group, topics = ShareGroup("g"), Topics()
    joined(group, topics, "a")
    initialized(group, topics)

    assert group.forget_topic(TOPIC_ID)
    assert not group.forget_topic(TOPIC_ID)
    assert group.initialized == {}


def test_all_changes_are_written_as_records_of_kafka() -> None:
    group, topics = ShareGroup("g"), Topics(1)
    joined(group, topics, "a")
    initialized(group, topics)
    beat(group, topics, "a", JOINED)
    group.remove("a", topics)

    records = []
    for encoded_key, encoded_value in group.take_records():
        key = decode_key(GROUP_RECORDS, encoded_key)
        records.append((key, decode_value(GROUP_RECORDS, key, encoded_value)))
    names = [
        type(key).__name__.removeprefix("ShareGroup").removesuffix("Key") for key, _ in records
    ]

    assert names == [
        "MemberMetadata",
        "Metadata",
        "TargetAssignmentMember",
        "TargetAssignmentMetadata",
        "CurrentMemberAssignment",
        "StatePartitionMetadata",
        "StatePartitionMetadata",
        "Metadata",
        "TargetAssignmentMember",
        "TargetAssignmentMetadata",
        "CurrentMemberAssignment",
        "CurrentMemberAssignment",
        "TargetAssignmentMember",
        "MemberMetadata",
        "Metadata",
        "TargetAssignmentMetadata",  # without a time: the interval has ended with the last member
    ]
    assert [value is None for _, value in records[-5:]] == [True, True, True, False, False]
    assert records[1][1].epoch == JOINED
    assert records[8][1].topic_partitions[0].partitions == [0]
    assert group.take_records() == []
