"""Classic groups as they are described."""

from broker.groups.description import describe
from broker.groups.group import Group
from broker.groups.results import GroupState
from tests.broker.groups.driver import GROUP, Driver


def test_the_protocol_is_shown_while_the_group_is_stable() -> None:
    driver = Driver()
    (joined,) = driver.join()
    group = driver.groups.table.get(GROUP)
    assert isinstance(group, Group)
    assert describe(group).protocol_name == ""
    driver.sync(joined.member_id, joined.generation_id, {joined.member_id: b"all"})
    described = describe(group)
    assert (described.state, described.protocol_name) == (GroupState.STABLE, "range")
    assert [member.assignment for member in described.members] == [b"all"]
