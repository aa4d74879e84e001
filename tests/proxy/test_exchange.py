from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.addresses import Address
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_request, encode_response
from protocol.framing import UNEXPECTED_TLS
from proxy.authentication import Authentication
from proxy.exchange import (
    WAITING_REQUESTS_MAX,
    EndError,
    Exchange,
    Expected,
    ResponseKind,
)
from proxy.rewritten_response import STREAMED_APIS, rewritten
from tests.examples import examples
from tests.proxy.responses import VERSIONS, frame_of, without_endpoints

BYTES_MAX = 10_000


def changed(expected: Expected, frame: bytes) -> bytes:
    def address_of(node_id: int, _upstream: Address) -> Address:
        return Address("proxy", 100 + node_id)

    if expected.api_key == ApiKey.API_VERSIONS:
        return frame
    return rewritten(frame, ApiKey(expected.api_key), expected.api_version, address_of)


def new_exchange(on_user: Callable[[str], None] = lambda _name: None) -> Exchange:
    return Exchange(changed, Authentication(on_user), BYTES_MAX, defaultdict(int))


def request(key: int, version: int, correlation_id: int, body: bytes = b"body") -> bytes:
    frame = key.to_bytes(2) + version.to_bytes(2) + correlation_id.to_bytes(4) + b"\0\2id" + body
    return len(frame).to_bytes(4) + frame


def response(correlation_id: int, body: bytes = b"body") -> bytes:
    return (4 + len(body)).to_bytes(4) + correlation_id.to_bytes(4) + body


def produce_request(correlation_id: int, acks: int, version: int = 8) -> bytes:
    start = b"\xff\xff" if version < 9 else b"\0\0"
    return request(ApiKey.PRODUCE, version, correlation_id, start + acks.to_bytes(2, signed=True))


def with_id(frame: bytes, correlation_id: int) -> bytes:
    return frame[:4] + correlation_id.to_bytes(4) + frame[8:]


def expected_of(correlation_id: int, key: int, version: int) -> Expected:
    return Expected(ResponseKind.CHANGED, correlation_id, key, version, None)


def parts_of(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in pairwise(places)]


UNACKNOWLEDGED = "unacknowledged"
KINDS = st.one_of(
    st.sampled_from(VERSIONS),
    st.sampled_from([(ApiKey.HEARTBEAT, 4), (ApiKey.FETCH, 12), (4711, 3)]),
    st.just((UNACKNOWLEDGED, 9)),
)
"""An API and a version, or a Produce request without a response."""
CUTS = st.lists(st.integers(0, 10**6), max_size=15)


@settings(max_examples=examples(80), deadline=None)
@given(st.lists(KINDS, min_size=1, max_size=6), CUTS, CUTS)
def test_any_split_of_the_bytes_gives_the_same_output(
    kinds: list[tuple[int | str, int]], request_cuts: list[int], response_cuts: list[int]
) -> None:
    requests, responses, out = b"", b"", b""
    for number, (key, version) in enumerate(kinds, 1):
        if key in {UNACKNOWLEDGED, ApiKey.PRODUCE}:
            requests += produce_request(number, int(key != UNACKNOWLEDGED), version)
        else:
            requests += request(int(key), version, number)
        if key == UNACKNOWLEDGED:
            continue
        if (
            key in STREAMED_APIS and (key, version) in VERSIONS
        ):  # in parts it would lose its addresses
            frame = with_id(without_endpoints(ApiKey(int(key)), version), number)
        elif (key, version) in VERSIONS and key not in STREAMED_APIS:
            frame = with_id(frame_of(ApiKey(int(key)), version), number)
        else:
            frame = response(number)
        responses += frame
        if (key, version) in VERSIONS and key not in STREAMED_APIS:
            frame = changed(expected_of(number, int(key), version), frame)
        out += frame
    exchange = new_exchange()
    passed = b"".join(exchange.pass_requests(part) for part in parts_of(requests, request_cuts))
    assert passed == requests
    got = b""
    for part in parts_of(responses, response_cuts):
        got += b"".join(exchange.take_responses(part))
    assert got == out
    assert exchange.is_idle


@settings(max_examples=examples(50), deadline=None)
@given(CUTS)
def test_responses_that_are_changed_as_a_whole_are_the_same_for_any_split(cuts: list[int]) -> None:
    exchange = new_exchange()
    exchange.pass_requests(request(3, 12, 1) + request(12, 4, 2) + request(10, 6, 3))
    metadata = with_id(frame_of(ApiKey.METADATA, 12), 1)
    coordinator = with_id(frame_of(ApiKey.FIND_COORDINATOR, 6), 3)
    got = b""
    for part in parts_of(metadata + response(2) + coordinator, cuts):
        got += b"".join(exchange.take_responses(part))
    want = changed(expected_of(1, 3, 12), metadata) + response(2)
    assert got == want + changed(expected_of(3, 10, 6), coordinator)


def test_bytes_that_need_no_look_are_not_copied() -> None:
    exchange = new_exchange()
    sent = request(12, 4, 1)
    assert exchange.pass_requests(sent) is sent
    received = response(1)
    assert exchange.take_responses(received)[0] is received


def test_a_request_without_a_response_shifts_no_other() -> None:
    exchange = new_exchange()
    exchange.pass_requests(produce_request(1, 0, 3) + request(3, 12, 2))
    assert exchange.take_responses(with_id(frame_of(ApiKey.METADATA, 12), 2))
    assert exchange.is_idle


def test_somebody_who_waits_gets_the_changed_response_and_the_client_nothing() -> None:
    exchange, delivered = new_exchange(), list[bytes]()
    frame = request(3, 12, 1)[4:]
    assert exchange.send(frame, delivered.append) == request(3, 12, 1)
    metadata = with_id(frame_of(ApiKey.METADATA, 12), 1)
    assert exchange.take_responses(metadata[:20]) == []
    assert exchange.take_responses(metadata[20:]) == []
    assert delivered == [changed(expected_of(1, 3, 12), metadata)]


def test_the_rest_of_a_request_is_finished_before_somebody_looks_at_the_next() -> None:
    exchange = new_exchange()
    sent = request(12, 4, 1) + request(12, 4, 2)
    assert exchange.pass_requests(sent[:16]) == sent[:16]
    assert exchange.finish_request(sent[16:18]) == (sent[16:18], b"")
    assert exchange.finish_request(sent[18:]) == (sent[18:20], request(12, 4, 2))
    assert not exchange.is_idle
    exchange.take_responses(response(1))
    assert exchange.is_idle


def test_the_beginning_of_a_request_is_kept_until_its_header_is_there() -> None:
    exchange = new_exchange()
    sent = request(12, 4, 1)
    assert exchange.pass_requests(sent[:7]) == b""
    assert exchange.finish_request(sent[7:]) == (b"", sent)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"\x16\x03\x01\x02\0\1", UNEXPECTED_TLS),
        (b"\xff\xff\xff\xff", "frame of negative size -1"),
        ((BYTES_MAX + 1).to_bytes(4), "frame of 10001 bytes is larger than socket.request.max"),
        (b"\0\0\0\5\0\0\0\0\0", "frame of 5 bytes is too short for a request header"),
        (request(3, 99, 1), "the addresses in METADATA v99 are unknown"),
        (request(0, 9, 1, b""), "undecodable PRODUCE: its acks are not where they have to be"),
    ],
)
def test_what_is_no_request_ends_the_connection(sent: bytes, reason: str) -> None:
    with pytest.raises(EndError, match=reason.replace("(", r"\(").replace(")", r"\)")):
        new_exchange().pass_requests(sent)


@pytest.mark.parametrize(
    ("received", "reason"),
    [
        (response(2), "no response to the request"),
        (b"HTTP/1.1 400 Bad Request\r\n", "no response to the request"),
        (response(1) + response(2), "bytes that are no response to a request"),
        (b"\xff\xff\xff\xff\0\0\0\0", "no response to the request"),
    ],
)
def test_what_is_no_response_ends_the_connection(received: bytes, reason: str) -> None:
    exchange = new_exchange()
    exchange.pass_requests(request(12, 4, 1))
    with pytest.raises(EndError, match=reason):
        exchange.take_responses(received)


def test_a_response_that_is_not_of_its_api_ends_the_connection() -> None:
    exchange = new_exchange()
    exchange.pass_requests(request(3, 12, 1))
    with pytest.raises(EndError, match="undecodable response to METADATA v12"):
        exchange.take_responses(response(1, b"\0\0\0\0\0\x7f"))


def handshake(version: int, mechanism: str) -> bytes:
    message = messages.SaslHandshakeRequest(mechanism=mechanism)
    frame = encode_request(1, "client", ApiKey.SASL_HANDSHAKE, version, message)
    return len(frame).to_bytes(4) + frame


def handshake_response(version: int) -> bytes:
    message = messages.SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"])
    return encode_response(1, ApiKey.SASL_HANDSHAKE, version, message)


@settings(max_examples=examples(30), deadline=None)
@given(CUTS, CUTS)
def test_tokens_without_headers_pass(request_cuts: list[int], response_cuts: list[int]) -> None:
    users = list[str]()
    exchange = new_exchange(users.append)
    exchange.pass_requests(handshake(0, "PLAIN"))
    exchange.take_responses(handshake_response(0))
    token = b"\0alice\0secret"
    sent = len(token).to_bytes(4) + token
    passed = b"".join(exchange.pass_requests(part) for part in parts_of(sent, request_cuts))
    assert passed == sent
    assert users == []
    got = b""
    for part in parts_of(b"\0\0\0\0", response_cuts):
        got += b"".join(exchange.take_responses(part))
    assert (got, users) == (b"\0\0\0\0", ["alice"])
    assert exchange.pass_requests(request(12, 4, 2)) == request(12, 4, 2)
    assert exchange.take_responses(response(2)) == [response(2)]


def test_a_request_after_the_last_token_is_passed_on_in_parts() -> None:
    exchange = new_exchange()
    exchange.pass_requests(handshake(0, "PLAIN"))
    exchange.take_responses(handshake_response(0))
    token = b"\0alice\0secret"
    exchange.pass_requests(len(token).to_bytes(4) + token)
    exchange.take_responses(b"\0\0\0\0")
    sent = request(12, 4, 2, bytes(1000))
    assert exchange.pass_requests(sent[:4]) == b""
    assert exchange.pass_requests(sent[4:100]) == sent[:100]
    assert exchange.pass_requests(sent[100:]) == sent[100:]


def test_requests_that_wait_for_responses_are_bounded() -> None:
    exchange = new_exchange()
    exchange.pass_requests(request(12, 4, 1) * WAITING_REQUESTS_MAX)
    assert not exchange.is_full
    exchange.pass_requests(request(12, 4, 1))
    assert exchange.is_full
    exchange.take_responses(response(1))
    assert not exchange.is_full
