"""What passes a proxy as bytes reaches the recorder."""

from typing import Any

import pytest

from broker.request.context import RequestContext
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_body, encode_request, frame_response
from proxy.recording.kept_records import KeptRecords
from proxy.recording.observer import RecordingObserver
from proxy.recording.recorder import Recorder
from proxy.recording.scrubbing import UNSCRUBBED
from tests.batches import make_batch
from tests.proxy.recording.fetched import end_txn, fetch_response, produced, stored, transactional

VERSIONS = {ApiKey.PRODUCE: 9, ApiKey.FETCH: 12, ApiKey.END_TXN: 3, ApiKey.HEARTBEAT: 4}


class Passing:
    """A recorder, and requests that pass by it."""

    def __init__(self) -> None:
        self.recorder = Recorder(UNSCRUBBED, KeptRecords(10_000), lambda _topic_id: None)
        self.observer = RecordingObserver(self.recorder)

    def see(self, api_key: ApiKey, request: Any, response: Any) -> None:
        version = VERSIONS[api_key]
        frame = None
        if response is not None:
            body = bytes(encode_body(response, version))
            frame = frame_response(7, body, has_tagged_header=True)
        sent = request
        if not isinstance(request, bytes):
            sent = encode_request(7, "me", api_key, version, request)
        self.observer(self.context(api_key), sent, frame)

    def context(self, api_key: ApiKey) -> RequestContext:
        return RequestContext(api_key, VERSIONS[api_key], 7, "me", 0, 1, 1, 1, "host", "ann")

    def values(self) -> list[bytes | None]:
        return [record.value for record in self.recorder.kept.records(("t", 0))]


@pytest.fixture
def passing() -> Passing:
    return Passing()


def produce(batch: bytes) -> tuple[Any, Any]:
    request, response = produced(batch, 3)
    request.acks, request.timeout_ms, request.transactional_id = -1, 1000, None
    for topic in response.responses:
        for part in topic.partition_responses:
            part.log_start_offset, part.record_errors, part.error_message = 0, [], None
    response.throttle_time_ms = 0
    return request, response


def test_produced_records_and_the_end_of_their_transaction_are_seen(passing: Passing) -> None:
    passing.see(ApiKey.PRODUCE, *produce(make_batch(b"a")))
    passing.see(ApiKey.PRODUCE, *produce(transactional(0, b"b")))
    request, response = end_txn(is_committed=True)
    response.throttle_time_ms = 0
    passing.see(ApiKey.END_TXN, request, response)
    assert passing.values() == [b"a"]  # both have the same offset
    assert passing.recorder.kept.undecided_count == 0
    entries = passing.recorder.requests.entries()
    assert [(entry.api, entry.version, entry.user, entry.count) for entry in entries] == [
        ("Produce", 9, "User:ann", 2),
        ("EndTxn", 3, "User:ann", 1),
    ]


def test_fetched_records_are_seen(passing: Passing) -> None:
    request = messages.FetchRequest(
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[],
        forgotten_topics_data=[],
        rack_id="",
    )
    response = fetch_response(stored(make_batch(b"a"), 3))
    response.throttle_time_ms = response.session_id = 0
    (part,) = response.responses[0].partitions
    part.high_watermark, part.last_stable_offset, part.log_start_offset = 4, 4, 0
    part.preferred_read_replica = -1
    passing.see(ApiKey.FETCH, request, response)
    assert passing.values() == [b"a"]


def test_what_has_no_response_or_cannot_be_decoded_was_asked(passing: Passing) -> None:
    passing.see(ApiKey.PRODUCE, produce(make_batch(b"a"))[0], None)
    request = produce(make_batch(b"a"))[0]
    sent = encode_request(7, "me", ApiKey.PRODUCE, 9, request)
    passing.observer(passing.context(ApiKey.PRODUCE), sent[:-9], b"\0\0\0\4\0\0\0\7")
    passing.observer(passing.context(ApiKey.PRODUCE), sent, b"\0\0\0\5\0\0\0\7\0")
    heartbeat = messages.HeartbeatRequest(
        group_id="g", generation_id=1, member_id="m", group_instance_id=None
    )
    passing.see(ApiKey.HEARTBEAT, heartbeat, None)
    assert passing.values() == []
    entries = passing.recorder.requests.entries()
    assert [(entry.api, entry.groups) for entry in entries] == [
        ("Produce", []),
        ("Heartbeat", ["g"]),
    ]
    assert [entry.count for entry in entries] == [3, 1]
