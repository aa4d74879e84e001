"""Groups in requests and responses."""

from typing import Any
from uuid import UUID

from client.group_messages import (
    by_topic,
    classic_group,
    committed_offsets,
    consumer_group,
    offsets_to_commit,
    share_group,
    streams_group,
)
from client.resources import (
    Address,
    GroupDescription,
    MemberDescription,
    PartitionOffset,
    StreamsTasks,
    Subtopology,
)
from protocol import messages
from protocol.consumer_protocol import encode_assignment

ADDRESS = Address("h", 1)
TOPIC_ID = UUID(int=7)


def test_partitions_are_grouped_by_topic_in_their_order() -> None:
    assert by_topic([("t", 2), ("a", 0), ("t", 1)]) == {"t": [2, 1], "a": [0]}


def test_a_consumer_group_has_current_and_target_assignments() -> None:
    group_class = messages.ConsumerGroupDescribeResponse.DescribedGroup
    member_class = group_class.Member
    assignment_class = member_class.Assignment

    def assignment(
        *indexes: int,
    ) -> messages.ConsumerGroupDescribeResponse.DescribedGroup.Member.Assignment:
        topic = assignment_class.TopicPartitions(
            version=1, topic_id=TOPIC_ID, topic_name="t", partitions=list(indexes)
        )
        return assignment_class(version=1, topic_partitions=[topic] if indexes else [])

    member = member_class(
        version=1,
        member_id="m",
        instance_id="i",
        member_epoch=3,
        client_id="app",
        client_host="/h",
        assignment=assignment(0),
        target_assignment=assignment(0, 1),
        member_type=0,
    )
    group = consumer_group(
        group_class(
            version=1,
            group_id="g",
            group_state="Reconciling",
            group_epoch=4,
            assignment_epoch=3,
            assignor_name="uniform",
            members=[member],
        ),
        5,
        ADDRESS,
    )
    assert group.members == (
        MemberDescription(
            "m",
            "i",
            "app",
            "/h",
            frozenset({("t", 0)}),
            3,
            frozenset({("t", 0), ("t", 1)}),
            is_upgraded=False,
        ),
    )
    assert (group.group_epoch, group.assignment_epoch, group.coordinator_id) == (4, 3, 5)


def test_a_share_group_has_member_epochs_and_no_targets() -> None:
    group_class = messages.ShareGroupDescribeResponse.DescribedGroup
    member_class = group_class.Member
    member = member_class(
        version=1,
        member_id="m",
        member_epoch=3,
        client_id="app",
        client_host="/h",
        assignment=member_class.Assignment(version=1, topic_partitions=[]),
    )
    group = share_group(
        group_class(version=1, group_id="g", group_state="Stable", members=[member]), 5, ADDRESS
    )
    (described,) = group.members
    assert (group.group_type, described.member_epoch, described.target) == ("share", 3, None)


def test_a_streams_group_has_what_its_active_tasks_read_and_the_topics_of_its_topology() -> None:
    group_class = messages.StreamsGroupDescribeResponse.DescribedGroup
    member_class, topology_class = group_class.Member, group_class.Topology
    topic_class = topology_class.Subtopology.TopicInfo

    def assignment(**tasks: list[int]) -> Any:
        kinds: dict[str, Any] = {f"{kind}_tasks": [] for kind in ("active", "standby", "warmup")}
        for kind, indexes in tasks.items():
            task = member_class.Assignment.TaskIds(subtopology_id="0", partitions=indexes)
            kinds[f"{kind}_tasks"] = [task]
        return member_class.Assignment(**kinds)

    subtopology = topology_class.Subtopology(
        subtopology_id="0",
        source_topics=["t"],
        repartition_sink_topics=["sink"],
        state_changelog_topics=[topic_class(name="store", topic_configs=[])],
        repartition_source_topics=[topic_class(name="words", topic_configs=[])],
    )
    member = member_class(
        member_id="m",
        member_epoch=3,
        client_id="app",
        client_host="/h",
        process_id="p",
        assignment=assignment(active=[1], standby=[0]),
        target_assignment=assignment(warmup=[2]),
        is_classic=False,
    )

    def described(topology: Any) -> GroupDescription:
        return streams_group(
            group_class(
                group_id="g",
                group_state="Stable",
                group_epoch=4,
                assignment_epoch=3,
                topology=topology,
                members=[member],
            ),
            5,
            ADDRESS,
        )

    group = described(topology_class(epoch=2, subtopologies=[subtopology]))
    assert (group.group_type, group.assignor, group.topology_epoch) == ("streams", "", 2)
    assert group.subtopologies == (Subtopology("0", ("t",), ("words",), ("store",)),)
    assert group.members == (
        MemberDescription(
            *("m", None, "app", "/h", frozenset({("t", 1), ("words", 1)}), 3, frozenset()),
            is_upgraded=True,
            process_id="p",
            tasks=StreamsTasks({"0": (1,)}, {"0": (0,)}, {}),
            target_tasks=StreamsTasks({}, {}, {"0": (2,)}),
        ),
    )
    for topology in (None, topology_class(epoch=2, subtopologies=None)):
        group = described(topology)
        assert (group.subtopologies, group.members[0].assigned) == ((), frozenset())


def test_only_consumers_in_a_classic_group_have_assignments() -> None:
    group_class = messages.DescribeGroupsResponse.DescribedGroup
    member_class = group_class.DescribedGroupMember

    def assigned(protocol_type: str, assignment: bytes) -> frozenset[tuple[str, int]]:
        member = member_class(
            version=6,
            member_id="m",
            client_id="app",
            client_host="/h",
            member_metadata=b"",
            member_assignment=assignment,
        )
        group = classic_group(
            group_class(
                version=6,
                group_id="g",
                group_state="Stable",
                protocol_type=protocol_type,
                protocol_data="range",
                members=[member],
            ),
            5,
            ADDRESS,
        )
        assert (group.group_type, group.assignor, group.group_epoch) == ("classic", "range", None)
        return group.members[0].assigned

    encoded = encode_assignment({"t": [1]})
    assert assigned("consumer", encoded) == {("t", 1)}
    assert assigned("connect", encoded) == frozenset()
    assert assigned("consumer", b"?") == frozenset()


def test_committed_offsets_get_their_topics_name_from_its_id() -> None:
    group_class = messages.OffsetFetchResponse.OffsetFetchResponseGroup
    topic_class = group_class.OffsetFetchResponseTopics
    parts = [
        topic_class.OffsetFetchResponsePartitions(
            version=10,
            partition_index=index,
            committed_offset=offset,
            committed_leader_epoch=4,
            metadata=None,
            error_code=0,
        )
        for index, offset in ((0, 5), (1, -1))
    ]
    topic = topic_class(version=10, name="", topic_id=TOPIC_ID, partitions=parts)
    assert committed_offsets([topic], {TOPIC_ID: "t"}) == {("t", 0): PartitionOffset(5, 4, "")}


def test_topics_to_commit_have_a_name_and_an_id() -> None:
    topics = offsets_to_commit(
        {("t", 0): PartitionOffset(1), ("new", 1): PartitionOffset(2, 3, "x")}, {"t": TOPIC_ID}
    )
    assert [(topic.name, topic.topic_id) for topic in topics] == [
        ("t", TOPIC_ID),
        ("new", UUID(int=0)),
    ]
    (part,) = topics[1].partitions
    assert (part.committed_offset, part.committed_leader_epoch, part.committed_metadata) == (
        *(2, 3, "x"),
    )
