"""Blocks of offsets have all that decides when their batches were received."""

import numpy as np
import pyarrow as pa

from loadgen.analysis.received_batches import BATCHES_PER_BLOCK, RECEIPT_COLUMNS, ReceivedBatches
from loadgen.plan.plan import Plan, Tenant

PLAN = Plan(
    name="p",
    duration_s=10.0,
    tenants=(
        Tenant("writer", "steady", topic="t"),
        Tenant("reader", "consumer-group", group="g", topic="t"),
        Tenant("other", "consumer-group", group="h", topic="t"),
    ),
)
RECEIVED = ReceivedBatches(PLAN)


def receipts(*rows: tuple[str, int, int, int, int]) -> pa.Table:
    names = ("tenant", "partition", "received_us", "first_offset", "next_offset")
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    table = table.append_column("high_watermark", table["next_offset"])
    return RECEIVED.of_receipts(table.select(list(RECEIPT_COLUMNS)))


def test_each_group_has_logs_for_itself() -> None:
    logs = receipts(("reader", 3, 1, 0, 5), ("other", 3, 1, 0, 5), ("writer", 3, 1, 0, 5))

    assert logs["log"].to_pylist() == [2**32 + 3, 2 * 2**32 + 3]


def test_what_was_received_before_is_left_out_and_long_ranges_are_cut() -> None:
    size = RECEIVED.block_offsets
    found = RECEIVED.received(
        receipts(
            ("reader", 0, 30, 5, 2 * size + 7),
            ("reader", 0, 10, 0, 10),
            ("reader", 0, 20, 2, 8),
        )
    )

    assert size >= BATCHES_PER_BLOCK
    ranges = found["ranges"]
    assert list(
        zip(*(ranges[name].to_pylist() for name in ranges.column_names[1:]), strict=True)
    ) == [
        (0, 10, 10),
        (10, size, 30),
        (size, 2 * size, 30),
        (2 * size, 2 * size + 7, 30),
    ]
    [cell] = found["lag_cells"].to_pylist()
    assert (cell["received"], cell["position"]) == (2 * size + 7, 2 * size + 7)


def test_a_batch_that_is_behind_all_ranges_or_between_two_is_not_received() -> None:
    log = 2**32
    ranges = pa.table(
        {
            "log": [log, log, log + 1],
            "offset": [4, 8, 0],
            "next_offset": [6, 9, 99],
            "received_us": [700, 900, 5],
        }
    )
    offsets = [0, 4, 5, 6, 8, 20]
    batches = pa.table(
        {
            "log": np.full(len(offsets), log),
            "offset": offsets,
            "intended_us": np.full(len(offsets), 100),
            "number": np.ones(len(offsets), np.int16),
        }
    )

    found = RECEIVED.end_to_ends(batches, ranges, 10_100).to_pylist()
    by_time = {row["sum_us"] // row["events"]: (row["events"], row["received"]) for row in found}
    assert by_time == {600: (2, 2), 800: (1, 1), 10_000: (3, 0)}
    assert {(row["tenant"], row["group_id"], row["period"]) for row in found} == {
        ("writer", "g", 0)
    }
