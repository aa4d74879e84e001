"""Check a target assignment that somebody sets instead of an assignor."""

from collections.abc import Mapping

from broker.groups.consumer.assignment import Assignment, TopicPartition, partitions_of
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.topics import TopicSource


def assignment_problem(
    group: ConsumerGroup, targets: Mapping[str, Assignment], topics: TopicSource
) -> str | None:
    """Return why members of a group can't have these targets, or None.

    A partition has one owner, and a member subscribes to its topics: the clients of others ignore
    or refuse them.
    """
    owners: dict[TopicPartition, str] = {}
    for member_id, target in targets.items():
        member = group.members.get(member_id)
        if member is None:
            return f"{member_id!r} is not a member of group {group.group_id!r}"
        topic_names = group.topic_names_of(member)
        for topic_id, index in partitions_of(target):
            name = topics.name_of(topic_id)
            if name not in topic_names:
                return f"member {member_id!r} does not subscribe to topic {name!r}"
            owner = owners.setdefault((topic_id, index), member_id)
            if owner != member_id:
                return (
                    f"members {owner!r} and {member_id!r} both have partition {index} of topic"
                    f" {name!r}; a partition has one owner"
                )
    return None
