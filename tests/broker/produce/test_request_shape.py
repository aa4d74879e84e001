"""Which requests have a shape."""

from collections.abc import Mapping

import pytest

from broker.cluster.cluster import Cluster
from broker.produce.request_shape import shape_of
from tests.batches import make_batch
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
