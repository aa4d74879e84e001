"""Groups for the tests of assignors, and what holds for all targets."""

from collections.abc import Mapping
from uuid import UUID

from hypothesis import strategies as st

from broker.groups.consumer.assignment import Assignment, partitions_of
from broker.groups.consumer.group_spec import GroupSpec, MemberSpec


def topic(number: int) -> UUID:
    return UUID(int=number)


def group_spec(
    partition_counts: dict[int, int],
    subscriptions: dict[str, list[int]],
    targets: Mapping[str, Assignment] | None = None,
) -> GroupSpec:
    """Return a group; topics are numbers."""
    lists = list(subscriptions.values())
    return GroupSpec(
        members={
            member_id: MemberSpec(
                [topic(number) for number in numbers], (targets or {}).get(member_id, {})
            )
            for member_id, numbers in subscriptions.items()
        },
        partition_counts={topic(number): count for number, count in partition_counts.items()},
        is_homogeneous=all(numbers == lists[0] for numbers in lists),
    )


@st.composite
def group_specs(draw: st.DrawFn, *, is_homogeneous: bool = False) -> GroupSpec:
    """Draw a group without targets."""
    counts = draw(st.dictionaries(st.integers(1, 4), st.integers(1, 9), min_size=1))
    names = draw(st.lists(st.sampled_from("abcdefg"), min_size=1, unique=True))
    subscription = st.lists(st.sampled_from(sorted(counts)), unique=True).map(sorted)
    shared = draw(subscription)
    return group_spec(
        counts, {name: shared if is_homogeneous else draw(subscription) for name in names}
    )


def sizes(targets: dict[str, Assignment]) -> dict[str, int]:
    """Return the number of partitions of each member."""
    return {name: len(list(partitions_of(target))) for name, target in targets.items()}


def check_complete(group: GroupSpec, targets: dict[str, Assignment]) -> None:
    """Every partition of a subscribed topic has one owner, which subscribes to the topic."""
    given = [(owner, p) for owner, target in targets.items() for p in partitions_of(target)]
    subscribed = {id_ for member in group.members.values() for id_ in member.topic_ids}
    expected = {(id_, index) for id_ in subscribed for index in range(group.partition_counts[id_])}
    assert len(given) == len(expected)
    assert {partition for _, partition in given} == expected
    assert all(partition[0] in group.members[owner].topic_ids for owner, partition in given)


def with_targets(group: GroupSpec, targets: dict[str, Assignment]) -> GroupSpec:
    """Return the group after an assignment."""
    members = {
        name: MemberSpec(member.topic_ids, targets.get(name, {}), member.group_instance_id)
        for name, member in group.members.items()
    }
    return GroupSpec(members, group.partition_counts, group.is_homogeneous)
