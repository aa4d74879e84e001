"""Which requests have a shape, and which batches fit into it."""

from collections.abc import Mapping

import pytest

from broker.cluster.cluster import Cluster
from broker.produce.request_run import RequestRun
from broker.produce.request_shape import fitting_batches, shape_of, store_fitting
from protocol.records import read_header
from tests.batches import NOW_MS, make_batch
from tests.broker.cluster_builder import make_cluster
from tests.broker.connection_driver import request_frame
from tests.produce_requests import produce_request


def a_cluster(config: Mapping[str, str] | None = None) -> Cluster:
    cluster = make_cluster(2)
    cluster.create_topic("t", [(1, 2), (2, 1)], config or {})
    return cluster


def a_frame(
    *indexes: int, acks: int = -1, transactional_id: str | None = None, value: bytes = b"x"
) -> bytes:
    request = produce_request(
        [(index, make_batch(value, value)) for index in indexes],
        version=9,
        acks=acks,
        transactional_id=transactional_id,
    )
    return request_frame(request, 9, 1)


def test_a_batch_that_fits_is_appended_as_the_ordinary_path_does() -> None:
    cluster = a_cluster()
    first, second = a_frame(0), a_frame(0, value=b"another value" * 20)
    shape = shape_of(cluster, 1, first, 4, len(first))
    assert shape is not None

    for number, frame in enumerate((first, second)):
        batches = fitting_batches(shape, frame, 4, len(frame), NOW_MS, None)
        assert batches is not None
        [batch] = batches
        assert store_fitting(cluster, batch, NOW_MS) == (2 * number, 0)

    topic = cluster.topics.get("t")
    assert topic is not None
    stored = list(topic.partitions[0].log.rewind())
    assert [read_header(batch, 0).base_offset for batch in stored] == [0, 2]
    assert stored[1][21:] in second


def test_nothing_changes_before_all_batches_of_a_request_fit() -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("t", [(1,), (1,)], {})
    frame = a_frame(0, 1)
    shape = shape_of(cluster, 1, frame, 4, len(frame))
    assert shape is not None

    assert fitting_batches(shape, frame[:-4] + b"?\0\0\0", 4, len(frame), NOW_MS, None) is None
    assert [partition.log.log_end_offset for partition in topic.partitions] == [0, 0]


@pytest.mark.parametrize(
    "frame",
    [
        a_frame(0, acks=7),
        a_frame(1),
        a_frame(0, 1),
        a_frame(0, 0),
        a_frame(5),
        a_frame(),
    ],
    ids=["acks", "not leader", "one not leader", "twice", "unknown", "nothing"],
)
def test_a_request_with_special_rules_has_no_shape(frame: bytes) -> None:
    assert shape_of(a_cluster(), 1, frame, 4, len(frame)) is None


@pytest.mark.parametrize(
    "config",
    [
        {"cleanup.policy": "compact"},
        {"message.timestamp.type": "LogAppendTime"},
        {"message.timestamp.before.max.ms": "1000"},
    ],
)
def test_a_topic_whose_rules_concern_records_has_no_shape(config: dict[str, str]) -> None:
    frame = a_frame(0)

    assert shape_of(a_cluster(config), 1, frame, 4, len(frame)) is None


def test_a_partition_with_too_few_in_sync_has_a_shape_for_acks_1_only() -> None:
    cluster = a_cluster({"min.insync.replicas": "2"})
    topic = cluster.topics.get("t")
    assert topic is not None
    cluster.set_isr(topic.partitions[0], (1,))

    shapes = [
        shape_of(cluster, 1, frame, 4, len(frame)) for frame in (a_frame(0), a_frame(0, acks=1))
    ]

    assert [shape is None for shape in shapes] == [True, False]


def test_a_frame_that_ends_early_does_not_fit() -> None:
    frame = a_frame(0)
    shape = shape_of(a_cluster(), 1, frame, 4, len(frame))
    assert shape is not None

    for end in range(4, len(frame)):
        assert fitting_batches(shape, frame, 4, end, NOW_MS, None) is None
        assert fitting_batches(shape, frame[:end], 4, end, NOW_MS, None) is None


def test_a_frame_beyond_the_largest_request_does_not_fit() -> None:
    cluster = make_cluster(1, **{"socket.request.max.bytes": "200"})
    cluster.create_topic("t", [(1,)], {})
    short, long = a_frame(0), a_frame(0, value=b"x" * 200)
    assert len(short) - 4 <= 200 < len(long) - 4
    shape = shape_of(cluster, 1, short, 4, len(short))
    assert shape is not None

    assert fitting_batches(shape, short, 4, len(short), NOW_MS, None) is not None
    assert fitting_batches(shape, long, 4, len(long), NOW_MS, None) is None
    assert RequestRun(shape).append(cluster, long, NOW_MS, []) == 0
