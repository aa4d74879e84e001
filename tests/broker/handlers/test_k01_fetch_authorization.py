"""Fetch requests that rules allow or deny, in sessions and while they wait."""

from typing import Any
from uuid import UUID

import pytest

from broker.cluster.cluster import Cluster
from broker.fetch.fetch_response import Fetch
from broker.handlers import k01_fetch
from broker.pending_response import PendingResponse
from protocol.acls import AclOperation, PatternType, ResourceType
from protocol.errors import ErrorCode
from protocol.fetch import read_long_fetch
from tests.batches import make_batch
from tests.broker.acl_cluster import acl, acl_cluster, authorizer_of
from tests.broker.cluster_builder import NOW_MS
from tests.broker.handlers import fetch_driver
from tests.broker.handlers.fetch_driver import append, ask, parts, reread, session_of, values

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
READ_T = acl("t")


def cluster_with_topics() -> Cluster:
    """A cluster with a record in the topic "t", the empty topic "u", and no rules."""
    cluster = acl_cluster(super_users="")
    for name in "tu":
        cluster.create_topic(name, [(1,)] * 2, {})
    append(cluster, make_batch(b"v"))
    return cluster


def codes(response: Any) -> dict[int, int]:
    return {index: part.error_code for index, part in parts(response).items()}


@pytest.mark.parametrize("version", range(4, 19))
def test_each_version_reads_what_is_allowed_and_nothing_else(version: int) -> None:
    cluster = cluster_with_topics()
    denied = ask(cluster, {0: 0, 1: 0}, version=version, max_wait_ms=500)
    assert codes(denied) == {0: DENIED, 1: DENIED}
    assert [part.high_watermark for part in parts(denied).values()] == [-1, -1]
    assert not any(part.records for part in parts(denied).values())
    authorizer_of(cluster).add(READ_T)
    assert values(parts(ask(cluster, {0: 0}, version=version))[0].records) == [b"v"]


def test_a_topic_that_does_not_exist_is_denied_by_its_name() -> None:
    cluster = cluster_with_topics()
    authorizer_of(cluster).add(acl("missing"))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(ask(cluster, {0: 0}, topic="missing")) == {0: unknown}
    assert codes(ask(cluster, {0: 0}, topic="hidden")) == {0: DENIED}
    assert codes(ask(cluster, {9: 0}, topic="t")) == {9: DENIED}


def test_a_topic_id_that_does_not_exist_is_unknown_to_everybody() -> None:
    response = ask(cluster_with_topics(), {0: 0}, version=13, topic_id=UUID(int=99))
    assert codes(response) == {0: ErrorCode.UNKNOWN_TOPIC_ID}


def test_topic_ids_that_do_not_exist_come_before_what_is_denied() -> None:
    cluster = cluster_with_topics()
    session_id = session_of(cluster, {0: 0}, version=17)
    rest: dict[str, Any] = {"session_id": session_id, "session_epoch": 1, "version": 17}
    response = ask(cluster, {0: 0}, topic_id=UUID(int=99), **rest)
    found = [(topic.topic_id, topic.partitions[0].error_code) for topic in response.responses]
    known = cluster.topics.get("t")
    assert known is not None
    assert found == [(UUID(int=99), ErrorCode.UNKNOWN_TOPIC_ID), (known.topic_id, DENIED)]


@pytest.mark.parametrize(("missing_count", "is_short"), [(99, True), (100, False)])
def test_a_request_with_many_unreadable_partitions_takes_turns_when_it_has_waited(
    missing_count: int, *, is_short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = acl_cluster()
    cluster.create_topic("t", [(1,)], {})
    waited: list[Fetch] = []
    monkeypatch.setattr(k01_fetch, "read_or_wait", waited.append)
    monkeypatch.setattr(fetch_driver, "read_by_hand", read_long_fetch)
    monkeypatch.setattr(fetch_driver, "reread", lambda *_response: None)
    ask(cluster, dict.fromkeys(range(missing_count + 1), 0), version=12, max_wait_ms=500)
    (fetch,) = waited
    assert len(fetch.known) == 1
    assert fetch.is_short is is_short


@pytest.mark.parametrize("version", [9, 12, 18])
def test_a_follower_needs_cluster_action_and_no_right_to_read(version: int) -> None:
    cluster = acl_cluster(2, super_users="")
    cluster.create_topic("t", [(1, 2)] * 2, {})
    append(cluster, make_batch(b"v"))
    rest: dict[str, Any] = {"version": version, "replica_id": 2}
    authorizer_of(cluster).add(READ_T)
    assert codes(ask(cluster, {0: 0}, **rest)) == {0: DENIED}
    if version >= 13:
        assert codes(ask(cluster, {0: 0}, topic_id=UUID(int=99), **rest)) == {0: DENIED}
    authorizer_of(cluster).remove(READ_T)
    authorizer_of(cluster).add(
        acl("kafka-cluster", AclOperation.CLUSTER_ACTION, resource_type=ResourceType.CLUSTER)
    )
    assert values(parts(ask(cluster, {0: 0}, **rest))[0].records) == [b"v"]
    assert codes(ask(cluster, {0: 0}, version=version)) == {0: DENIED}


@pytest.mark.parametrize("version", [7, 12, 18])
@pytest.mark.parametrize("partition_count", [1, 40])
def test_a_denial_in_a_session_comes_each_time_until_it_is_over(
    version: int, partition_count: int
) -> None:
    cluster = acl_cluster(super_users="")
    cluster.create_topic("t", [(1,)] * partition_count, {})
    authorizer_of(cluster).add(READ_T)
    every = dict.fromkeys(range(partition_count), 0)
    session_id = session_of(cluster, every, version=version)

    def go_on(epoch: int) -> Any:
        rest: dict[str, Any] = {"session_id": session_id, "session_epoch": epoch}
        return ask(cluster, {}, version=version, **rest)

    assert parts(go_on(1)) == {}
    authorizer_of(cluster).remove(READ_T)
    append(cluster, make_batch(b"v"))
    for epoch in (2, 3):
        assert codes(go_on(epoch)) == dict.fromkeys(every, DENIED)
    authorizer_of(cluster).add(acl("t", pattern_type=PatternType.PREFIXED))
    response = go_on(4)
    assert codes(response) == dict.fromkeys(every, 0)
    assert values(parts(response)[0].records) == [b"v"]


def test_a_denied_topic_does_not_end_the_wait_for_another_one() -> None:
    cluster = cluster_with_topics()
    authorizer_of(cluster).add(READ_T)
    session_id = session_of(cluster, {0: 1})
    rest: dict[str, Any] = {"session_id": session_id, "max_wait_ms": 500, "session_epoch": 1}
    pending = ask(cluster, {0: 0}, topic="u", **rest)
    assert isinstance(pending, PendingResponse)
    append(cluster, make_batch(b"w"))
    cluster.timers.run_due(NOW_MS)
    found = {topic.topic: topic.partitions[0] for topic in reread(pending.response).responses}
    assert values(found["t"].records) == [b"w"]
    assert found["u"].error_code == DENIED


@pytest.mark.parametrize("partition_count", [1, 40])
def test_a_request_that_waits_reads_what_it_was_allowed_when_it_came(partition_count: int) -> None:
    cluster = acl_cluster(super_users="")
    cluster.create_topic("t", [(1,)] * partition_count, {})
    authorizer_of(cluster).add(READ_T)
    session_id = session_of(cluster, dict.fromkeys(range(partition_count), 0))
    rest: dict[str, Any] = {"session_id": session_id, "max_wait_ms": 500}
    pending = ask(cluster, {}, session_epoch=1, **rest)
    assert isinstance(pending, PendingResponse)
    authorizer_of(cluster).remove(READ_T)
    append(cluster, make_batch(b"v"))
    cluster.timers.run_due(NOW_MS)
    assert values(parts(reread(pending.response))[0].records) == [b"v"]
    assert set(codes(ask(cluster, {}, session_epoch=2, **rest)).values()) == {DENIED}
