"""One share group: epochs, members and assignments."""

from uuid import UUID

from broker.errors import Refusal
from broker.groups.consumer.topics import TopicMetadata
from broker.groups.modern_rules import rules_of
from broker.share_groups.member import ShareHeartbeat, ShareMember
from broker.share_groups.sessions import TopicIdPartition
from broker.share_groups.share_group import ShareGroup
from protocol.coordinator_records import GROUP_RECORDS, decode_key, decode_value
from protocol.errors import ErrorCode

TOPIC_ID = UUID(int=7)


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
    group: ShareGroup, topics: Topics, member_id: str, epoch: int, *names: str
) -> ShareMember | Refusal:
    request = ShareHeartbeat(
        "g", member_id, epoch, "client", "/host", subscribed_topic_names=names or None
    )
    before = group.find_member(request)
    return before if isinstance(before, Refusal) else group.heartbeat(before, request, topics)


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

    member = beat(group, topics, "a", 1)

    assert isinstance(member, ShareMember)
    assert member.assigned == {TOPIC_ID: frozenset({0, 1})}
    assert (member.member_epoch, member.previous_member_epoch, group.group_epoch) == (2, 1, 2)
    again = beat(group, topics, "a", 2)
    assert again == member


def test_new_partitions_of_a_topic_begin_a_new_epoch_and_get_a_state() -> None:
    group, topics = ShareGroup("g"), Topics(1)
    joined(group, topics, "a")
    initialized(group, topics)
    beat(group, topics, "a", 1)
    topics.partition_count = 2

    member = beat(group, topics, "a", 2)

    assert isinstance(member, ShareMember)
    assert member.member_epoch == 3
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
    beat(group, topics, "a", 1)

    for epoch in (3, 0):
        refused = beat(group, topics, "a", epoch)
        assert isinstance(refused, Refusal)
        assert refused.error_code is ErrorCode.FENCED_MEMBER_EPOCH
    assert isinstance(beat(group, topics, "a", 1), ShareMember)
    unknown = beat(group, topics, "b", 1)
    assert isinstance(unknown, Refusal)
    assert unknown.error_code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_joins_again_at_once_since_kafka_4_2() -> None:
    group, topics = ShareGroup("g", rules=lambda: rules_of((4, 2))), Topics()
    joined(group, topics, "a")
    initialized(group, topics)
    member = beat(group, topics, "a", 1)
    assert joined(group, topics, "a") == member


def test_the_others_take_over_what_a_leaver_had() -> None:
    group, topics = ShareGroup("g"), Topics()
    joined(group, topics, "a")
    initialized(group, topics)
    joined(group, topics, "b")

    group.remove("b", topics)
    member = beat(group, topics, "a", 1)

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
    beat(group, topics, "a", 1)
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
    ]
    assert [value is None for _, value in records[-4:]] == [True, True, True, False]
    assert records[1][1].epoch == 1
    assert records[8][1].topic_partitions[0].partitions == [0]
    assert group.take_records() == []
