"""Which requests get a layout, and that what they leave behind is right if the state has changed.

All that requests with a layout leave behind is compared with the ordinary path in
`tests/broker/dispatch/test_produce_cache.py`.
"""

import pytest

from broker.cluster.cluster import Cluster
from broker.produce.fitting_batches import LAYOUTS_MAX, fitting_batches, store_fitting
from broker.produce.request_shape import RequestShape, shape_of
from protocol.records import read_header
from tests.batches import NOW_MS, make_batch
from tests.broker.cluster_builder import ALL_VERSIONS, make_cluster
from tests.broker.connection_driver import request_frame
from tests.produce_requests import produce_request


def a_frame(
    *values: bytes, version: int = 9, sequence: int = 0, producer_ids: tuple[int, ...] = (7, 7)
) -> bytes:
    """One batch with one record for each partition."""
    batches = [
        make_batch(value, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        for value, producer_id in zip(values, producer_ids, strict=True)
    ]
    request = produce_request(list(enumerate(batches)), version=version)
    return request_frame(request, version, 1)


def cluster_and_shape(frame: bytes, **overrides: str) -> tuple[Cluster, RequestShape]:
    cluster = make_cluster(1, **{**ALL_VERSIONS, **overrides})
    cluster.create_topic("t", [(1,)] * 2, {})
    shape = shape_of(cluster, 1, frame, 4, len(frame))
    assert shape is not None
    return cluster, shape


def is_stored(cluster: Cluster, shape: RequestShape, frame: bytes) -> bool:
    batches = fitting_batches(shape, frame, 4, len(frame), NOW_MS, None)
    if batches is None:
        return False
    store_fitting(cluster, shape, batches, len(frame), NOW_MS)
    return True


@pytest.mark.parametrize("version", [8, 9])
def test_the_second_request_of_a_size_gets_a_layout(version: int) -> None:
    frame = a_frame(b"x", b"yy", version=version)
    cluster, shape = cluster_and_shape(frame)

    for sequence in range(4):
        assert len(shape.layouts) == (sequence > 1)
        assert is_stored(cluster, shape, a_frame(b"x", b"yy", version=version, sequence=sequence))

    [layout] = shape.layouts.values()
    for (start, end), value in zip(layout.places, (b"x", b"yy"), strict=True):
        assert read_header(frame, 4 + start).batch_length == end - start - 12
        assert value in frame[4 + start : 4 + end]


def test_requests_of_changing_sizes_get_none() -> None:
    cluster, shape = cluster_and_shape(a_frame(b"x", b"y"))

    for sequence in range(6):
        value = b"x" * (1 + sequence % 2)
        assert is_stored(cluster, shape, a_frame(value, b"y", sequence=sequence))
    assert not shape.layouts


def test_the_layouts_of_a_shape_have_a_bound() -> None:
    cluster, shape = cluster_and_shape(a_frame(b"x", b"y"))

    for sequence in range(20):
        value = b"x" * (1 + sequence // 2)
        assert is_stored(cluster, shape, a_frame(value, b"y", sequence=sequence))
        assert len(shape.layouts) <= LAYOUTS_MAX


def test_a_request_with_and_without_producers_gets_none() -> None:
    cluster, shape = cluster_and_shape(a_frame(b"x", b"y"))

    for sequence in range(5):
        frame = a_frame(b"x", b"y", sequence=sequence, producer_ids=(7, -1))
        assert is_stored(cluster, shape, frame)
    assert not shape.layouts


def test_other_places_of_batches_replace_a_layout() -> None:
    cluster, shape = cluster_and_shape(a_frame(b"x", b"yy"))
    places = []
    for sequence in range(8):
        values = (b"x", b"yy") if sequence < 4 else (b"xx", b"y")
        assert is_stored(cluster, shape, a_frame(*values, sequence=sequence))
        places.append([layout.places for layout in shape.layouts.values()])

    assert len(places[-1]) == 1
    assert places[-1] != places[3]


def test_another_producer_with_a_layout_is_learnt() -> None:
    cluster, shape = cluster_and_shape(a_frame(b"x", b"y"))
    for producer_id in (7, 8):
        for sequence in range(6):
            frame = a_frame(b"x", b"y", sequence=sequence, producer_ids=(producer_id,) * 2)
            assert is_stored(cluster, shape, frame)

    for producers in (target.partition.producers for target in shape.targets):
        assert [found.last_sequence for found in producers.describe()] == [5, 5]


def test_a_producer_that_has_expired_goes_on() -> None:
    """Like any producer that is new to a partition, it may begin with any sequence number."""
    cluster, shape = cluster_and_shape(a_frame(b"x", b"y"))
    for sequence in range(5):
        assert is_stored(cluster, shape, a_frame(b"x", b"y", sequence=sequence))
    managers = [target.partition.producers for target in shape.targets]
    for producers in managers:
        producers.expire(NOW_MS + 10_000, 1)
        assert not producers.describe()

    assert is_stored(cluster, shape, a_frame(b"x", b"y", sequence=5))
    for producers in managers:
        assert [found.last_sequence for found in producers.describe()] == [5]


def test_a_batch_that_moves_the_floor_is_written_at_once() -> None:
    cluster, shape = cluster_and_shape(a_frame(b"x", b"y"))
    first = 2**29 - 7
    are_noted = []
    for sequence in range(first, first + 10):
        assert is_stored(cluster, shape, a_frame(b"x", b"y", sequence=sequence))
        states = [target.partition.producers for target in shape.targets]
        are_noted.append([state._noted is not None for state in states])

    # Two are learnt, and the third is the first that later ones go on from.
    written, noted = [False, False], [True, True]
    assert are_noted == [written] * 3 + [noted] * 4 + [written] + [noted] * 2
    assert [found.last_sequence for state in states for found in state.describe()] == [
        first + 9
    ] * 2


@pytest.mark.parametrize("batches", ["1", "5"])
def test_the_state_is_the_same_under_both_rules(batches: str) -> None:
    cluster, shape = cluster_and_shape(a_frame(b"x", b"y"), **{"producer.state.batches": batches})
    for sequence in range(9):
        assert is_stored(cluster, shape, a_frame(b"x", b"y", sequence=sequence))

    for target in shape.targets:
        entry = target.partition.producers.entry(7)
        assert entry is not None
        assert [batch.base_offset for batch in entry.batches] == list(
            range(8, 8 - int(batches), -1)
        )


def test_batches_that_were_not_stored_are_no_reason_to_accept_the_next() -> None:
    cluster, shape = cluster_and_shape(a_frame(b"x", b"y"))
    for sequence in range(5):
        assert is_stored(cluster, shape, a_frame(b"x", b"y", sequence=sequence))

    frame = a_frame(b"x", b"y", sequence=5)
    assert fitting_batches(shape, frame, 4, len(frame), NOW_MS, None) is not None
    assert not is_stored(cluster, shape, a_frame(b"x", b"y", sequence=6))
    assert is_stored(cluster, shape, frame)
