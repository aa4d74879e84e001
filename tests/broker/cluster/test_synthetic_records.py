import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster.synthetic_records import TIMESTAMP_MAX
from broker.config.synthetic_keys import ENDLESS, KEPT_BYTES_MAX, TIMESTAMP_MS
from protocol.records import max_timestamp
from tests.broker.cluster.synthetic_topic import read_all, synthetic_log, synthetic_records


def test_the_records_depend_on_seed_topic_and_partition() -> None:
    def values(partition: int = 0, topic: str = "made", seed: int = 0) -> list[bytes | None]:
        log = synthetic_log(partition, topic, seed=seed, key="uniform(1000)", batch_records=5)
        return [v for record in read_all(log, 0, 20) for v in (record.key, record.value)]

    same = values()
    assert values() == same
    others = [values(seed=1), values(topic="other"), values(partition=1)]
    assert all(other != same for other in others)


def test_values_repeat_after_the_distinct_batches_and_drawn_keys_do_not() -> None:
    log = synthetic_log(batch_records=4, distinct_batches=3, key="uniform(1000000)")
    records = read_all(log, 0, 48)
    values = [record.value for record in records]
    assert values[:12] == values[12:24] == values[36:48]
    assert len(set(values[:12])) == 12
    assert len({record.key for record in records}) == 48


@pytest.mark.parametrize(
    ("text", "low", "high"), [("7", 7, 7), ("uniform(3,9)", 3, 9), ("lognormal(100,0.5)", 10, 1000)]
)
def test_sizes_of_values(text: str, low: int, high: int) -> None:
    sizes = [len(r.value or b"") for r in read_all(synthetic_log(value_size=text), 0, 2000)]
    assert low <= min(sizes) <= max(sizes) <= high
    assert (len(set(sizes)) > 1) == (low < high)
    if text.startswith("log"):
        assert 90 < sorted(sizes)[len(sizes) // 2] < 110


def test_a_counter_is_the_offset_with_leading_zeros() -> None:
    log = synthetic_log(key="counter", batch_records=3)
    start = ENDLESS - 7
    keys = [record.key for record in read_all(log, start, ENDLESS)]
    assert keys == [str(offset).zfill(19).encode() for offset in range(start, ENDLESS)]


def test_a_key_has_the_digits_of_the_last_one() -> None:
    keys = {record.key for record in read_all(synthetic_log(key="zipf(101,1)"), 0, 500)}
    assert all(key is not None and len(key) == 3 for key in keys)
    assert b"000" in keys


@given(
    records_per_s=st.integers(1, 10_000),
    batch_records=st.integers(1, 20),
    start=st.integers(0, 100),
)
def test_timestamps_ascend_from_the_base_at_the_rate(
    records_per_s: int, batch_records: int, start: int
) -> None:
    log = synthetic_log(
        records_per_second=records_per_s,
        batch_records=batch_records,
        log_start_offset=start,
        value_size=1,
    )
    first = start - start % batch_records
    timestamps = [r.timestamp for r in read_all(log, first, first + 200)]
    assert timestamps == sorted(timestamps)
    assert timestamps[0] == TIMESTAMP_MS
    for number, timestamp in enumerate(timestamps):
        exact = number * 1000 / records_per_s
        assert exact - 2 < timestamp - TIMESTAMP_MS <= exact


def test_a_timestamp_that_is_too_large_is_the_largest_one() -> None:
    log = synthetic_log(records_per_second=1, batch_records=10)
    (batch,) = log.read(ENDLESS - 20, 0, at_least_one=True)
    assert max_timestamp(batch) == TIMESTAMP_MAX


def test_large_batches_are_fewer_so_that_memory_has_a_bound() -> None:
    records = synthetic_records(batch_records=8, value_size=1 << 20, distinct_batches=4096)
    sizes = {id(t): t.size_bytes or 0 for t in (records.template(0, n, 8) for n in range(9))}
    assert len(sizes) == 8
    assert sum(sizes.values()) < 1.01 * KEPT_BYTES_MAX


@given(
    timestamp=st.integers(TIMESTAMP_MS - 100, TIMESTAMP_MS + 3000),
    records_per_s=st.sampled_from([1, 7, 300, 1000, 5000]),
    batch_records=st.integers(1, 9),
)
def test_the_first_batch_from_a_time_is_that_of_a_search(
    timestamp: int, records_per_s: int, batch_records: int
) -> None:
    log = synthetic_log(
        log_end_offset=200,
        value_size=0,
        records_per_second=records_per_s,
        batch_records=batch_records,
    )
    batches = log.read(0, 1 << 20, at_least_one=True)
    numbers = [n for n, batch in enumerate(batches) if max_timestamp(batch) >= timestamp]
    found = log.records.first_number_from(timestamp)
    if numbers:
        assert found == numbers[0]
    else:
        assert found * batch_records >= 200 - batch_records
