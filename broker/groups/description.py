"""A classic group as DescribeGroups shows it."""

from broker.groups.group import Group
from broker.groups.results import DescribedMember, GroupDescription, GroupState


def describe(group: Group) -> GroupDescription:
    """Return a group with its members; metadata and protocol are there while it is stable."""
    stable_protocol = group.protocol_name if group.state is GroupState.STABLE else None
    return GroupDescription(
        group_id=group.group_id,
        state=group.state,
        protocol_type=group.protocol_type or "",
        protocol_name=stable_protocol or "",
        generation_id=group.generation_id,
        members=tuple(
            DescribedMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                metadata=member.protocols.get(stable_protocol or "", b""),
                assignment=member.assignment,
            )
            for member in group.members
        ),
    )
