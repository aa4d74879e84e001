"""Which batches fit into a shape, and that they are stored as the ordinary path stores them.

All that a request leaves behind is compared with the ordinary path in
`tests/broker/dispatch/test_produce_cache.py`.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.cluster.cluster import Cluster
from broker.produce.fitting_batches import fitting_batches, store_fitting
from broker.produce.request_run import RequestRun
from broker.produce.request_shape import RequestShape, shape_of
from protocol.records import HEADER_BYTES, read_header
from tests.batches import NOW_MS, altered, filled_batch, make_batch
from tests.broker.cluster_builder import ALL_VERSIONS, make_cluster
from tests.broker.connection_driver import request_frame
from tests.examples import examples
from tests.produce_requests import produce_request

PARTITIONS = 3
MESSAGE_BYTES_MAX = 1_048_588
"""max.message.bytes of a topic that sets none."""
VERSIONS = range(3, 13)


def a_frame(*values: bytes, version: int = 9, producer_id: int = -1, sequence: int = -1) -> bytes:
    """One batch of two records for each of the first partitions."""
    batches = [
        make_batch(value, value, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        for value in values
    ]
    return frame_of(batches, version)


def frame_of(batches: list[bytes], version: int) -> bytes:
    return request_frame(produce_request(list(enumerate(batches)), version=version), version, 1)


def cluster_and_shape(frame: bytes, **overrides: str) -> tuple[Cluster, RequestShape]:
    cluster = make_cluster(1, **{**ALL_VERSIONS, **overrides})
    cluster.create_topic("t", [(1,)] * PARTITIONS, {})
    shape = shape_of(cluster, 1, frame, 4, len(frame))
    assert shape is not None
    return cluster, shape


def does_fit(shape: RequestShape, frame: bytes, end: int | None = None) -> bool:
    end = len(frame) if end is None else end
    return fitting_batches(shape, frame, 4, end, NOW_MS, None) is not None


def store(cluster: Cluster, shape: RequestShape, frame: bytes) -> list[int]:
    batches = fitting_batches(shape, frame, 4, len(frame), NOW_MS, None)
    assert batches is not None
    start_offsets = store_fitting(cluster, shape, batches, len(frame), NOW_MS)
    assert start_offsets == [log.log_start_offset for log in shape.logs]
    return list(batches.base_offsets)


sizes_of_batches = st.one_of(
    st.integers(HEADER_BYTES, 300), st.sampled_from((16_382, 16_383, 20_000, 1_100_000))
)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.sampled_from(VERSIONS),
    st.lists(st.tuples(*[sizes_of_batches] * PARTITIONS), min_size=1, max_size=3),
)
def test_batches_of_all_sizes_fit_unless_they_are_too_large(
    version: int, requests: list[tuple[int, ...]]
) -> None:
    """Size fields of 1 to 3 bytes may stand behind each other."""
    cluster, shape = cluster_and_shape(a_frame(*[b"x"] * PARTITIONS, version=version))
    shape.frame_bytes_max = 2**31
    expected: list[int] = []
    for sizes in requests:
        batches = [altered(filled_batch(0, 2, NOW_MS, size), 16, ">b", 2) for size in sizes]
        frame = frame_of(batches, version)
        if max(sizes) > MESSAGE_BYTES_MAX:
            assert not does_fit(shape, frame)
            continue
        base_offset = 2 * len(expected)
        assert store(cluster, shape, frame) == [base_offset] * PARTITIONS
        expected.append(base_offset)
    for target in shape.targets:
        log = target.partition.log
        assert [read_header(batch, 0).base_offset for batch in log.rewind()] == expected


@pytest.mark.parametrize("retention_bytes", ["-1", "200"])
def test_what_was_sent_is_stored_with_offset_and_epoch(retention_bytes: str) -> None:
    values = [b"first", b"second" * 20, b"third"]
    cluster, shape = cluster_and_shape(a_frame(*values), **{"log.retention.bytes": retention_bytes})
    for sequence in (0, 2):
        frame = a_frame(*values, producer_id=7, sequence=sequence)
        assert store(cluster, shape, frame) == [sequence] * PARTITIONS

    logs = [target.partition.log for target in shape.targets]
    assert cluster.log_bytes == sum(log.size_bytes for log in logs)
    for target, log in zip(shape.targets, logs, strict=True):
        *_, newest = log.rewind()
        header = read_header(newest, 0)
        assert (header.base_offset, header.partition_leader_epoch) == (2, 0)
        assert newest[21:] in frame
        assert [found.last_sequence for found in target.partition.producers.describe()] == [3]


def test_nothing_changes_before_all_batches_of_a_request_fit() -> None:
    frame = a_frame(b"x", b"y")
    cluster, shape = cluster_and_shape(frame)

    assert not does_fit(shape, frame[:-4] + b"?\0\0\0")
    topic = cluster.topics.get("t")
    assert topic is not None
    assert not any(partition.log.log_end_offset for partition in topic.partitions)


@pytest.mark.parametrize("version", [8, 9])
def test_a_frame_that_ends_early_does_not_fit(version: int) -> None:
    frame = a_frame(b"x", b"y", version=version)
    _cluster, shape = cluster_and_shape(frame)
    assert does_fit(shape, frame)

    for end in range(4, len(frame)):
        assert not does_fit(shape, frame, end)
        assert not does_fit(shape, frame + frame, end)
        assert not does_fit(shape, frame[:end], end)


def test_a_size_with_more_bytes_than_it_needs_does_not_fit() -> None:
    frame = a_frame(b"x")
    _cluster, shape = cluster_and_shape(frame)
    size_at = 4 + 8 + len(shape.targets[0].piece)
    size = frame[size_at]
    assert size < 0x80

    for padding in (b"\0", b"\x80\0", b"\x80\x80\0", b"\x80\x80\x80\0"):
        field = bytes([size | 0x80]) + padding
        assert not does_fit(shape, frame[:size_at] + field + frame[size_at + 1 :])


def test_a_frame_beyond_the_largest_request_does_not_fit() -> None:
    short, long = a_frame(b"x"), a_frame(b"x" * 100)
    assert len(short) - 4 <= 200 < len(long) - 4
    cluster, shape = cluster_and_shape(short, **{"socket.request.max.bytes": "200"})

    assert does_fit(shape, short)
    assert not does_fit(shape, long)
    assert RequestRun(shape).append(cluster, long, NOW_MS, []) == 0
