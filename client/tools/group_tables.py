"""The tables of `mock-kafka groups`, in the format of kafka-consumer-groups.sh and its siblings.

A column is as wide as its title, its minimum or its longest value; the last one is not padded.
"""

from collections.abc import Iterable, Mapping, Sequence

from client.group_messages import by_topic
from client.resources import (
    GroupDescription,
    GroupListing,
    MemberDescription,
    PartitionKey,
    PartitionOffset,
)

MISSING = "-"
_WIDTH_MIN = 15
_EPOCH_UNKNOWN = -1

Column = tuple[str, int]
"""The title of a column, and its minimum width."""

GROUP: Column = ("GROUP", _WIDTH_MIN)
TOPIC: Column = ("TOPIC", _WIDTH_MIN)
PARTITION: Column = ("PARTITION", 10)
CLIENT: Column = ("CLIENT-ID", _WIDTH_MIN)
_CONSUMER: Column = ("CONSUMER-ID", _WIDTH_MIN)
_HOST: Column = ("HOST", _WIDTH_MIN)


def listing_lines(
    listings: Sequence[GroupListing], *, has_types: bool, has_states: bool
) -> list[str]:
    """Return the lines of `--list` with `--type` or `--state`."""
    width = max([_WIDTH_MIN, *(len(listing.group_id) for listing in listings)]) + 10
    titles = ["TYPE"] * has_types + ["STATE"] * has_states
    rows = [("GROUP", *titles)]
    for listing in listings:
        values = [_capitalized(listing.group_type)] * has_types + [listing.state] * has_states
        rows.append((listing.group_id, *values))
    return [
        " ".join([f"{group_id:<{width}}", *(f"{value:<20}" for value in values)])
        for group_id, *values in rows
    ]


def offset_lines(
    group: GroupDescription,
    committed: Mapping[PartitionKey, PartitionOffset],
    end_offsets: Mapping[PartitionKey, int | None],
    *,
    is_verbose: bool,
) -> list[str]:
    """Return the lines of `--describe` of a classic or consumer group, without its title if empty.

    Members with the most partitions come first, then partitions without a member.
    """
    owners: list[tuple[MemberDescription | None, PartitionKey]] = []
    for member in sorted(group.members, key=lambda member: -len(member.assigned)):
        owners += [(member, key) for key in sorted(member.assigned, key=lambda key: key[::-1])]
    owned = {key for _member, key in owners}
    owners += [(None, key) for key in sorted(committed) if key not in owned]
    columns = [GROUP, TOPIC, PARTITION]
    columns += [("LEADER-EPOCH", 15)] if is_verbose else []
    columns += [("CURRENT-OFFSET", 15), ("LOG-END-OFFSET", 15), ("LAG", 15)]
    columns += [_CONSUMER, _HOST, CLIENT]
    rows = []
    for owner, (topic, index) in owners:
        offset, end_offset = committed.get((topic, index)), end_offsets.get((topic, index))
        row = [group.group_id, topic, str(index)]
        row += [epoch_text(offset)] if is_verbose else []
        row += [_text(None if offset is None else offset.offset), _text(end_offset)]
        row.append(_text(_lag(offset, end_offset)))
        shown: tuple[str | None, ...] = (None, None, None)
        if owner is not None:
            shown = (owner.member_id, owner.client_host, owner.client_id)
        rows.append([*row, *map(_text, shown)])
    return table(columns, rows) if rows else []


def share_offset_lines(
    group: GroupDescription, offsets: Mapping[PartitionKey, PartitionOffset], *, is_verbose: bool
) -> list[str]:
    """Return the lines of `--describe` of a share group, as Kafka 4.2 and later prints them."""
    columns = [GROUP, TOPIC, PARTITION]
    columns += [("LEADER-EPOCH", 13)] if is_verbose else []
    columns += [("START-OFFSET", 13), ("LAG", 0)]
    rows = []
    for (topic, index), offset in sorted(offsets.items()):
        is_unknown = offset.offset < 0
        row = [group.group_id, topic, str(index)]
        row += [MISSING if is_unknown else epoch_text(offset)] if is_verbose else []
        row += [MISSING if is_unknown else str(offset.offset), _text(offset.lag)]
        rows.append(row)
    return table(columns, rows)


def member_lines(group: GroupDescription, *, is_verbose: bool) -> list[str]:
    """Return the lines of `--describe --members`."""
    if group.group_type == "share":
        return _share_member_lines(group, is_verbose=is_verbose)
    has_instances = any(member.group_instance_id for member in group.members)
    upgraded = {member.is_upgraded for member in group.members}
    is_mixed = {True, False} <= upgraded
    columns = [GROUP, _CONSUMER]
    columns += [("GROUP-INSTANCE-ID", 17)] if has_instances else []
    columns += [_HOST, CLIENT, ("#PARTITIONS", 15)]
    if is_verbose:
        columns += [("CURRENT-EPOCH", 15), ("CURRENT-ASSIGNMENT", 20)]
        columns += [("TARGET-EPOCH", 15), ("TARGET-ASSIGNMENT", 20)]
        columns += [("UPGRADED", 0)] if is_mixed else []
    rows = []
    for member in group.members:
        row = [group.group_id, member.member_id]
        row += [member.group_instance_id or ""] if has_instances else []
        row += [member.client_host, member.client_id, str(len(member.assigned))]
        if is_verbose:
            row += [_text(member.member_epoch), _assignment(member.assigned)]
            row += [_text(group.assignment_epoch), _assignment(member.target or ())]
            row += [_text(member.is_upgraded).lower()] if is_mixed else []
        rows.append(row)
    # Kafka's tool pads the last of these columns, too.
    is_padded = not (is_verbose and is_mixed)
    lines = table(columns, rows, is_last_padded=is_padded)
    return lines if is_verbose else [f"{line} " for line in lines]


def _share_member_lines(group: GroupDescription, *, is_verbose: bool) -> list[str]:
    columns = [GROUP, _CONSUMER, _HOST, CLIENT, ("#PARTITIONS", 12)]
    columns += [("MEMBER-EPOCH", 13)] if is_verbose else []
    columns.append(("ASSIGNMENT", 0))
    rows = []
    for member in sorted(group.members, key=lambda member: member.member_id):
        row = [group.group_id, member.member_id, member.client_host, member.client_id]
        row.append(str(len(member.assigned)))
        row += [_text(member.member_epoch)] if is_verbose else []
        row.append("" if not member.assigned else _assignment(member.assigned))
        rows.append(row)
    return table(columns, rows)


def state_lines(group: GroupDescription, *, is_verbose: bool) -> list[str]:
    """Return the lines of `--describe --state`."""
    address = group.coordinator
    coordinator = f"{address}  ({group.coordinator_id})"
    columns: list[Column] = [GROUP, ("COORDINATOR (ID)", 25)]
    row = [group.group_id, coordinator]
    if group.group_type == "share":
        columns.append(("STATE", 15))
        row.append(group.state)
        epochs: list[Column] = [("GROUP-EPOCH", 12), ("ASSIGNMENT-EPOCH", 17)]
    else:
        columns += [("ASSIGNMENT-STRATEGY", 20), ("STATE", 20)]
        row += [group.assignor or MISSING, group.state]
        epochs = [("GROUP-EPOCH", 15), ("TARGET-ASSIGNMENT-EPOCH", 25)]
    if is_verbose:
        columns += epochs
        row += [_text(group.group_epoch), _text(group.assignment_epoch)]
    columns.append(("#MEMBERS", 0))
    row.append(str(len(group.members)))
    return table(columns, [row])


def reset_lines(resets: Mapping[str, Mapping[PartitionKey, int]]) -> list[str]:
    """Return the lines of `--reset-offsets`, by group."""
    rows = [
        (group_id, topic, str(index), str(offset))
        for group_id, offsets in resets.items()
        for (topic, index), offset in sorted(offsets.items())
    ]
    return table([GROUP, TOPIC, PARTITION, ("NEW-OFFSET", 0)], rows)


def status_lines(statuses: Mapping[PartitionKey, str]) -> list[str]:
    """Return the lines of `--delete-offsets`."""
    width = max([_WIDTH_MIN, *(len(topic) for topic, _index in statuses)])
    rows = [("TOPIC", "PARTITION", "STATUS")]
    rows += [
        (topic, str(index) if index >= 0 else MISSING, status)
        for (topic, index), status in sorted(statuses.items())
    ]
    return [f"{a:<{width}} {b:<10} {c:<15}" for a, b, c in rows]


def table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], *, is_last_padded: bool = False
) -> list[str]:
    """Return a title line and a line for each row."""
    widths = [
        max([width, *(len(row[number]) for row in rows)]) if width else 0
        for number, (_title, width) in enumerate(columns)
    ]
    if not is_last_padded:
        widths[-1] = 0
    titles = [title for title, _width in columns]
    return [
        " ".join(f"{value:<{width}}" for value, width in zip(row, widths, strict=True))
        for row in (titles, *rows)
    ]


def _assignment(partitions: Iterable[PartitionKey]) -> str:
    parts = [
        f"{topic}:{','.join(map(str, indexes))}"
        for topic, indexes in by_topic(sorted(partitions)).items()
    ]
    return ";".join(parts) or MISSING


def _text(value: object) -> str:
    return MISSING if value is None else str(value)


def _lag(offset: PartitionOffset | None, end_offset: int | None) -> int | None:
    return None if offset is None or end_offset is None else end_offset - offset.offset


def epoch_text(offset: PartitionOffset | None) -> str:
    """Return the leader epoch, or `MISSING` if it is unknown."""
    if offset is None or offset.leader_epoch == _EPOCH_UNKNOWN:
        return MISSING
    return str(offset.leader_epoch)


def _capitalized(group_type: str) -> str:
    return group_type.capitalize() or "Unknown"
