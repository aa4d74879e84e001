"""One step for the newest batch does what a read and an encoding do, or nothing."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import FetchSession
from broker.cluster.topics import Partition
from broker.cluster.transaction_index import AbortedTransaction
from broker.fetch import newest_batch
from broker.fetch.newest_batch import frame_newest, has_to_wait
from broker.fetch.session_plan import SessionPlan, read_session
from broker.fetch.session_response import encode_found
from broker.responses import PARTS_BYTES_MIN, EncodedParts
from producer_state.rules import APPEND
from protocol.codec import frame_header
from tests.broker.cluster_builder import NOW_MS
from tests.broker.fetch.planned_sessions import append, make_session, plan_of
from tests.simulation.patches import edit


def begin_transaction(partition: Partition) -> None:
    """Have the newest batch begin a transaction."""
    assert partition.producers.check(8, 0, 0, 0, True) is APPEND
    offset = partition.log.log_end_offset - 1
    partition.producers.apply(8, 0, 0, 0, offset, NOW_MS, True)


CHANGES: dict[str, Callable[[Partition], object]] = {
    "nothing": lambda _partition: None,
    "open transaction": begin_transaction,
    "aborted transaction": lambda partition: partition.log.transaction_index.append(
        AbortedTransaction(7, 0, 1, 1)
    ),
    "deleted records": lambda partition: partition.log.advance_start(partition.log.log_end_offset),
}


def make_session_of_one(version: int) -> tuple[Cluster, FetchSession]:
    """Return a session of the first partition of "a" alone."""
    cluster, session = make_session(version)
    for key in list(session.partitions)[1:]:
        del session.partitions[key]
    return cluster, session


def session_at(
    version: int, isolation_level: int, sizes: Sequence[int], offset: int, change: str
) -> tuple[SessionPlan, FetchSession]:
    """Return a session that has read its partition up to `offset`; then something has changed."""
    cluster, session = make_session_of_one(version)
    plan = plan_of(cluster, session, version, isolation_level=isolation_level)
    for size in sizes:
        append(cluster, "a", 0, bytes(size))
    topic = cluster.topics.get("a")
    assert topic is not None
    CHANGES[change](topic.partitions[0])
    (cached,) = session.partitions.values()
    cached.fetch_offset = offset
    return plan, session


def in_one_and_two_steps(
    version: int, isolation_level: int, sizes: Sequence[int], offset: int, change: str
) -> tuple[Any, Any]:
    """Return the response in one step, and that in two, each with what the session notes."""
    plan, session = session_at(version, isolation_level, sizes, offset, change)
    (cached,) = session.partitions.values()

    def in_two_steps() -> object:
        read = read_session(plan, session)
        if read is None:
            return None
        body = encode_found(plan, session, read[0])
        if isinstance(body, EncodedParts):
            return body
        return frame_header(7, len(body), has_tagged_header=plan.is_flexible) + body

    noted: list[Any] = []
    for respond in (partial(frame_newest, plan, (7).to_bytes(4)), in_two_steps):
        cached.high_watermark = cached.log_start_offset = -1
        noted.append((respond(), cached.high_watermark, cached.log_start_offset))
    return noted[0], noted[1]


@given(
    st.sampled_from(range(9, 19)),
    st.sampled_from([0, 1]),
    st.lists(st.sampled_from([1, 50, 100, 200, 20_000, PARTS_BYTES_MIN]), max_size=3),
    st.integers(-1, 4),
    st.sampled_from(list(CHANGES)),
)
def test_it_does_what_a_read_and_an_encoding_do_or_nothing(
    version: int, isolation_level: int, sizes: list[int], offset: int, change: str
) -> None:
    if not sizes and change == "open transaction":
        return
    one, two = in_one_and_two_steps(version, isolation_level, sizes, offset, change)
    event("taken" if one[0] is not None else "left")

    assert one in (two, (None, -1, -1))


@pytest.mark.parametrize("version", range(9, 19))
@pytest.mark.parametrize("isolation_level", [0, 1])
def test_it_takes_the_newest_batch_of_usual_size(version: int, isolation_level: int) -> None:
    one, two = in_one_and_two_steps(version, isolation_level, [10, 100], 1, "nothing")
    assert one == two
    assert one[0] is not None


@pytest.mark.parametrize(
    ("check", "instead", "sizes", "offset", "change"),
    [
        ("not is_stable or", "False or", [10], 0, "open transaction"),
        ("len(log.transaction_index)", "False", [10], 0, "aborted transaction"),
        ("record_bytes >= PARTS_BYTES_MIN", "False", [PARTS_BYTES_MIN], 0, "nothing"),
        ("if batch is None:", "if False:", [10, 10], 0, "nothing"),
    ],
)
def test_without_a_check_it_is_another_response(
    check: str, instead: str, sizes: list[int], offset: int, change: str
) -> None:
    def is_the_same() -> bool:
        try:
            one, two = in_one_and_two_steps(12, 1, sizes, offset, change)
        except TypeError:
            return False
        return one in (two, (None, -1, -1))

    assert is_the_same()
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, newest_batch.frame_newest, check, instead)
        assert not is_the_same()


def test_a_session_of_several_partitions_is_left_to_the_two_steps() -> None:
    cluster, session = make_session(12)
    append(cluster, "a", 0, b"v")
    assert frame_newest(plan_of(cluster, session, 12), bytes(4)) is None


@pytest.mark.parametrize("isolation_level", [0, 1])
@pytest.mark.parametrize("change", CHANGES)
@given(st.lists(st.sampled_from([1, 200]), max_size=3), st.integers(-1, 4))
def test_who_has_to_wait_finds_no_records(
    isolation_level: int, change: str, sizes: list[int], offset: int
) -> None:
    if not sizes and change == "open transaction":
        return
    plan, session = session_at(12, isolation_level, sizes, offset, change)

    waits = has_to_wait(plan)

    assert waits == (offset == len(sizes))
    if waits:
        assert frame_newest(plan, bytes(4)) is None
        read = read_session(plan, session)
        assert read is None or read[1] == 0


def test_a_request_that_may_not_wait_or_has_several_partitions_is_left() -> None:
    cluster, session = make_session(12)
    assert not has_to_wait(plan_of(cluster, session, 12))

    cluster, session = make_session_of_one(12)
    assert has_to_wait(plan_of(cluster, session, 12))
    assert not has_to_wait(plan_of(cluster, session, 12, max_wait_ms=0))
    assert not has_to_wait(plan_of(cluster, session, 12, min_bytes=0))
