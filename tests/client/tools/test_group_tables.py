"""The tables of `mock-kafka groups`."""

from typing import Any

from client.resources import (
    Address,
    GroupDescription,
    GroupListing,
    MemberDescription,
    PartitionOffset,
)
from client.tools.group_tables import (
    listing_lines,
    member_lines,
    offset_lines,
    reset_lines,
    share_offset_lines,
    state_lines,
    status_lines,
    table,
)


def group(*members: MemberDescription, group_type: str = "consumer", **fields: Any) -> Any:
    values: dict[str, Any] = {
        "state": "Stable",
        "assignor": "uniform",
        "group_epoch": 2,
        "assignment_epoch": 1,
    }
    return GroupDescription(
        group_id="g",
        group_type=group_type,
        coordinator_id=1,
        coordinator=Address("h", 9),
        members=members,
        **(values | fields),
    )


def member(member_id: str, *indexes: int, **fields: Any) -> MemberDescription:
    assigned = frozenset(("t", index) for index in indexes)
    values: dict[str, Any] = {"group_instance_id": None, "client_id": "app", "client_host": "/h"}
    return MemberDescription(member_id, assigned=assigned, **(values | fields))


def cells(lines: list[str]) -> list[list[str]]:
    return [line.split() for line in lines]


def test_columns_are_as_wide_as_their_longest_value_except_the_last() -> None:
    columns = [("A", 3), ("B", 2), ("C", 5)]
    assert table(columns, [["x", "long", "y"]]) == ["A   B    C", "x   long y"]
    assert table(columns, [], is_last_padded=True) == ["A   B  C    "]


def test_groups_are_listed_with_types_and_states() -> None:
    listings = [GroupListing("g", "share", "Stable", "share"), GroupListing("h", "", "", "")]
    assert cells(listing_lines(listings, has_types=True, has_states=True)) == [
        ["GROUP", "TYPE", "STATE"],
        ["g", "Share", "Stable"],
        ["h", "Unknown"],
    ]
    assert cells(listing_lines(listings, has_types=False, has_states=True))[1] == ["g", "Stable"]


def test_partitions_of_the_largest_member_come_first_and_those_without_member_last() -> None:
    described = group(member("m", 2), member("n", 1, 0))
    committed = {
        ("t", 0): PartitionOffset(3, 5),
        ("a", 0): PartitionOffset(1),
        ("t", 1): PartitionOffset(9),
    }
    ends = {("t", 0): 10, ("t", 1): None, ("t", 2): 4, ("a", 0): 1}
    lines = cells(offset_lines(described, committed, ends, is_verbose=False))
    assert lines[0][3:6] == ["CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
    assert [line[1:] for line in lines[1:]] == [
        ["t", "0", "3", "10", "7", "n", "/h", "app"],
        ["t", "1", "9", "-", "-", "n", "/h", "app"],
        ["t", "2", "-", "4", "-", "m", "/h", "app"],
        ["a", "0", "1", "1", "0", "-", "-", "-"],
    ]
    verbose = cells(offset_lines(described, committed, ends, is_verbose=True))
    assert [line[3] for line in verbose] == ["LEADER-EPOCH", "5", "-", "-", "-"]
    assert offset_lines(group(), {}, {}, is_verbose=False) == []


def test_start_offsets_of_a_share_group_may_be_unknown() -> None:
    offsets = {("t", 1): PartitionOffset(-1, 0), ("t", 0): PartitionOffset(4, 2, lag=7)}
    described = group(group_type="share")
    assert cells(share_offset_lines(described, offsets, is_verbose=True))[1:] == [
        ["g", "t", "0", "2", "4", "7"],
        ["g", "t", "1", "-", "-", "-"],
    ]
    assert cells(share_offset_lines(described, offsets, is_verbose=False))[:2] == [
        ["GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"],
        ["g", "t", "0", "4", "7"],
    ]


def test_members_have_instances_epochs_and_assignments_where_there_are_any() -> None:
    old = member("m", 1, 0, is_upgraded=False, member_epoch=1, target=frozenset({("t", 0)}))
    new = member("n", is_upgraded=True, member_epoch=2, target=frozenset(), group_instance_id="i")
    short = cells(member_lines(group(old), is_verbose=False))
    assert short[0] == ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    assert short[1] == ["g", "m", "/h", "app", "2"]
    titles, first, second = cells(member_lines(group(old, new), is_verbose=True))
    assert titles[2] == "GROUP-INSTANCE-ID"
    assert titles[-1] == "UPGRADED"
    assert first[-6:] == ["2", "1", "t:0,1", "1", "t:0", "false"]
    assert second[2] == "i"
    assert second[-6:] == ["0", "2", "-", "1", "-", "true"]


def test_members_of_a_share_group_are_sorted_and_have_their_assignment() -> None:
    described = group(member("n", 1, member_epoch=3), member("m"), group_type="share")
    assert cells(member_lines(described, is_verbose=True))[1:] == [
        ["g", "m", "/h", "app", "0", "-"],
        ["g", "n", "/h", "app", "1", "3", "t:1"],
    ]


def test_the_state_has_the_coordinator_and_with_verbose_the_epochs() -> None:
    assert cells(state_lines(group(member("m")), is_verbose=False))[1] == [
        *("g", "h:9", "(1)", "uniform", "Stable", "1"),
    ]
    share = state_lines(group(group_type="share"), is_verbose=True)
    assert cells(share)[1] == ["g", "h:9", "(1)", "Stable", "2", "1", "0"]
    classic = group(assignor="", group_epoch=None, assignment_epoch=None)
    assert cells(state_lines(classic, is_verbose=True))[1][3:] == ["-", "Stable", "-", "-", "0"]


def test_new_offsets_and_statuses_are_sorted() -> None:
    assert cells(reset_lines({"g": {("t", 1): 5, ("a", 0): 3}}))[1:] == [
        ["g", "a", "0", "3"],
        ["g", "t", "1", "5"],
    ]
    assert cells(status_lines({("t", -1): "Successful", ("a", 0): "Error: x"}))[1:] == [
        ["a", "0", "Error:", "x"],
        ["t", "-", "Successful"],
    ]
