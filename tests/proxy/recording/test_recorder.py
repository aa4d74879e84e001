"""What passes is recorded: records by their offsets, transactions by their outcome."""

from collections.abc import Callable
from uuid import UUID

import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.records import Record
from proxy.recording.kept_records import KeptRecords
from proxy.recording.recorder import Recorder
from proxy.recording.scrubbing import NO_RECORDS, UNSCRUBBED, Drop, Keep, RecordScrubber, Scrubbing
from tests.batches import NOW_MS, make_batch
from tests.proxy.recording.fetched import (
    TOPIC_ID,
    end_txn,
    fetch_request,
    fetch_response,
    marker,
    produced,
    stored,
    transactional,
    undecodable,
)

KEY = ("t", 0)


def name_of(topic_id: UUID) -> str | None:
    return "t" if topic_id == TOPIC_ID else None


def recorder(
    scrubbing: Scrubbing = UNSCRUBBED,
    *,
    has_aborted: bool = False,
    topic_name: Callable[[UUID], str | None] = name_of,
) -> Recorder:
    return Recorder(scrubbing, KeptRecords(10_000), topic_name, has_aborted=has_aborted)


def found(recording: Recorder) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for record in recording.kept.records(KEY)]


@pytest.mark.parametrize("topic", ["t", ""])
def test_a_produced_record_has_the_offset_of_the_response(topic: str) -> None:
    recording = recorder()
    recording.see_produce(*produced(make_batch(b"a", b"b", codec="zstd"), 7, topic=topic))
    assert recording.kept.records(KEY) == [
        Record(7, NOW_MS, b"k", b"a", ()),
        Record(8, NOW_MS, b"k", b"b", ()),
    ]


def test_two_batches_of_a_partition_follow_each_other() -> None:
    recording = recorder()
    recording.see_produce(*produced(make_batch(b"a", b"b") + make_batch(b"c"), 7))
    assert found(recording) == [(7, b"a"), (8, b"b"), (9, b"c")]


def test_a_record_has_the_time_at_which_the_log_got_it() -> None:
    recording = recorder()
    recording.see_produce(*produced(make_batch(b"a"), 7, append_time_ms=5))
    assert recording.kept.records(KEY)[0].timestamp == 5


def test_what_was_refused_or_has_no_known_topic_is_not_kept() -> None:
    recording = recorder()
    recording.see_produce(*produced(make_batch(b"a"), -1, error_code=19))
    unnamed = recorder(topic_name=lambda _topic_id: None)
    unnamed.see_produce(*produced(make_batch(b"a"), 0, topic=""))
    unnamed.see_fetch(fetch_request(), fetch_response(stored(make_batch(b"a"), 3), topic=""))
    assert recording.kept.partitions() == unnamed.kept.partitions() == []


@pytest.mark.parametrize("topic", ["t", ""])
def test_what_was_fetched_is_the_same_record(topic: str) -> None:
    recording = recorder()
    recording.see_produce(*produced(make_batch(b"a"), 7))
    batches = (stored(make_batch(b"a"), 7), undecodable(8), stored(make_batch(b"c"), 9))
    recording.see_fetch(fetch_request(), fetch_response(*batches, topic=topic))
    assert found(recording) == [(7, b"a"), (9, b"c")]
    assert recording.unreadable == {("t", 0, 8)}


@pytest.mark.parametrize(
    ("is_committed", "kept"), [(True, [(7, b"a")]), (False, [])], ids=["commit", "abort"]
)
def test_a_transaction_counts_when_its_end_was_seen(
    is_committed: bool, kept: list[tuple[int, bytes]]
) -> None:
    by_response, by_marker = recorder(), recorder()
    for recording in (by_response, by_marker):
        recording.see_produce(*produced(transactional(0, b"a"), 7))
        assert found(recording) == []
    by_response.see_end_txn(*end_txn(is_committed=is_committed, error_code=51))
    assert by_response.kept.undecided_count == 1
    by_response.see_end_txn(*end_txn(is_committed=is_committed))
    by_marker.see_fetch(fetch_request(), fetch_response(marker(8, is_committed=is_committed)))
    assert found(by_response) == found(by_marker) == kept
    assert by_response.kept.undecided_count == by_marker.kept.undecided_count == 0


def test_a_reader_with_read_committed_decides() -> None:
    batches = (
        transactional(0, b"aborted"),
        transactional(1, b"committed", producer_id=1),
        marker(2, is_committed=False),
    )
    recording = recorder()
    response = fetch_response(*batches, aborted=[(9, 0)])
    recording.see_fetch(fetch_request(is_committed=True), response)
    assert found(recording) == [(1, b"committed")]
    everything = recorder(has_aborted=True)
    everything.see_fetch(fetch_request(), fetch_response(*batches))
    assert found(everything) == [(0, b"aborted"), (1, b"committed")]


def test_deleted_records_of_a_batch_are_not_kept() -> None:
    response = fetch_response(stored(make_batch(b"a", b"b", b"c"), 5))
    response.responses[0].partitions[0].log_start_offset = 6
    recording = recorder()
    recording.see_fetch(fetch_request(), response)
    assert found(recording) == [(6, b"b"), (7, b"c")]


def test_records_are_scrubbed_and_topics_without_rules_are_named() -> None:
    rules = Scrubbing([("t", RecordScrubber(Drop(), Keep(), []))])
    recording = recorder(rules)
    recording.see_produce(*produced(make_batch(b"a"), 7))
    recording.see_produce(*produced(make_batch(b"a"), 7, topic="other"))
    assert recording.kept.records(KEY) == [Record(7, NOW_MS, None, b"a", ())]
    assert recording.kept.partitions() == [KEY]
    assert recording.unscrubbed_topics == {"other"}
    without = recorder(NO_RECORDS)
    without.see_produce(*produced(make_batch(b"a"), 7))
    assert (without.kept.partitions(), without.unscrubbed_topics) == ([], set())


def test_requests_are_noted() -> None:
    recording = recorder()
    request = messages.HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    for _ in range(2):
        recording.see_request(ApiKey.HEARTBEAT, 4, request, "User:ann")
    (entry,) = recording.requests.entries()
    assert (entry.api, entry.groups, entry.user, entry.count) == ("Heartbeat", ["g"], "User:ann", 2)
