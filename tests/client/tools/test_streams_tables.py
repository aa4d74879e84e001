"""The tables of `mock-kafka groups --describe` for streams groups."""

from typing import Any

from client.resources import (
    Address,
    GroupDescription,
    MemberDescription,
    PartitionOffset,
    StreamsTasks,
)
from client.tools.streams_tables import (
    streams_member_lines,
    streams_offset_lines,
    streams_state_lines,
)

TASKS = StreamsTasks({"0": (0, 1)}, {"1": (2,)}, {})
TARGET = StreamsTasks({"0": (0,), "1": (3,)}, {}, {"0": (1,)})


def member(member_id: str, **fields: Any) -> MemberDescription:
    values: dict[str, Any] = {
        "assigned": frozenset({("t", 1), ("t", 0)}),
        "member_epoch": 5,
        "is_upgraded": True,
        "process_id": "p",
        "tasks": TASKS,
        "target_tasks": TARGET,
    }
    return MemberDescription(member_id, None, "app", "/h", **(values | fields))


def group(*members: MemberDescription) -> GroupDescription:
    return GroupDescription(
        group_id="g",
        group_type="streams",
        state="Stable",
        assignor="sticky",
        coordinator_id=1,
        coordinator=Address("h", 9),
        members=members,
        group_epoch=4,
        assignment_epoch=3,
        topology_epoch=2,
    )


def test_lag_counts_from_the_committed_offset_or_from_the_start_of_the_log() -> None:
    committed = {("t", 0): PartitionOffset(7, 1), ("other", 0): PartitionOffset(1)}
    starts, ends = {("t", 0): 1, ("t", 1): 2}, {("t", 0): 10, ("t", 1): 10}
    described = group(member("m"))
    assert streams_offset_lines(described, committed, starts, ends, is_verbose=False) == [
        "GROUP           TOPIC           PARTITION  OFFSET-LAG",
        "g               t               0          3",
        "g               t               1          8",
    ]
    assert streams_offset_lines(described, committed, starts, ends, is_verbose=True) == [
        (
            "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LEADER-EPOCH    "
            "LOG-END-OFFSET  OFFSET-LAG     "
        ),
        (
            "g               t               0          7               1               "
            "10              3              "
        ),
        (
            "g               t               1          -               -               "
            "10              8              "
        ),
    ]


def test_a_partition_without_leader_has_no_lag() -> None:
    lines = streams_offset_lines(group(member("m")), {}, {}, {("t", 0): None}, is_verbose=True)
    assert [line.split()[3:] for line in lines[1:]] == [["-", "-", "-", "-"]] * 2


def test_members_have_their_process_and_their_tasks_of_each_kind() -> None:
    old = member("old", is_upgraded=False, tasks=StreamsTasks({}, {}, {}), target_tasks=None)
    assert streams_member_lines(group(member("m"), old), is_verbose=False) == [
        "GROUP           MEMBER          PROCESS         CLIENT-ID       ASSIGNMENTS",
        (
            "g               m               p               app             "
            "ACTIVE: 0:[0,1]; STANDBY: 1:[2]; "
        ),
        "g               old             p               app             ",
    ]
    assert streams_member_lines(group(member("m"), old), is_verbose=True) == [
        (
            "GROUP           TARGET-ASSIGNMENT-EPOCH   TOPOLOGY-EPOCH MEMBER         "
            " MEMBER-PROTOCOL MEMBER-EPOCH    PROCESS         CLIENT-ID       ASSIGNMENTS"
        ),
        (
            "g               3                         2              m              "
            " streams         5               p               app             ACTIVE: 0:[0,1]; "
            "STANDBY: 1:[2]; TARGET-ACTIVE: 0:[0]; 1:[3]; TARGET-WARMUP: 0:[1]; "
        ),
        (
            "g               3                         2              old            "
            " classic         5               p               app             "
        ),
    ]


def test_a_group_without_members_has_only_a_state() -> None:
    assert streams_member_lines(group(), is_verbose=False) == []
    assert streams_offset_lines(group(), {}, {}, {}, is_verbose=False) == []
    assert streams_state_lines(group(), is_verbose=False) == [
        (
            "GROUP           COORDINATOR (ID)          ASSIGNOR        STATE                    "
            " #MEMBERS"
        ),
        "g               h:9 (1)                   sticky          Stable                    0",
    ]
    verbose = streams_state_lines(group(), is_verbose=True)
    assert verbose[0].split()[-3:] == ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "#MEMBERS"]
    assert verbose[1].split()[-3:] == ["4", "3", "0"]
