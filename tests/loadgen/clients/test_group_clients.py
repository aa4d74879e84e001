"""Group members share a topic's partitions, read its records, commit, and catch up after a lag."""

import pytest

from tests.loadgen.runs import of_api, plan_of, received, run


@pytest.mark.slow
def test_members_join_read_and_commit(servers: str) -> None:
    plan = plan_of(
        "[{name: w, behaviour: steady, topic: t, clients: 4, rate: 100},"
        " {name: r, behaviour: consumer-group, topic: t, clients: 2, rate: 30}]",
        1.0,
    )
    rows = run(plan, servers)
    joined = [row for row in of_api(rows, "JoinGroup") if row["error_code"] == 0]
    assert {row["client"] for row in joined} == {4, 5}
    fetches = of_api(rows, "Fetch")
    assert {row["error_code"] for row in fetches if row["status"] == "responded"} == {0}
    assert len({row["client"] for row in fetches}) == 2
    assert {row["error_code"] for row in of_api(rows, "OffsetCommit")} <= {0, 22, 27}
    assert any(row["error_code"] == 0 for row in of_api(rows, "OffsetCommit"))


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_that_lags_catches_up_with_small_fetches(servers: str, protocol: str) -> None:
    plan = plan_of(
        "[{name: w, behaviour: steady, topic: t, clients: 4, rate: 300, record_bytes: 1000},"
        f" {{name: r, behaviour: consumer-group, topic: t, rate: 20, group: lags-{protocol},"
        f" fetch_bytes: 4000, group_protocol: {protocol}, lag_s: 0.4, lag_every_s: 0.8}}]",
        1.0,
    )
    rows = run(plan, servers)
    fetches = sorted(of_api(rows, "Fetch", "r"), key=lambda row: row["sent_us"])
    in_lag = [row for row in fetches if 410_000 < row["sent_us"] < 790_000]
    assert in_lag == []
    catching_up = [row for row in fetches if row["kind"] == "catch_up"]
    # More than a hundred batches of 1,070 bytes wait, three of which fit into a Fetch of each of
    # two or more partitions.
    assert len(catching_up) >= 5
    assert min(row["sent_us"] for row in catching_up) > 790_000
    assert {row["error_code"] for row in fetches} == {0}
    # Polls that were due while it lagged have the latency of the lag.
    waited = [row["response_us"] - row["intended_us"] for row in fetches if row["kind"] == "new"]
    assert max(waited) > 300_000


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_what_a_member_receives_is_recorded_and_nothing_in_a_pause(
    servers: str, protocol: str
) -> None:
    plan = plan_of(
        "[{name: w, behaviour: steady, topic: t, clients: 4, rate: 300, stop_s: 1.2},"
        f" {{name: r, behaviour: consumer-group, topic: t, arrival: closed, group: p-{protocol},"
        f" group_protocol: {protocol}, pauses: [{{at_s: 0.4, for_s: 0.5}}]}}]",
        1.5,
    )
    rows, receipts = received(plan, servers)
    assert not [row for row in of_api(rows, "Fetch") if 410_000 < row["sent_us"] < 890_000]
    assert [row for row in receipts if row["received_us"] > 890_000]
    ends: dict[int, int] = {}
    for row in receipts:  # each range begins where the one before ended
        assert row["first_offset"] == ends.get(row["partition"], 0)
        assert row["first_offset"] < row["next_offset"] <= row["high_watermark"]
        ends[row["partition"]] = row["next_offset"]
    produced = of_api(rows, "Produce")
    assert sum(ends.values()) == len(produced) > 200
    assert {row["tenant"] for row in receipts} == {"r"}


@pytest.mark.slow
def test_records_of_one_broker_do_not_wait_for_another_broker(servers: str) -> None:
    # The four partitions are led by two brokers; only that of the first one gets records.
    plan = plan_of(
        "[{name: w, behaviour: steady, topic: t, rate: 100},"
        " {name: r, behaviour: consumer-group, topic: t, arrival: closed, group: one-busy}]",
        1.5,
    )
    rows, receipts = received(plan, servers)
    fetches = of_api(rows, "Fetch")
    nodes = {row["node"] for row in fetches}
    assert len(nodes) == 2
    ends = {
        node: sorted(row["response_us"] for row in fetches if row["node"] == node) for node in nodes
    }
    [busy] = {row["node"] for row in of_api(rows, "Produce")}
    [idle] = nodes - {busy}
    # A Fetch without records waits for 20 ms. In that time the busy broker answers more than once.
    assert len(ends[busy]) > 1.3 * len(ends[idle]) > 20
    assert {row["error_code"] for row in fetches if row["status"] == "responded"} == {0}
    assert {row["status"] for row in fetches} == {"responded"}
    assert sum(row["next_offset"] - row["first_offset"] for row in receipts) == len(
        of_api(rows, "Produce")
    )
