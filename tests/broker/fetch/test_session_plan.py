"""A plan has the partitions of usual sessions, and reads what the ordinary path reads."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster.fetch_sessions import must_send
from broker.fetch.partition_read import read_partitions
from broker.fetch.session_plan import NamedPartition, named_partition, read_session
from tests.broker.fetch.planned_sessions import append, make_session, plan_of

VERSIONS = [9, 12, 13, 18]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_usual_session_has_a_plan_until_something_changes(version: int) -> None:
    cluster, session = make_session(version)
    plan = plan_of(cluster, session, version)
    assert list(plan.targets) == list(session.partitions.values())
    assert plan.is_good(session, cluster)
    session.change_count += 1
    assert not plan.is_good(session, cluster)
    session.change_count -= 1
    cluster.generation += 1
    assert not plan.is_good(session, cluster)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("topic_name", "nobody"),
        ("partition_index", 9),
        ("current_leader_epoch", 7),
        ("last_fetched_epoch", 0),
        ("max_bytes", -1),
    ],
)
def test_a_session_with_one_unusual_partition_has_no_targets(field: str, value: Any) -> None:
    cluster, session = make_session(12)
    setattr(list(session.partitions.values())[4], field, value)
    assert not plan_of(cluster, session, 12).targets


@pytest.mark.parametrize("changes", [{"isolation_level": 2}, {"replica_id": 2}, {"max_bytes": -1}])
def test_an_unusual_request_has_no_targets(changes: dict[str, Any]) -> None:
    cluster, session = make_session(12)
    assert not plan_of(cluster, session, 12, **changes).targets


def rows_of(*row: int) -> bytes:
    index, leader_epoch, offset, fetched_epoch, max_bytes = row
    return struct.pack(">iiqiqiB", index, leader_epoch, offset, fetched_epoch, -1, max_bytes, 0)


def test_only_the_request_that_a_session_of_one_partition_took_last_names_it() -> None:
    cluster, session = make_session(12)
    for key in list(session.partitions)[1:]:
        del session.partitions[key]
    (cached,) = session.partitions.values()
    cached.current_leader_epoch, cached.fetch_offset, cached.max_bytes = 0, 0, 99
    plan = plan_of(cluster, session, 12)
    assert plan.only is not None
    assert (plan.only.cached, plan.only.log) == (cached, plan.targets[cached].log)

    named = named_partition(plan, "a", rows_of(0, 0, 0, -1, 99))
    assert named is not None
    for topic, rows in (
        ("b", rows_of(0, 0, 0, -1, 99)),
        ("a", rows_of(1, 0, 0, -1, 99)),
        ("a", rows_of(0, -1, 0, -1, 99)),
        ("a", rows_of(0, 0, 1, -1, 99)),
        ("a", rows_of(0, 0, 0, 0, 99)),
        ("a", rows_of(0, 0, 0, -1, 98)),
        ("a", b""),
    ):
        assert named_partition(plan, topic, rows) is None


def test_the_offset_of_a_named_partition_is_taken_within_its_log() -> None:
    cluster, session = make_session(12)
    for key in list(session.partitions)[1:]:
        del session.partitions[key]
    (cached,) = session.partitions.values()
    plan = plan_of(cluster, session, 12)
    append(cluster, "a", 0, b"v")
    named = NamedPartition(cached, plan.targets[cached].log)
    cached.max_bytes, cached.current_leader_epoch = 1, 0

    assert not named.take_offset(2)
    assert not named.take_offset(-1)
    assert (cached.fetch_offset, cached.max_bytes, cached.current_leader_epoch) == (0, 1, 0)
    assert named.take_offset(1)
    assert (cached.fetch_offset, cached.max_bytes, cached.current_leader_epoch) == (1, 1 << 20, -1)


@given(
    st.sampled_from(VERSIONS),
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), max_size=6),
    st.sampled_from([1 << 20, 200, 0]),
    st.sampled_from([0, 1]),
)
def test_it_reads_what_the_ordinary_path_reads(
    version: int, appends: list[tuple[str, int]], max_bytes: int, isolation_level: int
) -> None:
    cluster, session = make_session(version)
    plan = plan_of(cluster, session, version, max_bytes=max_bytes, isolation_level=isolation_level)
    for name, index in appends:
        append(cluster, name, index, b"v" * 50)

    read = read_session(plan, session)
    requested = list(session.partitions.values())
    ordinary = read_partitions(cluster, plan.params, requested, omit_unchanged=True)

    if read is None:
        assert isolation_level == 1  # a partition without room for its first batch
        return
    found, byte_count = read
    expected = [(cached, data) for cached, data in ordinary.partitions if must_send(cached, data)]
    assert [(cached, list(batches)) for cached, *_offsets, batches, _size in found] == [
        (cached, list(data.batches)) for cached, data in expected
    ]
    assert byte_count == sum(data.record_bytes for _cached, data in expected)
