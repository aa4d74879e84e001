"""A request with both responses."""

from protocol import messages
from proxy.diff.played_request import PlayedRequest, error_codes
from tests.proxy.diff.real_cluster import START_MS, frame_of


def test_an_api_without_a_schema_has_none() -> None:
    frame = b"\x7f\x00\x00\x00\x00\x00\x00\x01\xff\xff"
    request = PlayedRequest(frame, START_MS)
    assert (request.api_key, request.api, request.correlation_id) == (None, "32512", 1)


def test_produce_without_acks_has_no_response() -> None:
    fields = {"timeout_ms": 1, "topic_data": []}
    for acks in (0, 1):
        request = PlayedRequest(frame_of(1, "Produce", 9, {"acks": acks, **fields}), START_MS)
        assert request.has_response is bool(acks)


def test_errors_of_other_versions_do_not_count() -> None:
    response = messages.FindCoordinatorResponse(version=4)
    coordinator = messages.FindCoordinatorResponse.Coordinator(version=4, error_code=15)
    response.coordinators = [coordinator]
    assert error_codes(response) == {15}
