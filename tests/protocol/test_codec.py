"""Headers and bodies: malformed bytes are a DecodeError."""

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import codec, messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode


@given(
    st.integers(-(2**15), 2**15 - 1),
    st.integers(-(2**15), 2**15 - 1),
    st.integers(-(2**31), 2**31 - 1),
    st.none() | st.text(max_size=50),
    st.binary(max_size=10),
)
def test_a_header_is_decoded_at_any_position(
    api_key: int, version: int, correlation_id: int, client_id: str | None, before: bytes
) -> None:
    encoded = b"" if client_id is None else client_id.encode()
    size = -1 if client_id is None else len(encoded)
    frame = before + pack(">hhih", api_key, version, correlation_id, size) + encoded + b"body"

    header = codec.decode_header(frame, len(before), len(frame))

    assert header == (api_key, version, correlation_id, client_id, len(frame) - 4)


@given(st.integers(0, 2**32 - 1))
def test_an_unsigned_varint_is_read_back(value: int) -> None:
    encoded, rest = bytearray(), value
    while rest >= 0x80:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    assert codec.encode_unsigned_varint(value) == encoded
    assert codec.read_unsigned_varint(b"x" + encoded, 1) == (value, 1 + len(encoded))


def test_a_varint_without_an_end_is_refused() -> None:
    with pytest.raises(codec.DecodeError, match="five bytes"):
        codec.read_unsigned_varint(b"\xff" * 9, 0)


def test_tagged_fields_are_skipped() -> None:
    section = b"\x02" + b"\x00\x03abc" + b"\x4d\x08" + b"12345678"
    assert codec.skip_tagged_fields(b"--" + section + b"--", 2, len(section) + 4) == (
        len(section) + 2
    )


@pytest.mark.parametrize("section", [b"", b"\x01", b"\x01\x00\x05abc", b"\xff\xff\xff\xff\x0f"])
def test_tagged_fields_that_do_not_fit_are_refused(section: bytes) -> None:
    with pytest.raises(codec.DecodeError):
        codec.skip_tagged_fields(section, 0, len(section))


def test_a_body_that_ends_early_is_refused() -> None:
    body = bytes(messages.MetadataRequest(version=4, topics=[]).encode(version=4))
    assert codec.decode_request(ApiKey.METADATA, 4, body, 0, len(body)).topics == []
    with pytest.raises(codec.DecodeError):
        codec.decode_request(ApiKey.METADATA, 4, body[:-1], 0, len(body) - 1)


def test_bytes_after_a_body_are_ignored_as_librdkafka_needs() -> None:
    # Its request for all topics: the count takes four bytes instead of the one it should.
    body = bytes.fromhex("00000000010000")
    assert codec.decode_request(ApiKey.METADATA, 13, body, 0, len(body)).topics is None


def test_a_body_above_the_size_limit_is_refused_without_decoding() -> None:
    frame = bytes(codec.SCHEMA_BODY_BYTES_MAX + 1)
    with pytest.raises(codec.DecodeError, match="larger than"):
        codec.decode_request(ApiKey.METADATA, 4, frame, 0, len(frame))


@given(st.sampled_from(sorted(ApiKey)), st.integers(0, 18), st.binary(max_size=80))
def test_arbitrary_bytes_are_a_message_or_a_decode_error(
    api_key: ApiKey, version: int, body: bytes
) -> None:
    try:
        low, high = messages.schema_versions(api_key)
    except KeyError:
        return
    if low <= version <= high:
        try:
            codec.decode_request(api_key, version, body, 0, len(body))
        except codec.DecodeError:
            return


@pytest.mark.parametrize(("has_tagged_header", "middle"), [(False, b""), (True, b"\x00")])
def test_a_response_frame_counts_its_bytes(has_tagged_header: bool, middle: bytes) -> None:
    frame = codec.frame_response(9, b"body", has_tagged_header=has_tagged_header)
    assert frame == pack(">ii", 8 + len(middle), 9) + middle + b"body"


@pytest.mark.parametrize("api_key", sorted(messages.API_NAMES))
def test_a_response_of_every_version_is_decoded_from_its_frame(api_key: ApiKey) -> None:
    low, high = messages.schema_versions(api_key)
    for version in range(low, high + 1):
        response = messages.response_class(api_key)()
        frame = codec.encode_response(7, api_key, version, response)
        decoded = codec.decode_response(frame, api_key, version)
        assert codec.encode_response(7, api_key, version, decoded) == frame
        body = frame[codec.response_body_start(api_key, version) :]
        assert body == codec.encode_message(decoded, version)
        assert codec.encode_response(7, api_key, version, body) == frame


@pytest.mark.parametrize(
    ("error_code", "written_version"),
    [(ErrorCode.UNSUPPORTED_VERSION, 0), (ErrorCode.INVALID_REQUEST, 4), (ErrorCode.NONE, 4)],
)
def test_an_api_versions_response_is_decoded_in_the_version_the_broker_wrote(
    error_code: ErrorCode, written_version: int
) -> None:
    entry = messages.ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=4)
    response = messages.ApiVersionsResponse(error_code=error_code, api_keys=[entry])
    frame = codec.encode_response(7, ApiKey.API_VERSIONS, written_version, response)

    decoded = codec.decode_response(frame, ApiKey.API_VERSIONS, 4)

    assert (decoded.error_code, decoded.version) == (error_code, written_version)
    assert [api_key.max_version for api_key in decoded.api_keys] == [4]


def test_a_response_frame_that_ends_early_is_refused() -> None:
    metadata = messages.MetadataResponse(cluster_id="cluster")
    frame = codec.encode_response(7, ApiKey.METADATA, 2, metadata)
    assert codec.decode_response(frame, ApiKey.METADATA, 2).cluster_id == "cluster"
    for size in range(len(frame)):
        with pytest.raises(codec.DecodeError):
            codec.decode_response(frame[:size], ApiKey.METADATA, 2)
