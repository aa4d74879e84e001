"""Where the errors of responses are, in every version of every API."""

from typing import Any

import pytest

from broker.faults.error_arrays import (
    PART,
    TOP,
    fails_beside_parts,
    has_level,
    has_partitions_of_groups,
    has_parts,
)
from broker.faults.error_arrays import part_arrays as arrays_of
from broker.faults.error_responses import error_response
from broker.request.encoding import encode_response
from broker.routes import ROUTES
from protocol import codec, messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.json_view import errors_of
from tests.broker.cluster_builder import make_cluster, make_context
from tests.broker.faults.requests import TOPIC, sample_request

VERSIONS = [
    (ApiKey(api_key), version)
    for api_key, route in sorted(ROUTES.items())
    for version in range(route.version_min, route.version_max + 1)
    if api_key != ApiKey.PRODUCE
]


def response_of(api_key: ApiKey, version: int, level: str) -> Any:
    cluster = make_cluster()
    cluster.create_topic(TOPIC, [(1,), (2,)], {})
    context = make_context(api_key, version)
    request = sample_request(api_key, version)
    response = error_response(context, request, ErrorCode.NOT_CONTROLLER, cluster, level)
    frame = encode_response(ROUTES[api_key], context, response)
    assert isinstance(frame, bytes)
    return codec.decode_response(frame, api_key, version)


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_an_error_at_the_top_is_alone(api_key: ApiKey, version: int) -> None:
    if not has_level(api_key, version, TOP):
        return
    response = response_of(api_key, version, TOP)
    assert response.error_code == ErrorCode.NOT_CONTROLLER
    assert errors_of(response) == {"NOT_CONTROLLER"}
    assert not any(
        getattr(response, array.target or "results") for array in arrays_of(api_key, version)
    )


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_an_error_of_the_parts_is_not_at_the_top(api_key: ApiKey, version: int) -> None:
    request = sample_request(api_key, version)
    if not has_level(api_key, version, PART) or not has_parts(request, api_key, version):
        return
    response = response_of(api_key, version, PART)
    assert errors_of(response) == {"NOT_CONTROLLER"}
    assert getattr(response, "error_code", 0) == 0


def test_every_api_has_errors_at_some_level_in_every_version() -> None:
    without = {
        (api_key.name, version)
        for api_key, version in VERSIONS
        if not has_level(api_key, version, TOP) and not has_level(api_key, version, PART)
    }
    # The error of a directory is in a part that the request does not name.
    assert without == {
        ("DESCRIBE_LOG_DIRS", version)
        for version in range(messages.schema_versions(ApiKey.DESCRIBE_LOG_DIRS)[0], 3)
    }


def test_groups_and_their_partitions_have_errors_of_two_apis() -> None:
    versions = {
        (api_key.name, version)
        for api_key, version in VERSIONS
        if has_partitions_of_groups(api_key, version)
    }
    assert versions == {
        ("OFFSET_FETCH", 8),
        ("OFFSET_FETCH", 9),
        ("OFFSET_FETCH", 10),
        ("DESCRIBE_SHARE_GROUP_OFFSETS", 0),
        ("DESCRIBE_SHARE_GROUP_OFFSETS", 1),
    }
    for name, version in versions:
        (array,) = arrays_of(ApiKey[name], version, is_of_partitions=True)
        assert array.inner is not None
        (of_groups,) = arrays_of(ApiKey[name], version)
        assert (of_groups.source, of_groups.inner) == (array.source, None)


def test_an_error_for_the_whole_request_of_some_apis_is_none_of_its_parts() -> None:
    assert fails_beside_parts(ApiKey.OFFSET_DELETE, 0)
    assert [fails_beside_parts(ApiKey.LEAVE_GROUP, version) for version in (2, 3)] == [False, True]
    assert not fails_beside_parts(ApiKey.LIST_OFFSETS, 5)
