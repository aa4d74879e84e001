"""The API's own response carries an error, in every version, for all that was requested."""

from struct import pack
from typing import Any

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.faults.error_responses import Framed, error_response
from broker.responses import Close
from broker.routes import ROUTES
from protocol import messages, produce_decoder
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import make_acl_cluster
from tests.broker.cluster_builder import make_cluster, make_context
from tests.broker.faults.error_fields import codes_at, place_of_error
from tests.broker.faults.requests import TOPIC, sample_body, sample_request

ERROR = ErrorCode.NOT_CONTROLLER
VERSIONS = [
    (api_key, version)
    for api_key, route in sorted(ROUTES.items())
    for version in range(route.version_min, route.version_max + 1)
]

TOP_LEVEL = "top"


def asked_of(api_key: int, version: int) -> Any:
    """Return the request as the dispatcher decodes it: Produce has its own decoder."""
    if api_key != ApiKey.PRODUCE:
        return sample_request(api_key, version)
    body = sample_body(api_key, version)
    return produce_decoder.decode_request(version, body, 0, len(body))


def responded(api_key: int, version: int, error_code: ErrorCode) -> Any:
    """Return the response as a client decodes it."""
    cluster = make_cluster()
    cluster.create_topic(TOPIC, [(1,), (2,)], {})
    context = make_context(ApiKey(api_key), version)
    response = error_response(context, asked_of(api_key, version), error_code, cluster)
    is_encoded = isinstance(response, bytes | bytearray)
    body = bytes(response if is_encoded else response.encode(version=version))
    response_class = messages.response_class(ApiKey(api_key))
    if api_key == ApiKey.API_VERSIONS:
        # kafka-python decodes every error as version 0.
        return super(response_class, response_class).decode(body, version=version)
    return response_class.decode(body, version=version)


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_every_requested_item_has_the_error(api_key: int, version: int) -> None:
    response = responded(api_key, version, ERROR)
    codes = codes_at(response, place_of_error(ApiKey(api_key), version))
    assert codes
    assert set(codes) == {ERROR}


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_error_code_none_gives_a_valid_response(api_key: int, version: int) -> None:
    codes = codes_at(
        responded(api_key, version, ErrorCode.NONE), place_of_error(ApiKey(api_key), version)
    )
    assert set(codes) == {0}


def test_unknown_offsets_are_minus_one() -> None:
    part = responded(ApiKey.PRODUCE, 9, ERROR).responses[0].partition_responses[0]
    assert (part.base_offset, part.index) == (-1, 0)
    part = responded(ApiKey.FETCH, 11, ERROR).responses[0].partitions[0]
    assert (part.high_watermark, part.last_stable_offset, part.records) == (-1, -1, b"")
    assert responded(ApiKey.FIND_COORDINATOR, 2, ERROR).node_id == -1


def test_metadata_with_errors_lists_the_brokers_and_creates_no_topic() -> None:
    response = responded(ApiKey.METADATA, 9, ErrorCode.LEADER_NOT_AVAILABLE)
    assert [broker.node_id for broker in response.brokers] == [1, 2, 3]
    (topic,) = response.topics
    assert (topic.error_code, topic.name, topic.partitions) == (5, TOPIC, [])

    cluster = make_cluster()
    for version, topics in ((0, []), (1, None), (13, None), (9, [])):
        request = messages.MetadataRequest(version=version, topics=topics)
        context = make_context(ApiKey.METADATA, version)
        assert error_response(context, request, ERROR, cluster).topics == []
    request = messages.MetadataRequest(
        version=9, topics=[messages.MetadataRequest.MetadataRequestTopic(version=9, name="new")]
    )
    error_response(make_context(ApiKey.METADATA, 9), request, ERROR, cluster)
    assert len(cluster.topics) == 0
    cluster.create_topic(TOPIC, [(1,)], {})
    request = messages.MetadataRequest(version=1, topics=None)
    result = error_response(make_context(ApiKey.METADATA, 1), request, ERROR, cluster)
    assert [(topic.name, topic.error_code) for topic in result.topics] == [(TOPIC, ERROR)]


@pytest.mark.parametrize("version", [0, 13])
def test_an_error_for_all_topics_names_those_that_the_client_may_describe(version: int) -> None:
    cluster = make_acl_cluster("DESCRIBE TOPIC shown")
    for name in ("shown", "hidden"):
        cluster.create_topic(name, [(1,)], {})
    topics: list[Any] | None = [] if version == 0 else None
    request = messages.MetadataRequest(version=version, topics=topics)
    context = make_context(ApiKey.METADATA, version)
    response = error_response(context, request, ERROR, cluster)
    assert [topic.name for topic in response.topics] == ["shown"]
    assert context.denials == ()


@pytest.mark.parametrize("error_code", ErrorCode)
def test_metadata_has_every_error_code_for_the_request_and_its_topics(
    error_code: ErrorCode,
) -> None:
    response = responded(ApiKey.METADATA, 13, error_code)
    assert (response.error_code, response.topics[0].error_code) == (error_code, error_code)


def test_an_error_for_acks_0_closes_the_connection() -> None:
    context = make_context(ApiKey.PRODUCE, 9)
    request = produce_decoder.ProduceRequest(None, 0, 0, [])
    assert isinstance(error_response(context, request, ERROR, make_cluster()), Close)
    assert error_response(context, request, ErrorCode.NONE, make_cluster()) is None


def test_unsupported_version_gets_a_response_in_version_0() -> None:
    context = make_context(ApiKey.API_VERSIONS, 4, correlation_id=7)
    request = sample_request(ApiKey.API_VERSIONS, 4)
    response = error_response(context, request, ErrorCode.UNSUPPORTED_VERSION, make_cluster())
    assert isinstance(response, Framed)
    assert response.frame[4:10] == pack(">ih", 7, ErrorCode.UNSUPPORTED_VERSION)


def test_each_acl_has_its_own_error_even_if_it_occurs_twice() -> None:
    request = sample_request(ApiKey.CREATE_ACLS, 3)
    request.creations = request.creations * 2
    context = make_context(ApiKey.CREATE_ACLS, 3)
    response = error_response(context, request, ERROR, make_cluster())
    assert len(response.results) == len(request.creations) >= 2
