"""Messages are converted to JSON values, and invalid bytes to a DecodeError."""

import json

from hypothesis import given
from hypothesis import strategies as st

from protocol import json_view, messages
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, decode_response
from tests.batches import make_batch


def test_apis_and_errors_have_the_names_that_kafka_gives_them() -> None:
    assert json_view.api_name(ApiKey.OFFSET_FOR_LEADER_EPOCH) == "OffsetForLeaderEpoch"
    assert json_view.api_name(9999) == "9999"
    assert json_view.error_name(89) == "THROTTLING_QUOTA_EXCEEDED"
    assert json_view.error_name(0) == "NONE"
    assert json_view.error_name(30_000) == "30000"


@given(st.sampled_from(ApiKey), st.integers(0, 20), st.binary(max_size=80))
def test_any_frame_is_decoded_or_a_decode_error(api_key: ApiKey, version: int, rest: bytes) -> None:
    header = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4) + b"\xff\xff"
    for frame, decode in (
        (header + rest, json_view.decode_request_frame),
        (rest, lambda frame: decode_response(frame, api_key, version)),
    ):
        try:
            message = decode(frame)
        except (DecodeError, KeyError):
            continue
        json.dumps(json_view.as_plain(message, lambda _name: True))
        json_view.errors_of(message)


@given(st.binary(max_size=300), st.integers(0, 3), st.integers(0, 200))
def test_complete_batches_are_summarized(junk: bytes, batch_count: int, cut: int) -> None:
    batch = make_batch(b"a", b"b", producer_id=7, producer_epoch=1, base_sequence=3)
    summary = json_view.batch_summaries(batch * batch_count + batch[: cut % len(batch)])

    assert summary["batch_count"] == batch_count
    assert [batch["record_count"] for batch in summary["batches"]] == [2] * batch_count
    assert all(batch["base_sequence"] == 3 for batch in summary["batches"])
    assert summary.get("unreadable_bytes", 0) == cut % len(batch)
    json_view.batch_summaries(junk)


def test_batches_beyond_the_maximum_are_only_counted() -> None:
    summary = json_view.batch_summaries(make_batch(b"a") * (json_view.BATCHES_MAX + 5))

    assert summary["batch_count"] == json_view.BATCHES_MAX + 5
    assert len(summary["batches"]) == json_view.BATCHES_MAX


def test_a_refused_version_of_api_versions_is_read_in_the_version_it_was_written_in() -> None:
    response = messages.ApiVersionsResponse(version=0, error_code=35, api_keys=[])
    frame = bytes(8) + bytes(response.encode(version=0))

    decoded = decode_response(frame, ApiKey.API_VERSIONS, 4)
    assert json_view.errors_of(decoded) == {"UNSUPPORTED_VERSION"}


def test_every_field_of_an_error_code_has_its_name_and_a_token_is_hidden() -> None:
    response_class = messages.ShareAcknowledgeResponse
    topic_class = response_class.ShareAcknowledgeTopicResponse
    leader = topic_class.PartitionData.LeaderIdAndEpoch()
    partition = topic_class.PartitionData(error_code=6, current_leader=leader)
    topic = topic_class(partitions=[partition])
    response = response_class(version=1, error_code=122, responses=[topic])
    assert json_view.errors_of(response) == {"SHARE_SESSION_NOT_FOUND", "NOT_LEADER_OR_FOLLOWER"}

    partition_class = messages.ShareFetchResponse.ShareFetchableTopicResponse.PartitionData
    fetched = partition_class(
        acknowledge_error_code=121, current_leader=partition_class.LeaderIdAndEpoch()
    )
    assert json_view.as_plain(fetched, lambda _name: True)["acknowledge_error_code"] == (
        "INVALID_RECORD_STATE"
    )
    assert json_view.errors_of(fetched) == {"INVALID_RECORD_STATE"}

    request = messages.RenewDelegationTokenRequest(version=2, hmac=b"secret")
    assert json_view.as_plain(request, lambda _name: True)["hmac"] == json_view.HIDDEN
