"""The tables of `mock-kafka groups --describe` for streams groups, as kafka-streams-groups.sh has.

Source: Kafka's `StreamsGroupCommand`.
"""

from collections.abc import Mapping

from client.resources import GroupDescription, PartitionKey, PartitionOffset, StreamsTasks
from client.tools.group_tables import (
    CLIENT,
    GROUP,
    MISSING,
    PARTITION,
    TOPIC,
    Column,
    epoch_text,
    table,
)

_TARGET_EPOCH: Column = ("TARGET-ASSIGNMENT-EPOCH", 25)


def read_partitions(group: GroupDescription) -> set[PartitionKey]:
    """Return the partitions that active tasks of the group read."""
    return {key for member in group.members for key in member.assigned}


def streams_offset_lines(
    group: GroupDescription,
    committed: Mapping[PartitionKey, PartitionOffset],
    start_offsets: Mapping[PartitionKey, int | None],
    end_offsets: Mapping[PartitionKey, int | None],
    *,
    is_verbose: bool,
) -> list[str]:
    """Return the lines of `--describe`; none without members.

    The lag of a partition without a committed offset counts from the start of its log.
    """
    if not group.members:
        return []
    columns = [GROUP, TOPIC, PARTITION]
    if is_verbose:
        columns += [("CURRENT-OFFSET", 15), ("LEADER-EPOCH", 15), ("LOG-END-OFFSET", 15)]
    columns.append(("OFFSET-LAG", 15))
    rows = []
    for key in sorted(read_partitions(group)):
        offset, end = committed.get(key), end_offsets.get(key)
        begin = start_offsets.get(key) if offset is None else offset.offset
        row = [group.group_id, key[0], str(key[1])]
        if is_verbose:
            row += [MISSING if offset is None else str(offset.offset), epoch_text(offset)]
            row.append(MISSING if end is None else str(end))
        row.append(MISSING if begin is None or end is None else str(end - begin))
        rows.append(row)
    return table(columns, rows, is_last_padded=is_verbose)


def streams_member_lines(group: GroupDescription, *, is_verbose: bool) -> list[str]:
    """Return the lines of `--describe --members`; none without members."""
    if not group.members:
        return []
    member_column, process_column = ("MEMBER", 15), ("PROCESS", 15)
    columns = [GROUP, member_column, process_column, CLIENT, ("ASSIGNMENTS", 0)]
    if is_verbose:
        # Kafka's tool has no space after the topology epoch, which has 15 places.
        columns[1:3] = [_TARGET_EPOCH, ("TOPOLOGY-EPOCH", 14), member_column]
        columns[4:4] = [("MEMBER-PROTOCOL", 15), ("MEMBER-EPOCH", 15), process_column]
    rows = []
    for member in group.members:
        tasks = _tasks_text(member.tasks)
        row = [group.group_id, member.member_id, member.process_id, member.client_id, tasks]
        if is_verbose:
            protocol = "streams" if member.is_upgraded else "classic"
            row[1:3] = [str(group.assignment_epoch), str(group.topology_epoch), member.member_id]
            row[4:4] = [protocol, str(member.member_epoch), member.process_id]
            row[-1] += _tasks_text(member.target_tasks, "TARGET-")
        rows.append(row)
    return table(columns, rows)


def streams_state_lines(group: GroupDescription, *, is_verbose: bool) -> list[str]:
    """Return the lines of `--describe --state`."""
    address = group.coordinator
    coordinator = f"{address} ({group.coordinator_id})"
    columns = [GROUP, ("COORDINATOR (ID)", 25), ("ASSIGNOR", 15), ("STATE", 25)]
    row = [group.group_id, coordinator, group.assignor, group.state]
    if is_verbose:
        columns += [("GROUP-EPOCH", 15), _TARGET_EPOCH]
        row += [str(group.group_epoch), str(group.assignment_epoch)]
    columns.append(("#MEMBERS", 0))
    row.append(str(len(group.members)))
    return table(columns, [row])


def _tasks_text(tasks: StreamsTasks | None, prefix: str = "") -> str:
    if tasks is None:
        return ""
    text = ""
    for name, found in (
        ("ACTIVE", tasks.active),
        ("STANDBY", tasks.standby),
        ("WARMUP", tasks.warmup),
    ):
        text += f"{prefix}{name}: " if found else ""
        for subtopology, indexes in found.items():
            text += f"{subtopology}:[{','.join(map(str, indexes))}]; "
    return text
