"""The file of `mock-kafka groups --reset-offsets --from-file`: new offsets as CSV lines.

Source: Kafka's `ConsumerGroupCommand.parseResetPlan`.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

from client.resources import PartitionKey
from client.tools.session import ToolError

COLUMNS = ("topic", "partition", "offset")
ResetPlan = dict[str, dict[PartitionKey, int]]
"""New offsets by group and partition."""


def read_reset_plan(path: Path, group_ids: Sequence[str]) -> ResetPlan:
    """Return the offsets in a file, as `--export` prints them.

    Its lines are `group,topic,partition,offset`; for a single group they may leave the group out.

    Raises:
        ToolError: the file cannot be read, or a line of it is different.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except OSError as error:
        raise ToolError(f"cannot read {path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ToolError(f"cannot read {path}: {error}") from error
    has_groups = len(group_ids) != 1 or (bool(rows) and len(rows[0]) != len(COLUMNS))
    plan: ResetPlan = {}
    for number, row in enumerate(rows, 1):
        try:
            group_id, topic, index, offset = row if has_groups else (group_ids[0], *row)
            plan.setdefault(group_id, {})[topic, int(index)] = int(offset)
        except ValueError as error:
            columns = ",".join(("group", *COLUMNS) if has_groups else COLUMNS)
            raise ToolError(f"{path}, line {number}: expected {columns}") from error
    return plan
