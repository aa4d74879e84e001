"""The window in InitProducerIdResponse, checked with kafka-python's decoder."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.init_producer_id import (
    encode_producer,
    encode_response,
    read_init_producer_id,
    window_of,
)
from tests.protocol.short_requests import check_arbitrary_bytes, read_both

INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
FLEXIBLE_VERSIONS = range(2, 7)


@st.composite
def responses(draw: st.DrawFn) -> Any:
    version = draw(st.integers(0, 6))
    fields = {
        "throttle_time_ms": draw(INT32),
        "error_code": draw(INT16),
        "producer_id": draw(INT64),
        "producer_epoch": draw(INT16),
    }
    if version >= 6:
        fields["ongoing_txn_producer_id"] = draw(INT64)
        fields["ongoing_txn_producer_epoch"] = draw(INT16)
    return messages.InitProducerIdResponse(version=version, **fields)


@given(response=responses(), window=st.integers(1, 2**30))
def test_a_client_that_does_not_know_the_tag_decodes_the_same_response(
    response: Any, window: int
) -> None:
    body = encode_response(response, response.version, window)
    decoded = messages.InitProducerIdResponse.decode(body, version=response.version)

    assert decoded == response
    if response.version in FLEXIBLE_VERSIONS:
        assert decoded.unknown_tags == {"_10000": window.to_bytes(4, "big")}
    else:
        assert body == response.encode(version=response.version)


@given(response=responses())
def test_without_a_window_the_body_is_that_of_the_schema(
    response: Any,
) -> None:
    assert encode_response(response, response.version, None) == response.encode(
        version=response.version
    )


def test_the_tagged_field_has_these_bytes() -> None:
    response = messages.InitProducerIdResponse(
        version=2, throttle_time_ms=0, error_code=0, producer_id=1, producer_epoch=2
    )
    body_hex = "00000000000000000000000000010002"
    section = "01904e0400989680"
    assert encode_response(response, 2, 10_000_000).hex() == body_hex + section


@given(response=responses(), window=st.one_of(st.none(), st.integers(1, 2**30)))
def test_window_of_returns_the_window_of_a_response(response: Any, window: int | None) -> None:
    body = encode_response(response, response.version, window)
    decoded = messages.InitProducerIdResponse.decode(body, version=response.version)
    assert window_of(decoded) == (window if response.version in FLEXIBLE_VERSIONS else None)


def test_an_invalid_window_is_none() -> None:
    response = messages.InitProducerIdResponse(
        version=4, throttle_time_ms=0, error_code=0, producer_id=1, producer_epoch=0
    )
    for encoded in (encode_response(response, 4, 0), encode_response(response, 4, -5)):
        assert window_of(messages.InitProducerIdResponse.decode(encoded, version=4)) is None


@given(response=responses(), window=st.none() | st.integers(1, 2**30))
def test_the_response_without_a_message_is_the_same(response: Any, window: int | None) -> None:
    response.throttle_time_ms = 0
    if response.version >= 6:
        response.ongoing_txn_producer_id = response.ongoing_txn_producer_epoch = -1
    fields = response.error_code, response.producer_id, response.producer_epoch
    assert encode_producer(response.version, *fields, window) == encode_response(
        response, response.version, window
    )


@given(st.integers(0, 6), INT32, INT64, INT16, st.booleans(), st.binary(max_size=9))
def test_a_request_without_a_transactional_id_is_read(
    version: int, timeout_ms: int, producer_id: int, epoch: int, flag: bool, before: bytes
) -> None:
    request = messages.InitProducerIdRequest(
        version=version, transactional_id=None, transaction_timeout_ms=timeout_ms
    )
    if version >= 3:
        request.producer_id, request.producer_epoch = producer_id, epoch
    if version >= 6:
        request.enable2_pc = request.keep_prepared_txn = flag

    found, _decoded = read_both(read_init_producer_id, request, version, before)

    producer = (producer_id, epoch) if version >= 3 else (-1, -1)
    assert found == (timeout_ms, *producer, None)


@given(st.integers(0, 6), st.binary(max_size=40))
def test_arbitrary_bytes_are_read_as_by_the_schema_or_not_at_all(version: int, body: bytes) -> None:
    check_arbitrary_bytes(read_init_producer_id, ApiKey.INIT_PRODUCER_ID, version, body)


@given(st.integers(0, 6))
def test_a_request_with_a_transactional_id_is_left_to_the_schema(version: int) -> None:
    request = messages.InitProducerIdRequest(
        version=version, transactional_id="t", transaction_timeout_ms=1
    )
    found, _decoded = read_both(read_init_producer_id, request, version)
    assert found is None
