"""Frames of every size have the layout that the codec gives them, and runs stop at other bytes.

Which batches a run takes is compared with the ordinary path in
`tests/broker/dispatch/test_produce_cache.py`.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster.cluster import Cluster
from broker.produce.request_run import LAYOUTS_MAX, RequestRun
from broker.produce.request_shape import RequestShape, shape_of
from protocol.records import HEADER_BYTES
from tests.batches import make_batch
from tests.broker.cluster_builder import ALL_VERSIONS, make_cluster
from tests.broker.connection_driver import NOW_MS, request_frame
from tests.produce_requests import produce_request

VERSIONS = range(3, 13)


def cluster_and_shape(version: int) -> tuple[Cluster, RequestShape]:
    cluster = make_cluster(1, **ALL_VERSIONS)
    cluster.create_topic("t", [(1,)], {})
    frame = frame_of(b"value", version)
    shape = shape_of(cluster, 1, frame, 4, len(frame))
    assert shape is not None
    return cluster, shape


def frame_of(value: bytes, version: int, correlation_id: int = 1) -> bytes:
    batch = make_batch(value, timestamps=[NOW_MS])
    return request_frame(produce_request([(0, batch)], version=version), version, correlation_id)


@given(st.sampled_from(VERSIONS), st.lists(st.integers(0, 20_000), min_size=1, max_size=5))
def test_batches_of_all_sizes_are_appended(version: int, sizes: list[int]) -> None:
    cluster, shape = cluster_and_shape(version)
    frames = [frame_of(bytes(size), version, number) for number, size in enumerate(sizes)]
    responses: list[bytes] = []

    run_end = RequestRun(shape).append(cluster, b"".join(frames), NOW_MS, responses)

    log = shape.targets[0].partition.log
    assert run_end == sum(map(len, frames))
    assert [int.from_bytes(response[4:8]) for response in responses] == list(range(len(sizes)))
    assert log.batch_count == log.log_end_offset == len(sizes)
    assert cluster.log_bytes == log.size_bytes == sum(map(len, log.rewind()))


@pytest.mark.parametrize("version", [8, 9])
def test_a_run_ends_before_an_incomplete_frame_and_before_rubbish(version: int) -> None:
    cluster, shape = cluster_and_shape(version)
    frame = frame_of(b"value", version)
    run = RequestRun(shape)

    for rest in (frame[:-1], frame[:3], bytes(200), b"\xff" * 200, b"\x7f" + frame[1:] * 2):
        assert run.append(cluster, frame + rest, NOW_MS, []) == len(frame)
    assert shape.targets[0].partition.log.batch_count == 5


def test_a_frame_without_room_for_a_batch_is_left() -> None:
    cluster, shape = cluster_and_shape(9)
    data = (HEADER_BYTES + 1).to_bytes(4) + bytes(HEADER_BYTES + 1)

    assert RequestRun(shape).append(cluster, data, NOW_MS, []) == 0


def test_the_sizes_that_are_remembered_have_a_bound() -> None:
    cluster, shape = cluster_and_shape(9)
    run = RequestRun(shape)
    frames = [frame_of(bytes(size), 9) for size in range(3 * LAYOUTS_MAX)]

    assert run.append(cluster, b"".join(frames), NOW_MS, []) == sum(map(len, frames))
    assert len(run._layouts) <= LAYOUTS_MAX
