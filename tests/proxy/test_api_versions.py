import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_response, encode_response
from proxy.api_versions import limited

KEY = ApiKey.API_VERSIONS


def response(version: int, *ranges: tuple[int, int, int], error_code: int = 0) -> bytes:
    made = messages.ApiVersionsResponse.ApiVersion
    offered = [made(api_key=k, min_version=low, max_version=high) for k, low, high in ranges]
    message = messages.ApiVersionsResponse(error_code=error_code, api_keys=offered)
    return encode_response(7, KEY, version, message)


@pytest.mark.parametrize("version", range(6))
def test_versions_that_cannot_be_rewritten_are_left_out(version: int) -> None:
    frame = response(version, (3, 0, 99), (1, 90, 99), (0, 3, 9), (4711, 1, 2))
    found = decode_response(limited(frame, 7, version), KEY, version)
    ranges = [(v.api_key, v.min_version, v.max_version) for v in found.api_keys]
    assert ranges == [(3, 0, 13), (0, 3, 9), (4711, 1, 2)]


@pytest.mark.parametrize("version", range(6))
def test_a_response_that_needs_no_change_is_the_clusters(version: int) -> None:
    frame = response(version, (3, 0, 13), (12, 0, 40))
    assert limited(frame, 7, version) is frame


def test_a_client_with_a_newer_version_is_asked_for_an_older_one() -> None:
    found = decode_response(limited(b"whatever that is", 7, 6), KEY, 6)
    assert found.error_code == 35
    assert [(v.api_key, v.max_version) for v in found.api_keys] == [(18, 5)]


def test_the_refusal_of_an_older_cluster_is_limited_too() -> None:
    frame = response(0, (18, 0, 9), error_code=35)
    found = decode_response(limited(frame, 7, 4), KEY, 4)
    assert (found.error_code, found.api_keys[0].max_version) == (35, 5)
