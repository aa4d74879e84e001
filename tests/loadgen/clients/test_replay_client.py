"""A replay on a broker keeps the order of each producer, the times, the sizes and the churn."""

from typing import Any

import pytest

from loadgen.learning.replayed_traffic import Scale, replayed
from loadgen.preparation import prepare
from tests.loadgen.learning.made_traffic import plan_of, rows_of, traffic_of
from tests.loadgen.runs import of_api, run_on


def replay_of(*tenants: str, servers: str, prefix: str, **scale: Any) -> tuple[list[Any], Any]:
    rows = sorted(rows_of(plan_of(*tenants, duration_s=4)), key=lambda row: row["time_us"])
    found = replayed(traffic_of(rows), prefix, Scale(topic_prefix=prefix, **scale), {})
    target = prepare(found.plan, prefix, servers, sets_quotas=False)
    batches = run_on(found.plan, prefix, target, events=found.events.to_batches())
    return [row for batch in batches for row in batch.to_pylist()], rows


@pytest.mark.slow
def test_a_replay_keeps_order_scaled_times_and_sizes(servers: str) -> None:
    sent, rows = replay_of(
        "name: shop, behaviour: steady, topic: t, clients: 3, rate: 50, record_bytes: [50, 900]",
        servers=servers,
        prefix="replay-a.",
        speed=8,
    )
    produce = sorted(of_api(sent, "Produce"), key=lambda row: row["event_id"])
    assert {(row["status"], row["error_code"]) for row in produce} == {("responded", 0)}
    zero_us = rows[0]["time_us"]
    assert [row["intended_us"] for row in produce] == [
        round((row["time_us"] - zero_us) / 8) for row in rows
    ]
    assert [row["partition"] for row in produce] == [row["partition"] for row in rows]
    pairs = zip(produce, rows, strict=True)
    around = {replayed_row["bytes"] - row["batch_bytes"] for replayed_row, row in pairs}
    assert len(around) <= 2  # the length of the batch is a varint
    for client in range(3):
        of_client = [row for row in produce if row["client"] == client]
        assert len({row["producer_id"] for row in of_client}) == 1
        in_log = sorted(of_client, key=lambda row: (row["partition"], row["base_offset"]))
        assert [row["event_id"] for row in in_log] == sorted(row["event_id"] for row in of_client)


@pytest.mark.slow
def test_a_replay_has_new_producer_ids_where_the_trace_has_them(servers: str) -> None:
    sent, rows = replay_of(
        "name: loop, behaviour: restart-loop, topic: t, rate: 10, batches: 3",
        "name: lambda, behaviour: new-producer-per-batch, topic: t, rate: 10",
        "name: old, behaviour: steady, topic: t, rate: 10, idempotent: false",
        servers=servers,
        prefix="replay-b.",
        speed=4,
        number=2,
    )
    produce = of_api(sent, "Produce")
    assert len(produce) == 2 * len(rows)
    traced = {row["producer_id"] for row in rows} - {-1}
    used = {row["producer_id"] for row in produce} - {None}
    assert len(used) == 2 * len(traced)
    assert {row["sequence"] for row in produce if row["tenant"] == "loop"} == {0, 1, 2}
    assert {row["producer_id"] for row in produce if row["tenant"] == "old"} == {None}
    assert {(row["status"], row["error_code"]) for row in produce} == {("responded", 0)}
