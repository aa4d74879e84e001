"""Each consumed record is produced exactly once, in spite of aborts and crashes."""

from collections import Counter

import pytest

from loadgen.analysis.committed_offsets import committed_offsets
from loadgen.plan.plan_file import parse_plan
from tests.loadgen.runs import committed_rows, numbered_name, run_and_prepare


def produced(servers: str, options: str) -> tuple[Counter[tuple[int, int]], dict[int, int]]:
    """Return how often each source record was produced, and the committed offsets."""
    source, topic = numbered_name(), numbered_name()
    plan = parse_plan(
        "duration_s: 1\ndrain_s: 3\n"
        f"topics: [{{name: {source}, partitions: 3}}, {{name: {topic}, partitions: 2}}]\n"
        "tenants:\n"
        # Markers and aborted records are in the source too.
        f"  - {{name: shop, behaviour: transactional, topic: {source}, clients: 3, rate: 60,"
        " abort_every: 3, crash_every: 0}\n"
        f"  - {{name: billing, behaviour: consume-transform-produce, source: {source},"
        f" topic: {topic}, clients: 2, rate: 30, records: 4, abort_every: 3, crash_every: 4,"
        f" {options}}}\n",
        "p.yaml",
    )
    _, spec = run_and_prepare(plan, servers)
    times = Counter(
        (row["source_partition"], row["source_offset"])
        for row in committed_rows(spec)
        if row["topic"] == topic
    )
    return times, {partition: offset for _, partition, offset in committed_offsets(spec)}


@pytest.mark.slow
def test_offsets_move_with_the_records_made_of_what_is_below_them(servers: str) -> None:
    times, offsets = produced(servers, "transactions: true")
    assert set(times.values()) == {1}
    assert len(times) > 20
    assert len(offsets) > 1
    for partition, offset in times:
        assert offset < offsets[partition]


@pytest.mark.slow
def test_without_transactions_crashes_leave_duplicates(servers: str) -> None:
    times, _ = produced(servers, "transactions: false")
    assert max(times.values()) > 1
