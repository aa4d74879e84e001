"""Messages become plain values, and bytes that are none become an error and nothing worse."""

import json
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from protocol import json_view as readable
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, decode_response
from tests.batches import make_batch
from tests.broker.connection_driver import request_frame


def test_apis_and_errors_have_the_names_that_kafka_gives_them() -> None:
    assert readable.api_name(ApiKey.OFFSET_FOR_LEADER_EPOCH) == "OffsetForLeaderEpoch"
    assert readable.api_name(9999) == "9999"
    assert readable.error_name(89) == "THROTTLING_QUOTA_EXCEEDED"
    assert readable.error_name(0) == "NONE"
    assert readable.error_name(30_000) == "30000"


@given(st.sampled_from(ApiKey), st.integers(0, 20), st.binary(max_size=80))
def test_arbitrary_frames_decode_or_say_why_not(api_key: ApiKey, version: int, rest: bytes) -> None:
    header = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4) + b"\xff\xff"
    for frame, decode in (
        (header + rest, readable.decode_request_frame),
        (rest, lambda frame: decode_response(frame, api_key, version)),
    ):
        try:
            message = decode(frame)
        except (DecodeError, KeyError):
            continue
        json.dumps(readable.as_plain(message, lambda _name: True))
        readable.topics_of(message)
        readable.groups_of(message)
        readable.errors_of(message)


@given(st.binary(max_size=300), st.integers(0, 3), st.integers(0, 200))
def test_batches_are_summed_up_as_far_as_they_are_whole(
    junk: bytes, batch_count: int, cut: int
) -> None:
    whole = make_batch(b"a", b"b", producer_id=7, producer_epoch=1, base_sequence=3)
    summary = readable.batch_summaries(whole * batch_count + whole[: cut % len(whole)])

    assert summary["batch_count"] == batch_count
    assert [batch["record_count"] for batch in summary["batches"]] == [2] * batch_count
    assert all(batch["base_sequence"] == 3 for batch in summary["batches"])
    assert summary.get("unreadable_bytes", 0) == cut % len(whole)
    readable.batch_summaries(junk)


def test_a_field_of_very_many_batches_is_counted_and_not_listed() -> None:
    summary = readable.batch_summaries(make_batch(b"a") * (readable.BATCHES_MAX + 5))

    assert summary["batch_count"] == readable.BATCHES_MAX + 5
    assert len(summary["batches"]) == readable.BATCHES_MAX


def test_a_refused_version_of_api_versions_is_read_in_the_version_it_was_written_in() -> None:
    response = messages.ApiVersionsResponse(version=0, error_code=35, api_keys=[])
    frame = bytes(8) + bytes(response.encode(version=0))

    decoded = decode_response(frame, ApiKey.API_VERSIONS, 4)
    assert readable.errors_of(decoded) == {"UNSUPPORTED_VERSION"}


def test_a_request_is_about_the_topics_and_groups_it_names() -> None:
    fetch = messages.FetchRequest
    topic_id = UUID(int=5)
    request = fetch(
        version=13,
        topics=[fetch.FetchTopic(version=13, topic_id=topic_id, partitions=[])],
    )
    decoded = readable.decode_request_frame(request_frame(request, 13, 1)[4:])
    assert readable.topics_of(decoded) == {topic_id}

    delete = messages.DeleteTopicsRequest(version=5, topic_names=["a", "b"], timeout_ms=1)
    assert readable.topics_of(delete) == {"a", "b"}

    heartbeat = messages.HeartbeatRequest(version=4, group_id="g", member_id="m", generation_id=1)
    assert readable.groups_of(heartbeat) == {"g"}
    find = messages.FindCoordinatorRequest(version=4, key_type=0, coordinator_keys=["g", "h"])
    assert readable.groups_of(find) == {"g", "h"}
    find = messages.FindCoordinatorRequest(version=3, key_type=0, key="i")
    assert readable.groups_of(find) == {"i"}
