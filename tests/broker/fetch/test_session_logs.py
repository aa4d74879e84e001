"""The logs that a long session remembers, and what is left out with them."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.authorization.authorizer import Authorizer
from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import FetchSession
from broker.fetch import session_logs
from broker.fetch.partition_read import FetchParams, ReadResult, read_partitions
from broker.fetch.session_logs import PARTITIONS_MIN, SessionLogs, logs_of_session, remembered_logs
from broker.request.context import RequestContext
from protocol.api_keys import ApiKey
from tests.broker.acl_cluster import acl
from tests.broker.cluster_builder import make_context
from tests.broker.fetch.stored_sessions import append, make_session

PARAMS = FetchParams(broker_id=1, bytes_max=1 << 20, bytes_min=1)


@pytest.fixture(autouse=True, scope="module")
def all_sessions_are_long() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session_logs, "PARTITIONS_MIN", 0)
        yield


def context_of(user: str = "ANONYMOUS") -> RequestContext:
    return make_context(ApiKey.FETCH, 12, principal=user)


def logs_of(
    cluster: Cluster, session: FetchSession, user: str = "ANONYMOUS", **changes: Any
) -> SessionLogs:
    params = FetchParams(**{"broker_id": 1, "bytes_max": 1 << 20, "bytes_min": 1, **changes})
    found = logs_of_session(session, params, context_of(user), cluster)
    assert found is not None
    return found


@pytest.mark.parametrize("version", [7, 12, 13])
def test_they_are_remembered_until_something_changes(version: int) -> None:
    cluster, session = make_session(version)
    found = logs_of(cluster, session)
    assert list(found.logs) == list(session.partitions.values())
    assert logs_of(cluster, session) is found
    session.change_count += 1
    assert remembered_logs(session, cluster) is None
    again = logs_of(cluster, session)
    assert again is not found
    cluster.generation += 1
    assert remembered_logs(session, cluster) is None
    assert logs_of(cluster, session) is not again


def test_they_differ_for_requests_that_read_from_followers() -> None:
    cluster, session = make_session(12)
    partition = cluster.topics.get("a").partitions[0]  # type: ignore[union-attr]
    cluster.set_leader(partition, 2, 0)
    others = logs_of(cluster, session).others
    assert [cached.key for cached in others] == [("a", 0)]
    assert not logs_of(cluster, session, requires_leader=False).others


def test_they_are_those_that_a_user_may_read_until_a_rule_changes() -> None:
    cluster, session = make_session(12)
    cluster.authorizer = Authorizer(frozenset({"User:admin"}))
    cluster.authorizer.on_change = cluster.note_change
    cluster.authorizer.add(acl("a", principal="User:alice"))
    found = logs_of(cluster, session, "alice")
    assert {cached.topic_name for cached in found.logs} == {"a"}
    assert {cached.topic_name for cached in found.others} == {"b"}
    assert logs_of(cluster, session, "alice") is found
    assert not logs_of(cluster, session, "bob").logs
    assert not logs_of(cluster, session, "admin").others
    again = logs_of(cluster, session, "alice")
    assert list(again.logs) == list(found.logs)
    cluster.authorizer.add(acl("b", principal="User:alice"))
    assert remembered_logs(session, cluster) is None
    assert not logs_of(cluster, session, "alice").others


@pytest.mark.parametrize("changes", [{"replica_id": 2}, {"rack_id": "r"}, {"bytes_max": -1}])
def test_an_unusual_request_has_none(changes: dict[str, Any]) -> None:
    cluster, session = make_session(12)
    params = FetchParams(**{"broker_id": 1, "bytes_max": 1, "bytes_min": 1, **changes})
    assert logs_of_session(session, params, context_of(), cluster) is None


def test_a_short_session_and_a_request_without_one_have_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, session = make_session(12)
    assert logs_of_session(None, PARAMS, context_of(), cluster) is None
    monkeypatch.setattr(session_logs, "PARTITIONS_MIN", PARTITIONS_MIN)
    assert logs_of_session(session, PARAMS, context_of(), cluster) is None


offsets = st.sampled_from([0, 0, 1, 2, 9])


@given(
    st.sampled_from([9, 12, 13, 18]),
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), max_size=6),
    st.lists(st.tuples(offsets, offsets, offsets, st.sampled_from([-1, 0, 3])), max_size=6),
    st.sampled_from([None, "topic_name", "partition_index", "last_fetched_epoch", "max_bytes"]),
    st.sampled_from([0, 200, 1 << 20]),
)
def test_what_is_left_out_is_what_the_ordinary_read_leaves_out(
    version: int,
    appends: list[tuple[str, int]],
    states: list[tuple[int, int, int, int]],
    unusual: str | None,
    bytes_max: int,
) -> None:
    cluster, session = make_session(version)
    partitions = list(session.partitions.values())
    if unusual is not None:
        setattr(partitions[2], unusual, {"topic_name": "nobody"}.get(unusual, 5))
    for name, index in appends:
        append(cluster, name, index, b"v" * 50)
    for cached, state in zip(partitions, states, strict=False):
        cached.fetch_offset, cached.high_watermark, cached.log_start_offset, epoch = state
        cached.current_leader_epoch = epoch
    found = logs_of(cluster, session)
    params = FetchParams(broker_id=1, bytes_max=bytes_max, bytes_min=1)

    changed = found.changed(partitions)

    assert described(read_partitions(cluster, params, changed, is_in_session=True)) == described(
        read_partitions(cluster, params, partitions, is_in_session=True)
    )


def described(result: ReadResult) -> tuple[bool, list[tuple[Any, ...]]]:
    return result.is_final, [(cached, *data) for cached, data in result.partitions]
