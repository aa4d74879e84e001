"""The path of a frame, from header to response frame."""

from dataclasses import replace
from struct import pack
from typing import Any

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.dispatch.dispatcher import Dispatcher
from broker.dispatch.turns import Turns
from broker.pending_response import PendingResponse
from broker.request.context import RequestContext
from broker.responses import Close, PendingFrame, Throttled
from broker.routes import ROUTES, limited_routes
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_unsigned_varint
from protocol.errors import ErrorCode
from protocol.releases import UNADVERTISED_APIS
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.connection_driver import Client, CountingQuota, request_frame


def dispatch(frame: bytes, api_versions: str = "") -> tuple[Any, list[BaseException]]:
    """Dispatch a frame without its size prefix; return the result and the reported bugs."""
    bugs: list[BaseException] = []

    def report(error: BaseException, _context: RequestContext) -> None:
        bugs.append(error)

    cluster = make_cluster(1, **{"broker.api.versions": api_versions})
    dispatcher = Dispatcher(cluster, report)
    return dispatcher.dispatch((frame, 0, len(frame)), Client(cluster).connection, NOW_MS), bugs


def metadata(version: int) -> bytes:
    return request_frame(messages.MetadataRequest(version=version, topics=[]), version, 7)[4:]


@pytest.mark.parametrize("version", range(14))
def test_the_response_header_has_tagged_fields_where_the_version_is_flexible(version: int) -> None:
    result, bugs = dispatch(metadata(version))

    assert bugs == []
    size, correlation_id = int.from_bytes(result[:4], "big"), int.from_bytes(result[4:8], "big")
    assert (size, correlation_id) == (len(result) - 4, 7)
    body = result[9:] if version >= 9 else result[8:]
    response = messages.MetadataResponse.decode(body, version=version)
    assert [node.node_id for node in response.brokers] == [1]


@pytest.mark.parametrize("version", range(5))
def test_the_response_header_of_api_versions_never_has_tagged_fields(version: int) -> None:
    request = messages.ApiVersionsRequest(
        version=version, client_software_name="test", client_software_version="1"
    )
    result, _bugs = dispatch(request_frame(request, version, 7)[4:])

    response = messages.ApiVersionsResponse.decode(result[8:], version=version)
    assert response.error_code == 0
    assert len(response.api_keys) == len(limited_routes(()).keys() - UNADVERTISED_APIS)


def test_tagged_fields_of_a_request_header_are_ignored() -> None:
    frame = metadata(9)
    header_end = 10 + len("test")
    assert frame[header_end] == 0
    tagged = frame[:header_end] + b"\x01\x4d\x03abc" + frame[header_end + 1 :]

    response, bugs = dispatch(tagged)

    assert (response, bugs) == dispatch(frame)


def test_a_pending_response_is_encoded_when_it_completes(monkeypatch: pytest.MonkeyPatch) -> None:
    pending = PendingResponse()
    route = replace(ROUTES[ApiKey.METADATA], handler=lambda *_arguments: pending)
    monkeypatch.setitem(ROUTES, ApiKey.METADATA, route)

    result, _bugs = dispatch(metadata(1))

    assert isinstance(result, PendingFrame)
    response = messages.MetadataResponse(version=1, brokers=[], controller_id=1, topics=[])
    frame = result.encode(response)
    assert isinstance(frame, bytes)
    assert frame[4:8] == (7).to_bytes(4, "big")


def test_a_late_response_that_cannot_be_encoded_closes_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    route = replace(ROUTES[ApiKey.METADATA], handler=lambda *_arguments: PendingResponse())
    monkeypatch.setitem(ROUTES, ApiKey.METADATA, route)
    response, bugs = dispatch(metadata(1))

    closed = response.encode(object())

    assert isinstance(closed, Close)
    assert len(bugs) == 1


@pytest.mark.parametrize("frame", [b"", b"\x00" * 9, pack(">hhih", 3, 4, 1, 99)])
def test_an_incomplete_header_closes_the_connection(frame: bytes) -> None:
    response, bugs = dispatch(frame)

    assert isinstance(response, Close)
    assert "header" in response.reason
    assert bugs == []


def test_an_unsupported_version_closes_the_connection() -> None:
    assert isinstance(dispatch(metadata(4), "0.11")[0], bytes)
    assert dispatch(metadata(5), "0.11") == (Close("unsupported version 5 of METADATA"), [])
    assert dispatch(metadata(5), "Metadata=-1") == (Close("unknown API key 3"), [])


@pytest.mark.parametrize(
    ("api_versions", "advertised"),
    [("", [(18, 0, 5)]), ("4.3", [(18, 0, 4)]), ("2.4", [(18, 0, 3)]), ("2.3", []), ("1.1", [])],
)
def test_api_versions_falls_back_like_the_emulated_release(
    api_versions: str, advertised: list[tuple[int, int, int]]
) -> None:
    # No broker has version 6; KIP-511 is in 2.4 and later.
    frame = pack(">hhi", ApiKey.API_VERSIONS, 6, 7) + b"\xff\xff\x00"
    result, bugs = dispatch(frame, api_versions)

    response = messages.ApiVersionsResponse.decode(result[8:], version=0)
    assert (response.error_code, bugs) == (ErrorCode.UNSUPPORTED_VERSION, [])
    assert [(k.api_key, k.min_version, k.max_version) for k in response.api_keys] == advertised


def test_supported_versions_are_those_of_the_broker_that_received_the_request() -> None:
    cluster = make_cluster(2, **{"broker.2.broker.api.versions": "Metadata=4-8"})
    dispatcher = Dispatcher(cluster, lambda _error, _context: None)
    frame = metadata(9)
    responses = [
        dispatcher.dispatch((frame, 0, len(frame)), Client(cluster, node_id).connection, NOW_MS)
        for node_id in (1, 2)
    ]
    assert isinstance(responses[0], bytes)
    assert responses[1] == Close("unsupported version 9 of METADATA")


READ_BY_HAND = (ApiKey.FETCH, ApiKey.OFFSET_COMMIT, ApiKey.HEARTBEAT, ApiKey.INIT_PRODUCER_ID)


def newest_version(api_key: int) -> int:
    """Return the newest version that a broker of the default release serves."""
    return make_cluster(1).routes[1][api_key].version_max


def short_request(api_key: ApiKey, version: int) -> Any:
    """Return a request that is read by hand, of a group or topic that does not exist."""
    request: Any = messages.request_class(api_key)(version=version)
    if api_key in {ApiKey.HEARTBEAT, ApiKey.OFFSET_COMMIT}:
        request.group_id, request.member_id = "g", "m"
    if api_key is ApiKey.INIT_PRODUCER_ID:
        request.transactional_id = None
    if api_key is ApiKey.FETCH:
        request.session_epoch = -1
    return request


@pytest.mark.parametrize("api_key", READ_BY_HAND)
def test_a_request_that_is_read_by_hand_gets_the_response_of_the_schema_and_takes_no_turn(
    api_key: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_turn(*_arguments: Any, **_options: Any) -> Any:
        raise AssertionError("it takes turns")

    newest = newest_version(api_key)
    for version in (newest, newest - 1):
        frame = request_frame(short_request(ApiKey(api_key), version), version, 7)[4:]
        with monkeypatch.context() as patch:
            patch.setattr(Turns, "run", no_turn)
            by_hand = dispatch(frame)
        with monkeypatch.context() as patch:
            patch.setitem(ROUTES, api_key, replace(ROUTES[api_key], read_short=None))
            by_schema = dispatch(frame)

        assert isinstance(by_hand[0], bytes)
        assert by_hand == by_schema


@pytest.mark.parametrize("api_key", READ_BY_HAND)
def test_an_error_of_a_handler_closes_the_connection_of_a_request_that_is_read_by_hand(
    api_key: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: Any) -> Any:
        raise RuntimeError("boom")

    version = newest_version(api_key)
    monkeypatch.setitem(ROUTES, api_key, replace(ROUTES[api_key], handler=broken))
    frame = request_frame(short_request(ApiKey(api_key), version), version, 7)[4:]

    response, bugs = dispatch(frame)

    assert isinstance(response, Close)
    assert "boom" in response.reason
    assert len(bugs) == 1


@pytest.mark.parametrize("version", range(6))
def test_an_encoded_body_gets_the_throttle_time(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    route = ROUTES[ApiKey.INIT_PRODUCER_ID]

    def throttled(context: RequestContext, request: Any, cluster: Any) -> Any:
        context.throttle(1_500, CountingQuota(), context.now_ms)
        return route.handler(context, request, cluster)

    monkeypatch.setitem(ROUTES, route.api_key, replace(route, handler=throttled))
    frame = request_frame(short_request(route.api_key, version), version, 7)[4:]

    result, _bugs = dispatch(frame)

    assert isinstance(result, Throttled)
    body = (result.frame or b"")[9 if version >= 2 else 8 :]
    response = messages.InitProducerIdResponse.decode(body, version=version)
    assert response.throttle_time_ms == 1_500


@pytest.mark.parametrize(
    ("release", "count", "is_closed"),
    [
        ("4.4", 10_000, False),
        ("4.4", 10_001, True),
        ("4.3", 10_001, False),
    ],
)
def test_a_body_with_too_many_tagged_fields_closes_the_connection(
    release: str, count: int, is_closed: bool
) -> None:
    frame = metadata(9)[:-1] + encode_unsigned_varint(count) + b"\x07\x00" * count

    result, bugs = dispatch(frame, release)

    assert bugs == []
    assert isinstance(result, Close) is is_closed


@pytest.mark.parametrize(("count", "is_closed"), [(10_000, False), (10_001, True)])
def test_a_header_with_too_many_tagged_fields_closes_the_connection(
    count: int, is_closed: bool
) -> None:
    frame = metadata(9)
    header_end = 4 + 4 + 2 + len("test")
    assert frame[header_end] == 0
    tagged = encode_unsigned_varint(count) + b"\x07\x00" * count

    result, bugs = dispatch(frame[:header_end] + tagged + frame[header_end + 1 :])

    assert bugs == []
    assert isinstance(result, Close) is is_closed
