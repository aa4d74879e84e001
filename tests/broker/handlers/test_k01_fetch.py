"""Fetch: records, waits and errors."""

from typing import Any
from uuid import UUID

import pytest

from broker.cluster.cluster import Cluster
from broker.cluster.failover import start_broker, stop_broker
from broker.pending_response import PendingResponse
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.handlers import fetch_driver
from tests.broker.handlers.fetch_driver import append, ask, parts, reread, session_of, values
from tests.broker.interleaving import at_pause, run_with_pauses

VERSIONS = range(4, 19)


@pytest.fixture(autouse=True, params=["read by hand", "read by the schema"])
def choose_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test with both codecs of short requests."""
    if request.param == "read by the schema":
        monkeypatch.setattr(fetch_driver, "read_by_hand", lambda *_request: None)


def cluster_with_records(batch_count: int = 3, brokers: int = 1) -> Cluster:
    cluster = make_cluster(brokers)
    cluster.create_topic("t", cluster.place(2, brokers), {})
    for number in range(batch_count):
        append(cluster, make_batch(b"a%d" % number, b"b"))
    return cluster


@pytest.mark.parametrize("version", [13, 18])
def test_a_topic_id_of_zeros_is_unknown_without_a_session(version: int) -> None:
    """As Apache Kafka 4.1.0 answered, also in the next tests."""
    cluster = cluster_with_records()
    found = parts(ask(cluster, {0: 0}, version=version, topic_id=UUID(int=0)))
    assert found[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    failed = ask(cluster, {0: 0, 1: 0}, version=version, topic_id=UUID(int=0))
    assert (failed.error_code, failed.responses) == (ErrorCode.UNKNOWN_SERVER_ERROR, [])


@pytest.mark.parametrize("version", [13, 18])
def test_a_topic_id_of_zeros_opens_no_session(version: int) -> None:
    cluster = cluster_with_records()
    opened = ask(cluster, {0: 6}, version=version, session_epoch=0)
    session = {"version": version, "session_id": opened.session_id}
    failed = ask(cluster, {0: 0}, **session, session_epoch=0, topic_id=UUID(int=0))
    assert failed.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (failed.session_id, failed.responses) == (opened.session_id, [])
    ended = ask(cluster, {}, **session, session_epoch=1)
    assert ended.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("version", [13, 18])
def test_a_session_stays_as_it_is_after_a_topic_id_of_zeros(version: int) -> None:
    cluster = cluster_with_records()
    opened = ask(cluster, {0: 6}, version=version, session_epoch=0)
    session = {"version": version, "session_id": opened.session_id, "session_epoch": 1}
    for changes in ({"fetch_offsets": {0: 0}}, {"fetch_offsets": {}, "forgotten": [0]}):
        failed = ask(cluster, **session, **changes, topic_id=UUID(int=0))
        assert failed.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert (failed.session_id, failed.responses) == (opened.session_id, [])
    continued = ask(cluster, {}, **session)
    assert (continued.error_code, continued.session_id) == (ErrorCode.NONE, opened.session_id)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reads_from_the_batch_that_holds_the_offset(version: int) -> None:
    response = ask(cluster_with_records(), {0: 3, 1: 0}, version=version)

    found = parts(response)
    assert values(found[0].records) == [b"a1", b"b", b"a2", b"b"]
    assert (found[0].high_watermark, found[0].last_stable_offset) == (6, 6)
    assert found[1].error_code == ErrorCode.NONE
    assert not found[1].records
    if version >= 7:
        assert (response.error_code, response.session_id) == (ErrorCode.NONE, 0)
    if version >= 5:
        assert found[0].log_start_offset == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reports_an_offset_out_of_range(version: int) -> None:
    found = parts(ask(cluster_with_records(), {0: 7, 1: 1}, version=version))
    assert [part.error_code for part in found.values()] == [ErrorCode.OFFSET_OUT_OF_RANGE] * 2
    assert [part.high_watermark for part in found.values()] == [-1, -1]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reports_an_unknown_topic_and_partition(version: int) -> None:
    cluster = cluster_with_records()
    unknown = parts(ask(cluster, {0: 0}, version=version, topic="nobody"))[0]
    expected = ErrorCode.UNKNOWN_TOPIC_ID if version >= 13 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert unknown.error_code == expected
    assert parts(ask(cluster, {5: 0}, version=version))[5].error_code == 3


@pytest.mark.parametrize("version", VERSIONS)
def test_a_broker_without_a_replica_names_the_leader_as_far_as_the_version_can(
    version: int,
) -> None:
    cluster = cluster_with_records(0, brokers=3)
    topic = cluster.topics.get("t")
    assert topic is not None
    partition = topic.partitions[0]
    leader_id, _, other_id = partition.replicas
    partition.replicas = partition.replicas[:2]

    response = ask(cluster, {0: 0}, version=version, broker_id=other_id)

    part = parts(response)[0]
    assert part.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    if version >= 16:
        assert part.current_leader.leader_id == leader_id
        assert [node.node_id for node in response.node_endpoints] == [leader_id]
    elif version >= 12:
        assert part.current_leader is None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_follower_serves_consumers_from_version_11(version: int) -> None:
    cluster = cluster_with_records(brokers=2)
    topic = cluster.topics.get("t")
    assert topic is not None
    follower_id = topic.partitions[0].replicas[1]

    part = parts(ask(cluster, {0: 0}, version=version, broker_id=follower_id))[0]
    of_a_replica = parts(
        ask(cluster, {0: 0}, version=version, broker_id=follower_id, replica_id=follower_id)
    )[0]

    assert bool(part.records) is (version >= 11)
    assert (part.error_code == ErrorCode.NONE) is (version >= 11)
    assert of_a_replica.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_leader_epochs_are_compared() -> None:
    cluster = cluster_with_records()
    topic = cluster.topics.get("t")
    assert topic is not None
    topic.partitions[0].leader_epoch = 5

    codes = [parts(ask(cluster, {0: 0}, leader_epoch=e))[0].error_code for e in (4, 5, 6)]

    assert codes == [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    ]


def test_one_batch_of_any_size_is_returned_only_for_the_first_partition() -> None:
    cluster = cluster_with_records(1)
    append(cluster, make_batch(b"other"), partition_index=1)

    found = parts(ask(cluster, {0: 0, 1: 0}, max_bytes=1, partition_bytes=1))

    assert values(found[0].records) == [b"a0", b"b"]
    assert not found[1].records


def test_complete_batches_are_returned_up_to_the_limit_of_the_partition() -> None:
    cluster = cluster_with_records(3)
    topic = cluster.topics.get("t")
    assert topic is not None
    two_batches = topic.partitions[0].log.size_bytes * 2 // 3

    found = parts(ask(cluster, {0: 0}, partition_bytes=two_batches + 5))

    assert len(found[0].records) == two_batches


def test_zstd_needs_version_10_before_kafka_4() -> None:
    cluster = make_cluster(1, **{"broker.api.versions": "3.9"})
    cluster.create_topic("t", [(1,)], {})
    append(cluster, make_batch(b"a" * 200, codec="zstd"))
    old = parts(ask(cluster, {0: 0}, version=9))[0]
    assert (old.error_code, bool(old.records)) == (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, False)
    assert values(parts(ask(cluster, {0: 0}, version=10))[0].records) == [b"a" * 200]
    new = cluster_with_records(0)
    append(new, make_batch(b"a" * 200, codec="zstd"))
    assert values(parts(ask(new, {0: 0}, version=4))[0].records) == [b"a" * 200]


def test_read_committed_gets_an_empty_list_of_aborted_transactions_and_others_null() -> None:
    cluster = cluster_with_records(1)
    assert parts(ask(cluster, {0: 0}))[0].aborted_transactions is None
    assert parts(ask(cluster, {0: 0}, isolation_level=1))[0].aborted_transactions == []


def test_the_list_of_aborted_transactions_is_empty_for_what_does_not_exist_and_null_in_errors() -> (
    None
):
    cluster = cluster_with_records(1)
    assert parts(ask(cluster, {9: 0}))[9].aborted_transactions == []
    past_the_end = parts(ask(cluster, {0: 9}, isolation_level=1))[0]
    assert past_the_end.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert past_the_end.aborted_transactions is None


def test_an_unknown_isolation_level_fails_the_request_if_a_partition_exists() -> None:
    cluster = cluster_with_records(1)
    old = parts(ask(cluster, {0: 0, 9: 0}, isolation_level=2))
    assert [(old[index].error_code, old[index].high_watermark) for index in (0, 9)] == [
        (ErrorCode.UNKNOWN_SERVER_ERROR, -1),
        (ErrorCode.UNKNOWN_SERVER_ERROR, -1),
    ]
    response = ask(cluster, {0: 0}, isolation_level=2, version=13, session_id=5, session_epoch=0)
    assert (response.error_code, response.session_id) == (ErrorCode.UNKNOWN_SERVER_ERROR, 5)
    assert response.responses == []
    missing = parts(ask(cluster, {9: 0}, isolation_level=2))[9]
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_negative_size_fails_a_partition_with_records() -> None:
    cluster = cluster_with_records(1)
    found = parts(ask(cluster, {0: 0}, partition_bytes=-1))[0]
    assert (found.error_code, found.high_watermark) == (ErrorCode.UNKNOWN_SERVER_ERROR, -1)
    assert parts(ask(cluster, {0: 2}, partition_bytes=-1))[0].error_code == ErrorCode.NONE


def test_a_negative_size_of_the_response_fails_only_the_first_partition() -> None:
    cluster = cluster_with_records(1)
    append(cluster, make_batch(b"second"), 1)
    found = parts(ask(cluster, {0: 0, 1: 0}, max_bytes=-1))
    assert found[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (found[1].error_code, values(found[1].records)) == (ErrorCode.NONE, [b"second"])


@pytest.mark.parametrize("fetch_offsets", [{0: 99}, {5: 0}])
def test_an_error_completes_the_fetch_at_once(fetch_offsets: dict[int, int]) -> None:
    assert not isinstance(
        ask(cluster_with_records(), fetch_offsets, max_wait_ms=500), PendingResponse
    )


def test_a_fetch_without_partitions_or_min_bytes_completes_at_once() -> None:
    cluster = cluster_with_records()
    assert not isinstance(ask(cluster, {}, max_wait_ms=500), PendingResponse)
    assert not isinstance(ask(cluster, {1: 0}, max_wait_ms=500, min_bytes=0), PendingResponse)


def test_a_fetch_waits_for_its_minimum_across_partitions() -> None:
    cluster = cluster_with_records(0)
    batch = make_batch(b"x" * 50)
    pending = ask(cluster, {0: 0, 1: 0}, max_wait_ms=500, min_bytes=len(batch) * 2)
    assert isinstance(pending, PendingResponse)

    append(cluster, batch, 0)
    cluster.timers.run_due(NOW_MS)
    assert not pending.is_done

    append(cluster, batch, 1)
    cluster.timers.run_due(NOW_MS)
    assert pending.is_done
    found = parts(reread(pending.response))
    assert [len(found[0].records), len(found[1].records)] == [len(batch)] * 2
    topic = cluster.topics.get("t")
    assert topic is not None
    assert not any(part.log.waiters for part in topic.partitions)


@pytest.mark.parametrize(
    ("fetch_offsets", "partition_batches", "is_enough"),
    [({0: 0}, 2, True), ({0: 0, 1: 0}, 2, True), ({0: 0}, 1, False), ({0: 0, 1: 0}, 1, True)],
)
def test_bytes_that_do_not_fit_into_the_response_count_for_its_minimum(
    fetch_offsets: dict[int, int], partition_batches: int, is_enough: bool
) -> None:
    cluster = cluster_with_records(0)
    batch = make_batch(b"x" * 50)
    for index in range(2):
        for _ in range(partition_batches):
            append(cluster, batch, index)

    # The minimum is no more than the maximum, and only one batch fits.
    bytes_max = len(batch) * 3 // 2
    found = ask(cluster, fetch_offsets, max_wait_ms=500, min_bytes=1000, max_bytes=bytes_max)
    cluster.timers.run_due(NOW_MS)
    assert found.is_done is is_enough

    cluster.timers.run_due(NOW_MS + 500)
    returned = parts(reread(found.response)).values()
    assert sum(len(part.records) for part in returned) == len(batch)


def test_a_fetch_returns_available_records_after_max_wait_ms() -> None:
    cluster = cluster_with_records(1)
    pending = ask(cluster, {0: 0}, max_wait_ms=500, min_bytes=100_000)
    assert isinstance(pending, PendingResponse)

    cluster.timers.run_due(NOW_MS + 499)
    assert not pending.is_done
    cluster.timers.run_due(NOW_MS + 500)

    assert values(parts(reread(pending.response))[0].records) == [b"a0", b"b"]


def test_records_appended_before_a_fetch_completes_are_returned_together() -> None:
    cluster = cluster_with_records(0)
    pending = ask(cluster, {0: 0}, max_wait_ms=500)
    assert isinstance(pending, PendingResponse)
    append(cluster, make_batch(b"1"))
    append(cluster, make_batch(b"2"))
    cluster.timers.run_due(NOW_MS)

    assert values(parts(reread(pending.response))[0].records) == [b"1", b"2"]


@pytest.mark.parametrize("pause", range(1, 13))
def test_a_fetch_does_not_wait_for_records_that_came_during_a_pause(pause: int) -> None:
    cluster = make_cluster(1)
    cluster.create_topic("t", cluster.place(100, 1), {})
    came = []

    def append_one() -> None:
        append(cluster, make_batch(b"v"))
        came.append(pause)

    fetch_offsets = dict.fromkeys(range(100), 0)
    response = run_with_pauses(
        lambda: ask(cluster, fetch_offsets, max_wait_ms=500), at_pause(pause, append_one)
    )
    if not came:
        append_one()
    cluster.timers.run_due(NOW_MS)

    if isinstance(response, PendingResponse):
        assert response.is_done
        response = reread(response.response)
    assert values(parts(response)[0].records) == [b"v"]


@pytest.mark.parametrize("event", ["delete", "move"])
def test_a_waiting_fetch_completes_when_its_topic_is_deleted_or_its_leader_moves(
    event: str,
) -> None:
    cluster = cluster_with_records(0, brokers=2)
    topic = cluster.topics.get("t")
    assert topic is not None
    leader_id = topic.partitions[0].leader_id
    pending = ask(cluster, {0: 0}, max_wait_ms=500, broker_id=leader_id, version=10)
    assert isinstance(pending, PendingResponse)

    if event == "delete":
        cluster.delete_topic(topic, NOW_MS)
    else:
        cluster.set_leader(topic.partitions[0], 3 - leader_id, NOW_MS)
    cluster.timers.run_due(NOW_MS)

    code = parts(reread(pending.response, 10))[0].error_code
    assert code == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if event == "delete"
        else ErrorCode.NOT_LEADER_OR_FOLLOWER
    )


# Sessions (KIP-227) ----------------------------------------------------------------------------

SESSION_VERSIONS = [7, 11, 12, 13, 18]


@pytest.mark.parametrize("version", SESSION_VERSIONS)
def test_an_incremental_response_has_only_what_changed(version: int) -> None:
    cluster = cluster_with_records(1)
    session_id = session_of(cluster, {0: 2, 1: 0}, version=version)

    unchanged = ask(cluster, {}, version=version, session_id=session_id, session_epoch=1)
    append(cluster, make_batch(b"new"), partition_index=1)
    changed = ask(cluster, {}, version=version, session_id=session_id, session_epoch=2)
    moved_on = ask(cluster, {1: 1}, version=version, session_id=session_id, session_epoch=3)

    for response in (unchanged, changed, moved_on):
        assert (response.error_code, response.session_id) == (ErrorCode.NONE, session_id)
    assert not unchanged.responses
    assert list(parts(changed)) == [1]
    assert values(parts(changed)[1].records) == [b"new"]
    assert not moved_on.responses


def test_records_that_are_not_acknowledged_by_a_higher_offset_come_again() -> None:
    cluster = cluster_with_records(1)
    session_id = session_of(cluster, {0: 0})
    again = ask(cluster, {}, session_id=session_id, session_epoch=1)
    assert values(parts(again)[0].records) == [b"a0", b"b"]


def test_a_new_log_start_offset_is_a_change() -> None:
    cluster = cluster_with_records(1)
    topic = cluster.topics.get("t")
    assert topic is not None
    session_id = session_of(cluster, {0: 2})
    cluster.delete_records_before(topic.partitions[0], 2, NOW_MS)
    changed = ask(cluster, {}, session_id=session_id, session_epoch=1)
    assert parts(changed)[0].log_start_offset == 2
    assert not ask(cluster, {}, session_id=session_id, session_epoch=2).responses


def test_an_error_is_sent_each_time_and_the_partition_once_more_when_it_is_over() -> None:
    cluster = cluster_with_records(1)
    topic = cluster.topics.get("t")
    assert topic is not None
    session_id = session_of(cluster, {0: 2}, version=10)

    topic.partitions[0].leader_id = -1
    codes = [
        parts(ask(cluster, {}, version=10, session_id=session_id, session_epoch=n))[0].error_code
        for n in (1, 2)
    ]
    topic.partitions[0].leader_id = 1
    recovered = ask(cluster, {}, version=10, session_id=session_id, session_epoch=3)
    unchanged = ask(cluster, {}, version=10, session_id=session_id, session_epoch=4)

    assert codes == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2
    assert parts(recovered)[0].error_code == ErrorCode.NONE
    assert not unchanged.responses


def test_partitions_are_added_changed_and_forgotten() -> None:
    cluster = cluster_with_records(1)
    append(cluster, make_batch(b"other"), partition_index=1)
    session_id = session_of(cluster, {0: 2})

    added = ask(cluster, {1: 0}, session_id=session_id, session_epoch=1)
    forgotten = ask(cluster, {}, forgotten=[1], session_id=session_id, session_epoch=2)
    changed = ask(cluster, {0: 0}, session_id=session_id, session_epoch=3)

    assert values(parts(added)[1].records) == [b"other"]
    assert not forgotten.responses
    assert values(parts(changed)[0].records) == [b"a0", b"b"]


@pytest.mark.parametrize("version", SESSION_VERSIONS)
def test_a_session_without_partitions_is_closed(version: int) -> None:
    cluster = cluster_with_records(1)
    session_id = session_of(cluster, {0: 2}, version=version)
    last = ask(cluster, {}, version=version, forgotten=[0], session_id=session_id, session_epoch=1)
    assert (last.error_code, last.session_id, last.responses) == (ErrorCode.NONE, 0, [])
    gone = ask(cluster, {}, version=version, session_id=session_id, session_epoch=2)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_an_unknown_session_and_a_wrong_epoch_are_refused() -> None:
    cluster = cluster_with_records(1)
    session_id = session_of(cluster, {0: 0})

    unknown = ask(cluster, {}, session_id=session_id + 1, session_epoch=1)
    wrong = ask(cluster, {}, session_id=session_id, session_epoch=2)
    right = ask(cluster, {}, session_id=session_id, session_epoch=1)
    repeated = ask(cluster, {}, session_id=session_id, session_epoch=1)

    assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert wrong.error_code == repeated.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert [response.session_id for response in (unknown, wrong, repeated)] == [0, 0, 0]
    assert [response.responses for response in (unknown, wrong, repeated)] == [[], [], []]
    assert right.error_code == ErrorCode.NONE


@pytest.mark.parametrize(("first", "second"), [(12, 13), (13, 12)])
def test_a_session_uses_topic_ids_or_names_for_good(first: int, second: int) -> None:
    cluster = cluster_with_records(1)
    session_id = session_of(cluster, {0: 0}, version=first)
    mixed = ask(cluster, {}, version=second, session_id=session_id, session_epoch=1)
    assert mixed.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


@pytest.mark.parametrize("epoch", [0, -1])
def test_a_full_fetch_ends_the_session_that_it_names(epoch: int) -> None:
    cluster = cluster_with_records(1)
    session_id = session_of(cluster, {0: 0})
    full = ask(cluster, {0: 0}, session_id=session_id, session_epoch=epoch)
    assert values(parts(full)[0].records) == [b"a0", b"b"]
    assert (full.session_id > 0) is (epoch == 0)
    gone = ask(cluster, {}, session_id=session_id, session_epoch=1)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_belongs_to_one_broker_and_ends_when_that_stops() -> None:
    cluster = cluster_with_records(1, brokers=2)
    session_id = session_of(cluster, {0: 0}, broker_id=1)

    elsewhere = ask(cluster, {}, broker_id=2, session_id=session_id, session_epoch=1)
    stop_broker(cluster, 1, NOW_MS)
    start_broker(cluster, 1, NOW_MS)
    later = ask(cluster, {}, broker_id=1, session_id=session_id, session_epoch=1)

    assert elsewhere.error_code == later.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_without_slots_every_response_is_complete() -> None:
    cluster = make_cluster(1, **{"max.incremental.fetch.session.cache.slots": "7"})
    cluster.create_topic("t", [(1,)], {})
    assert ask(cluster, {0: 0}, session_epoch=0).session_id == 0


def test_a_topic_that_is_deleted_and_created_again_is_another_topic() -> None:
    cluster = cluster_with_records(1)
    topic = cluster.topics.get("t")
    assert topic is not None
    old_id = topic.topic_id
    session_id = session_of(cluster, {0: 2}, version=13)

    cluster.delete_topic(topic, NOW_MS)
    deleted = ask(cluster, {}, version=13, topic_id=old_id, session_id=session_id, session_epoch=1)
    cluster.create_topic("t", [(1,)], {})
    created = ask(cluster, {}, version=13, topic_id=old_id, session_id=session_id, session_epoch=2)

    assert parts(deleted)[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert parts(created)[0].error_code == ErrorCode.INCONSISTENT_TOPIC_ID
    full = ask(cluster, {0: 0}, version=13, topic_id=old_id)
    assert parts(full)[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_an_unknown_topic_does_not_cut_the_wait_for_others_short() -> None:
    cluster = cluster_with_records(1)
    pending = ask(cluster, {0: 2, 5: 0}, max_wait_ms=500)
    assert isinstance(pending, PendingResponse)
    cluster.timers.run_due(NOW_MS + 500)
    codes = {index: part.error_code for index, part in parts(reread(pending.response)).items()}
    assert codes == {0: ErrorCode.NONE, 5: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_fetch_waits_inside_its_session() -> None:
    cluster = cluster_with_records(1)
    session_id = session_of(cluster, {0: 2, 1: 0})
    pending = ask(cluster, {}, session_id=session_id, session_epoch=1, max_wait_ms=500)
    assert isinstance(pending, PendingResponse)
    append(cluster, make_batch(b"new"), partition_index=1)
    cluster.timers.run_due(NOW_MS)
    response = reread(pending.response)
    assert response.session_id == session_id
    assert list(parts(response)) == [1]

    pending = ask(cluster, {1: 1}, session_id=session_id, session_epoch=2, max_wait_ms=500)
    assert isinstance(pending, PendingResponse)
    cluster.timers.run_due(NOW_MS + 500)
    assert not reread(pending.response).responses


def test_a_waiting_fetch_that_another_overtook_gets_an_error() -> None:
    cluster = cluster_with_records(1)
    session_id = session_of(cluster, {0: 2})
    pending = ask(cluster, {}, session_id=session_id, session_epoch=1, max_wait_ms=500)
    assert isinstance(pending, PendingResponse)
    ask(cluster, {}, session_id=session_id, session_epoch=2)
    cluster.timers.run_due(NOW_MS + 500)
    response = reread(pending.response)
    assert response.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert response.session_id == session_id


def test_partitions_with_records_are_read_last_the_next_time() -> None:
    cluster = cluster_with_records(1)
    append(cluster, make_batch(b"other"), partition_index=1)
    session_id = session_of(cluster, {0: 0, 1: 0}, max_bytes=1)
    orders = [
        list(parts(ask(cluster, {}, session_id=session_id, session_epoch=n, max_bytes=1)))
        for n in (1, 2, 3)
    ]
    assert orders == [[0], [1], [0]]


def cluster_with_a_quota() -> Cluster:
    cluster = make_cluster(1, **{"client.quotas": "user=ANONYMOUS,consumer_byte_rate=100"})
    cluster.create_topic("t", [(1,), (1,)], {})
    return cluster


def test_a_throttled_client_keeps_its_session_and_gets_the_records_later() -> None:
    cluster = cluster_with_a_quota()
    session_id = session_of(cluster, {0: 0})
    append(cluster, make_batch(b"x" * 500))
    sent = ask(cluster, {}, session_id=session_id, session_epoch=1)
    append(cluster, make_batch(b"y" * 500))
    throttled = ask(cluster, {0: 1}, session_id=session_id, session_epoch=2)
    later = ask(cluster, {}, session_id=session_id, session_epoch=3, now_ms=NOW_MS + 60_000)

    assert values(parts(sent)[0].records) == [b"x" * 500]
    assert (throttled.error_code, throttled.session_id) == (ErrorCode.NONE, session_id)
    assert not throttled.responses
    assert values(parts(later)[0].records) == [b"y" * 500]


def test_a_throttled_full_fetch_opens_no_session() -> None:
    cluster = cluster_with_a_quota()
    append(cluster, make_batch(b"x" * 500))
    assert ask(cluster, {0: 0}).responses
    throttled = ask(cluster, {0: 0}, session_epoch=0)
    assert (throttled.session_id, throttled.responses) == (0, [])


# Replicas (KIP-392) ----------------------------------------------------------------------------

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def cluster_with_racks(**overrides: str) -> Cluster:
    cluster = make_cluster(3, **overrides)
    for node_id, broker in cluster.brokers.items():
        broker.rack = f"rack-{node_id}"
    cluster.create_topic("t", [(1, 2, 3), (1, 2, 3)], {})
    append(cluster, make_batch(b"a"))
    return cluster


@pytest.mark.parametrize("version", [11, 13, 18])
def test_a_consumer_with_a_rack_gets_the_replica_there_and_reads_from_it(version: int) -> None:
    cluster = cluster_with_racks(**{"replica.selector.class": RACK_AWARE})
    rest: dict[str, Any] = {"rack_id": "rack-2", "version": version, "max_wait_ms": 500}

    sent_away = ask(cluster, {0: 0}, **rest)
    served = ask(cluster, {0: 0}, broker_id=2, **rest)

    assert not isinstance(sent_away, PendingResponse)
    assert parts(sent_away)[0].preferred_read_replica == 2
    assert not parts(sent_away)[0].records
    assert parts(sent_away)[0].high_watermark == 1
    assert parts(served)[0].preferred_read_replica == -1
    assert values(parts(served)[0].records) == [b"a"]


def test_without_a_selector_everyone_reads_from_the_leader() -> None:
    part = parts(ask(cluster_with_racks(), {0: 0}, rack_id="rack-2"))[0]
    assert part.preferred_read_replica == -1
    assert values(part.records) == [b"a"]


def test_a_preferred_replica_is_sent_in_every_incremental_response() -> None:
    cluster = cluster_with_racks(**{"replica.selector.class": RACK_AWARE})
    session_id = session_of(cluster, {1: 0})
    responses = [
        ask(cluster, {}, rack_id="rack-3", session_id=session_id, session_epoch=n) for n in (1, 2)
    ]
    assert [parts(response)[1].preferred_read_replica for response in responses] == [3, 3]


# Leader epochs of the last fetched record ------------------------------------------------------


def test_a_last_fetched_epoch_that_the_log_does_not_have_gets_the_diverging_epoch() -> None:
    cluster = cluster_with_records(1)
    topic = cluster.topics.get("t")
    assert topic is not None
    topic.partitions[0].leader_epoch = 3
    append(cluster, make_batch(b"later"))

    diverging = parts(ask(cluster, {0: 2}, version=12, last_fetched_epoch=2))[0]
    same = parts(ask(cluster, {0: 2}, version=12, last_fetched_epoch=0))[0]
    future = parts(ask(cluster, {0: 2}, version=12, last_fetched_epoch=9))[0]

    assert (diverging.diverging_epoch.epoch, diverging.diverging_epoch.end_offset) == (0, 2)
    assert not diverging.records
    assert values(same.records) == [b"later"]
    assert future.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(("version", "epoch"), [(9, -1), (9, 0), (15, 0)])
def test_a_broker_that_has_no_replica_may_not_replicate(version: int, epoch: int) -> None:
    cluster = cluster_with_records(1, brokers=2)
    topic = cluster.topics.get("t")
    assert topic is not None
    leader_id, follower_id = topic.partitions[0].replicas
    rest: dict[str, Any] = {"version": version, "leader_epoch": epoch, "broker_id": leader_id}

    replica = parts(ask(cluster, {0: 0}, replica_id=follower_id, **rest))[0]
    stranger = parts(ask(cluster, {0: 0}, replica_id=7, **rest))[0]

    assert replica.records
    assert stranger.error_code == (
        ErrorCode.UNKNOWN_LEADER_EPOCH if epoch >= 0 else ErrorCode.NOT_LEADER_OR_FOLLOWER
    )
