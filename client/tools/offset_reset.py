"""Where `mock-kafka groups --reset-offsets` puts the offsets of a group.

Source: Kafka's `ConsumerGroupCommand.prepareOffsetsToReset`.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping

from client import clock
from client.admin import Admin
from client.errors import ApiError
from client.group_admin import EARLIEST, LATEST
from client.resources import GroupDescription, PartitionKey, PartitionOffset
from client.tools import offset_times
from client.tools.reset_plan import ResetPlan, read_reset_plan
from client.tools.session import ToolError

SCENARIOS = (
    "to_earliest",
    "to_latest",
    "to_current",
    "to_offset",
    "shift_by",
    "to_datetime",
    "by_duration",
    "from_file",
)
"""The options of which one says where to."""


def partitions_of_topics(admin: Admin, words: Iterable[str]) -> list[PartitionKey]:
    """Return the partitions that `TOPIC` or `TOPIC:0,1` name.

    Raises:
        ToolError: the partitions are no numbers.
        ApiError: there is no such topic.
    """
    found: list[PartitionKey] = []
    for word in words:
        topic, separator, numbers = word.partition(":")
        if separator:
            try:
                found += [(topic, int(number)) for number in numbers.split(",")]
            except ValueError as error:
                raise ToolError(f"--topic {word}: expected TOPIC or TOPIC:0,1,2") from error
            continue
        description = admin.describe_topics([topic])[topic]
        if isinstance(description, ApiError):
            raise ApiError(description.error_code, f"topic {topic}: {description}")
        found += [(topic, partition.index) for partition in description.partitions]
    return list(dict.fromkeys(found))


def new_offsets(
    admin: Admin, group_id: str, group: GroupDescription | ApiError, parsed: argparse.Namespace
) -> dict[PartitionKey, int]:
    """Return the new offset of each partition that the options name.

    Raises:
        ToolError: an offset cannot be shifted, because there is none; or a file cannot be read.
        ApiError: a topic or partition does not exist, or its leader does not answer.
    """
    if parsed.from_file is not None:
        return _planned(admin, group_id, read_reset_plan(parsed.from_file, parsed.group))
    is_share = isinstance(group, GroupDescription) and group.group_type == "share"
    if is_share:
        offsets = admin.share_group_offsets(group_id)
        current = {key: offset for key, offset in offsets.items() if offset.offset >= 0}
        known = list(offsets)
    else:
        current = admin.group_offsets(group_id)
        known = list(current)
    partitions = known if parsed.all_topics else partitions_of_topics(admin, parsed.topic)
    if isinstance(group, GroupDescription) and group.group_type == "streams":
        partitions = _of_streams_group(group, partitions, current, has_all=parsed.all_topics)
    if parsed.to_earliest:
        return _log_offsets(admin, partitions, EARLIEST)
    if parsed.to_latest:
        return _log_offsets(admin, partitions, LATEST)
    if parsed.to_current:
        missing = [key for key in partitions if key not in current]
        kept = {key: current[key].offset for key in partitions if key in current}
        return kept | _log_offsets(admin, missing, LATEST)
    if parsed.to_offset is not None:
        return _within_logs(admin, dict.fromkeys(partitions, parsed.to_offset))
    if parsed.shift_by is not None:
        return _within_logs(admin, _shifted(partitions, current, parsed.shift_by))
    if parsed.to_datetime is not None:
        return _offsets_at(admin, partitions, offset_times.timestamp_ms(parsed.to_datetime))
    before_ms = offset_times.duration_ms(parsed.by_duration)
    return _offsets_at(admin, partitions, max(clock.wall_ms() - before_ms, 0))


def _of_streams_group(
    group: GroupDescription,
    partitions: list[PartitionKey],
    committed: Mapping[PartitionKey, PartitionOffset],
    *,
    has_all: bool,
) -> list[PartitionKey]:
    """Return the partitions to reset: with `has_all` only of source topics.

    Source: Kafka's `StreamsGroupCommand`.

    Raises:
        ToolError: the group has no offset of a partition.
    """
    if has_all:
        sources = {topic for part in group.subtopologies for topic in part.source_topics}
        return [key for key in partitions if key[0] in sources]
    if not committed.keys() >= set(partitions):
        raise ToolError(f"One or more topics are not part of the group '{group.group_id}'.")
    return partitions


def _planned(admin: Admin, group_id: str, plan: ResetPlan) -> dict[PartitionKey, int]:
    """Return the offsets of a file for a group, without the partitions of other options."""
    if group_id not in plan:
        print(f"No reset plan for group {group_id} found.", file=sys.stderr)
    return _within_logs(admin, plan.get(group_id, {}))


def _shifted(
    partitions: Iterable[PartitionKey], current: Mapping[PartitionKey, PartitionOffset], by: int
) -> dict[PartitionKey, int]:
    shifted = {}
    for topic, index in partitions:
        offset = current.get((topic, index))
        if offset is None:
            raise ToolError(
                f"Cannot shift offset for partition {topic}-{index} since there is no current"
                " committed offset"
            )
        shifted[topic, index] = offset.offset + by
    return shifted


def _log_offsets(
    admin: Admin, partitions: Iterable[PartitionKey], timestamp_ms: int
) -> dict[PartitionKey, int]:
    found = {}
    for (topic, index), offset in admin.list_offsets(partitions, timestamp_ms).items():
        if isinstance(offset, ApiError):
            raise ApiError(offset.error_code, f"partition {topic}-{index}: {offset}")
        found[topic, index] = offset
    return found


def _offsets_at(
    admin: Admin, partitions: Iterable[PartitionKey], timestamp_ms: int
) -> dict[PartitionKey, int]:
    """Return the offset of the first record at a time or after it, or else the end of the log."""
    found = _log_offsets(admin, partitions, timestamp_ms)
    missing = [key for key, offset in found.items() if offset < 0]
    for topic, index in missing:
        print(
            f"Partition {index} of topic {topic} has no later record: taking the end of its log.",
            file=sys.stderr,
        )
    return found | _log_offsets(admin, missing, LATEST)


def _within_logs(admin: Admin, requested: Mapping[PartitionKey, int]) -> dict[PartitionKey, int]:
    """Return offsets that exist: those beyond an end of the log are moved to it."""
    first, last = _log_offsets(admin, requested, EARLIEST), _log_offsets(admin, requested, LATEST)
    found = {key: min(max(offset, first[key]), last[key]) for key, offset in requested.items()}
    for (topic, index), offset in found.items():
        if offset != requested[topic, index]:
            print(
                f"Offset {requested[topic, index]} is not in partition {topic}-{index}:"
                f" taking {offset}.",
                file=sys.stderr,
            )
    return found
