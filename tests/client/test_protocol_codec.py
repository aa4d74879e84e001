"""Encode requests and decode responses, for any chunks of bytes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.errors import ConnectionLostError, UnsupportedVersionError
from client.protocol_codec import ProtocolCodec
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_header, decode_request, frame_response, skip_tagged_fields
from protocol.errors import ErrorCode

METADATA_MAX = messages.schema_versions(ApiKey.METADATA)[1]


def received(codec: ProtocolCodec) -> "messages.Message":
    response = codec.next_response()
    assert response is not None
    return response


def taken_apart(frame: bytes) -> tuple[int, int, int, str | None, Any]:
    """Return the parts of a request frame as a broker decodes it."""
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header = decode_header(frame, 4, len(frame))
    api_key = ApiKey(header.api_key)
    start = header.end
    if messages.is_flexible(api_key, header.api_version):
        start = skip_tagged_fields(frame, start, len(frame))
    request = decode_request(api_key, header.api_version, frame, start, len(frame))
    return api_key, header.api_version, header.correlation_id, header.client_id, request


def api_versions_body(version: int, error_code: int, **ranges: tuple[int, int]) -> bytes:
    """Return the body of an ApiVersions response."""
    response = messages.ApiVersionsResponse
    return bytes(
        response(
            error_code=error_code,
            api_keys=[
                response.ApiVersion(api_key=ApiKey[name], min_version=low, max_version=high)
                for name, (low, high) in ranges.items()
            ],
        ).encode(version=version)
    )


def open_codec(**ranges: tuple[int, int]) -> ProtocolCodec:
    codec = ProtocolCodec("me")
    _, version, correlation_id, _, _ = taken_apart(codec.api_versions_request())
    codec.feed(
        frame_response(
            correlation_id, api_versions_body(version, 0, **ranges), has_tagged_header=False
        )
    )
    assert codec.on_api_versions(received(codec)) is None
    return codec


def test_the_first_frame_is_api_versions_without_a_cluster_id() -> None:
    api_key, version, _, client_id, request = taken_apart(
        ProtocolCodec("me").api_versions_request()
    )
    assert (api_key, client_id) == (ApiKey.API_VERSIONS, "me")
    # Version 5 names the cluster and the node, which nobody knows before the first response.
    assert version == 4
    assert request.client_software_name == "mock-kafka"


@pytest.mark.parametrize(
    ("broker", "version"), [((0, 5), 5), ((0, 99), METADATA_MAX), ((7, 7), 7), ((0, 0), 0)]
)
def test_a_request_is_sent_in_the_highest_common_version(
    broker: tuple[int, int], version: int
) -> None:
    codec = open_codec(METADATA=broker)
    sent = taken_apart(codec.request(messages.MetadataRequest(topics=[])))
    assert sent[:2] == (ApiKey.METADATA, version)


def test_no_common_version_is_an_error_that_names_the_api() -> None:
    codec = open_codec(METADATA=(90, 99))
    for request in (messages.MetadataRequest(), messages.DescribeClientQuotasRequest()):
        with pytest.raises(UnsupportedVersionError, match=ApiKey(request.API_KEY).name):
            codec.request(request)


def test_an_older_broker_gets_api_versions_again_in_its_own_version() -> None:
    codec = ProtocolCodec("me")
    correlation_id = taken_apart(codec.api_versions_request())[2]
    body = api_versions_body(0, 35, API_VERSIONS=(0, 2))
    codec.feed(frame_response(correlation_id, body, has_tagged_header=False))
    second = codec.on_api_versions(received(codec))
    assert second is not None
    assert taken_apart(second)[:3] == (ApiKey.API_VERSIONS, 2, correlation_id + 1)
    body = api_versions_body(2, 0, METADATA=(0, 4))
    codec.feed(frame_response(correlation_id + 1, body, has_tagged_header=False))
    assert codec.on_api_versions(received(codec)) is None
    assert codec.version_of(ApiKey.METADATA) == 4


def refused(codec: ProtocolCodec, frame: bytes, error: ErrorCode) -> bytes | None:
    """Answer ApiVersions with an error; return the next request."""
    _, version, correlation_id, _, _ = taken_apart(frame)
    body = api_versions_body(0 if error is ErrorCode.UNSUPPORTED_VERSION else version, error)
    codec.feed(frame_response(correlation_id, body, has_tagged_header=False))
    return codec.on_api_versions(received(codec))


@pytest.mark.parametrize("broker_version", [0, 3, 4])
@pytest.mark.parametrize("error", [ErrorCode.INVALID_REQUEST, ErrorCode.REQUEST_TIMED_OUT])
def test_any_other_error_to_api_versions_is_a_lost_connection(
    broker_version: int, error: ErrorCode
) -> None:
    codec = ProtocolCodec("me")
    with pytest.raises(ConnectionLostError, match=error.name):
        refused(codec, codec.api_versions_request(broker_version), error)


def test_a_broker_that_refuses_version_0_as_well_loses_the_connection() -> None:
    codec = ProtocolCodec("me")
    second = refused(codec, codec.api_versions_request(), ErrorCode.UNSUPPORTED_VERSION)
    assert second is not None
    assert taken_apart(second)[1] == 0
    with pytest.raises(ConnectionLostError, match="UNSUPPORTED_VERSION"):
        refused(codec, second, ErrorCode.UNSUPPORTED_VERSION)


@given(version=st.integers(0, METADATA_MAX), sizes=st.lists(st.integers(1, 9), max_size=20))
def test_a_response_does_not_depend_on_the_chunks_of_its_bytes(
    version: int, sizes: list[int]
) -> None:
    codec = open_codec(METADATA=(version, version))
    correlation_id = taken_apart(codec.request(messages.MetadataRequest(topics=[])))[2]
    broker = messages.MetadataResponse.MetadataResponseBroker(node_id=7, host="h", port=1)
    body = bytes(messages.MetadataResponse(brokers=[broker]).encode(version=version))
    is_flexible = messages.is_flexible(ApiKey.METADATA, version)
    frame = frame_response(correlation_id, body, has_tagged_header=is_flexible)
    position = 0
    for size in sizes:
        if position + size >= len(frame):
            break
        codec.feed(frame[position : position + size])
        position += size
        assert codec.next_response() is None
    codec.feed(frame[position:])
    response = received(codec)
    assert isinstance(response, messages.MetadataResponse)
    assert [node.node_id for node in response.brokers] == [7]


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x02ab",
        frame_response(99, b"\x00\x00\x00\x00", has_tagged_header=False),
        frame_response(2, b"\x01", has_tagged_header=True),
    ],
    ids=["negative size", "too short", "another correlation id", "cut body"],
)
def test_invalid_bytes_are_a_lost_connection(data: bytes) -> None:
    codec = open_codec(METADATA=(12, 12))
    codec.request(messages.MetadataRequest(topics=[]))
    codec.feed(data)
    with pytest.raises(ConnectionLostError):
        codec.next_response()


def test_a_response_without_a_request_is_a_lost_connection() -> None:
    codec = open_codec(METADATA=(12, 12))
    codec.feed(frame_response(1, bytes(8), has_tagged_header=False))
    with pytest.raises(ConnectionLostError, match="no request is in flight"):
        codec.next_response()


def test_responses_match_requests_in_order() -> None:
    codec = open_codec(METADATA=(0, 1), CREATE_TOPICS=(0, 2))
    metadata = taken_apart(codec.request(messages.MetadataRequest(topics=[])))
    created = taken_apart(codec.request(messages.CreateTopicsRequest(topics=[], timeout_ms=1)))
    assert created[2] == metadata[2] + 1
    codec.feed(
        frame_response(
            metadata[2],
            bytes(messages.MetadataResponse().encode(version=1)),
            has_tagged_header=False,
        )
        + frame_response(
            created[2],
            bytes(messages.CreateTopicsResponse().encode(version=2)),
            has_tagged_header=False,
        )
    )
    assert isinstance(codec.next_response(), messages.MetadataResponse)
    assert isinstance(codec.next_response(), messages.CreateTopicsResponse)
    assert codec.next_response() is None


def test_a_request_without_a_response_is_not_in_flight() -> None:
    codec = open_codec(METADATA=(0, 1), PRODUCE=(0, 8))
    taken_apart(
        codec.request(messages.ProduceRequest(acks=0, timeout_ms=1), expects_response=False)
    )
    request = taken_apart(codec.request(messages.MetadataRequest(topics=[])))
    body = bytes(messages.MetadataResponse().encode(version=1))
    codec.feed(frame_response(request[2], body, has_tagged_header=False))
    assert isinstance(codec.next_response(), messages.MetadataResponse)


def test_version_max_limits_the_version_of_a_request() -> None:
    codec = open_codec(METADATA=(0, 9))
    assert taken_apart(codec.request(messages.MetadataRequest(topics=[]), version_max=4))[1] == 4
