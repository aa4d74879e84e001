"""Batches with keys, headers and compression: skewed over the partitions, stored exactly once."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.clients.keyed_producer import KeyedFrames, KeyShares
from loadgen.clients.produce_frames import event_of
from loadgen.plan.plan import Tenant
from protocol.records import COMPRESSION_NAMES, read_records
from tests.loadgen.runs import committed_rows, of_api, plan_of, run_and_prepare

SALT_SPAN = 2**62


def test_a_skewed_key_has_its_share_and_others_are_as_frequent() -> None:
    salts = range(0, SALT_SPAN, SALT_SPAN // 10_000)
    equal = Counter(KeyShares(10, 0).key_of(salt) for salt in salts)
    assert set(equal) == set(range(10))
    assert max(equal.values()) - min(equal.values()) <= 2
    skewed = Counter(KeyShares(10, 2).key_of(salt) for salt in salts)
    total = sum((number + 1) ** -2 for number in range(10))
    for number in range(10):
        assert skewed[number] / 10_000 == pytest.approx((number + 1) ** -2 / total, abs=0.001)
    assert KeyShares(3, 1).key_of(SALT_SPAN - 1) == 2


@given(st.sampled_from(COMPRESSION_NAMES), st.integers(0, 2**62), st.integers(8, 5000))
def test_a_batch_has_its_event_key_and_headers(codec: str, event_id: int, size: int) -> None:
    tenant = Tenant(
        "a", "keyed", compression=codec, headers=2, records=3, record_bytes=size, topic="t"
    )
    batch = KeyedFrames(tenant, 0, b"key-7", 5, 9).batch(event_id)
    assert event_of(batch) == event_id
    records = list(read_records(batch))
    assert [record.key for record in records] == [b"key-7"] * 3
    assert {len(record.value or b"") for record in records} == {size}
    assert {len(record.headers) for record in records} == {2}


@pytest.mark.slow
def test_keyed_batches_are_stored_once_in_the_partitions_of_their_keys(servers: str) -> None:
    codecs = "".join(
        f"{{name: {codec}, behaviour: keyed, topic: t, rate: 100, clients: 2, headers: 3, keys: 50,"
        f" key_skew: 1.5, records: 5, record_bytes: 300, compression: {codec}}},"
        for codec in COMPRESSION_NAMES
    )
    rows, spec = run_and_prepare(plan_of(f"[{codecs}]"), servers)
    produce = of_api(rows, "Produce")
    assert {(row["status"], row["error_code"]) for row in produce} == {("responded", 0)}
    stored = committed_rows(spec)
    assert Counter(row["event_id"] for row in stored) == Counter(row["event_id"] for row in produce)
    by_partition = Counter(row["partition"] for row in produce)
    assert len(by_partition) == 4
    assert max(by_partition.values()) > 2 * min(by_partition.values())
    sizes = {
        codec: max(row["bytes"] for row in of_api(rows, "Produce", codec))
        for codec in COMPRESSION_NAMES
    }
    assert all(sizes[codec] < sizes["none"] / 2 for codec in COMPRESSION_NAMES[1:])
