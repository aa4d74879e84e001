from typing import Any

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.faults import rules_from_json
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_request, decode_response, encode_message
from proxy.fetch_sessions import needs_all_partitions, without_session

VERSIONS = range(7, 19)


def body_of(version: int, session_id: int, epoch: int) -> bytes:
    request = messages.FetchRequest(
        max_wait_ms=1,
        min_bytes=2,
        max_bytes=3,
        isolation_level=1,
        session_id=session_id,
        session_epoch=epoch,
        topics=[],
        forgotten_topics_data=[],
        rack_id="rack",
    )
    return encode_message(request, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_that_begins_a_session_gets_none(version: int) -> None:
    body, ended = without_session(version, 1, body_of(version, 0, 0))
    assert ended is None
    request = decode_request(ApiKey.FETCH, version, body, 0, len(body))
    assert (request.session_id, request.session_epoch) == (0, -1)
    assert (request.max_bytes, request.isolation_level) == (3, 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_with_a_session_hears_that_it_is_not_found(version: int) -> None:
    before = body_of(version, 7, 3)
    body, ended = without_session(version, 5, before)
    assert body == before
    assert ended is not None
    assert ended[4:8] == (5).to_bytes(4)
    response = decode_response(ended, ApiKey.FETCH, version)
    assert (response.error_code, response.session_id, response.responses) == (70, 0, [])


@pytest.mark.parametrize(("version", "session_id", "epoch"), [(12, 0, -1), (18, 7, -1)])
def test_a_request_outside_of_a_session_or_that_ends_one_stays(
    version: int, session_id: int, epoch: int
) -> None:
    body = body_of(version, session_id, epoch)
    assert without_session(version, 1, body) == (body, None)


def test_requests_without_sessions_or_with_too_few_bytes_stay() -> None:
    assert without_session(6, 1, bytes(40)) == (bytes(40), None)
    assert without_session(12, 1, bytes(20)) == (bytes(20), None)


@pytest.mark.parametrize(
    ("rule", "is_needed"),
    [
        ({"api": "Fetch", "topic": "orders", "delay_ms": 1}, True),
        ({"topic": "orders", "delay_ms": 1}, True),
        ({"api": "Fetch", "error": "OFFSET_OUT_OF_RANGE"}, True),
        ({"api": "Fetch", "change_records": "drop_record"}, True),
        ({"api": "Fetch", "delay_ms": 1}, False),
        ({"api": "Produce", "topic": "orders", "delay_ms": 1}, False),
    ],
)
def test_rules_on_partitions_of_fetch_need_all_of_them(
    rule: dict[str, Any], is_needed: bool
) -> None:
    assert needs_all_partitions(rules_from_json(rule)) == is_needed
