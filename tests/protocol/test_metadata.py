"""The codec of Metadata agrees with the schema's codec."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_request, encode_message
from protocol.metadata import read_names, topic_in, with_topics
from protocol.short_fields import COUNT_MAX

VERSIONS = range(9, 14)
COUNT = 200
_Topic = messages.MetadataRequest.MetadataRequestTopic
_TopicResponse = messages.MetadataResponse.MetadataResponseTopic


def body_of(version: int, names: list[str] | None, **fields: Any) -> bytes:
    topics = None
    if names is not None:
        topics = [_Topic(version=version, name=name, topic_id=UUID(int=0)) for name in names]
    request = messages.MetadataRequest(
        version=version, topics=topics, allow_auto_topic_creation=True, **fields
    )
    return encode_message(request, version)


def read(version: int, body: bytes) -> Any:
    return read_names(version, body, 0, len(body), COUNT)


@given(
    st.sampled_from(VERSIONS),
    st.lists(st.text(max_size=20), min_size=1, max_size=COUNT, unique=True),
    st.binary(max_size=9),
)
def test_the_names_of_topics_are_read(version: int, names: list[str], before: bytes) -> None:
    frame = before + body_of(version, names) + b"\0"
    assert read_names(version, frame, len(before), len(frame) - 1, COUNT) == names


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_for_all_topics_is_read(version: int) -> None:
    assert read(version, body_of(version, None)) == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_rare_requests_are_left_to_the_schema(version: int) -> None:
    body = body_of(version, ["t", "u"])
    assert read(version, body) == ["t", "u"]
    for end in range(len(body)):
        assert read_names(version, body, 0, end, COUNT) is None
    assert read(version, body + b"\0") is None
    assert read(version, body_of(version, [])) is None
    assert read(version, body_of(version, ["t", "t"])) is None
    assert read(version, body_of(version, ["t" * (COUNT_MAX + 1)])) is None
    assert read(version, body_of(version, [str(n) for n in range(COUNT + 1)])) is None
    assert read(version, body_of(version, ["t"], include_topic_authorized_operations=True)) is None
    if version <= 10:
        operations = {"include_cluster_authorized_operations": True}
        assert read(version, body_of(version, ["t"], **operations)) is None
    if version >= 10:
        by_id = messages.MetadataRequest(
            version=version, topics=[_Topic(version=version, name=None, topic_id=UUID(int=5))]
        )
        assert read(version, encode_message(by_id, version)) is None


def test_older_versions_are_left_to_the_schema() -> None:
    for version in range(1, 9):
        assert read(version, body_of(version, ["t"])) is None


@given(st.sampled_from(VERSIONS), st.binary(max_size=60))
def test_arbitrary_bytes_are_read_as_by_the_schema_or_not_at_all(version: int, body: bytes) -> None:
    names = read(version, body)
    if names is None:
        return
    request = decode_request(ApiKey.METADATA, version, body, 0, len(body))
    assert list(names) == [topic.name for topic in request.topics or ()]
    assert not request.include_topic_authorized_operations


def response_of(version: int, **fields: Any) -> bytes:
    return encode_message(
        messages.MetadataResponse(version=version, throttle_time_ms=0, **fields), version
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [0, 1, 126, 127, 300])
def test_topics_that_were_encoded_alone_are_put_into_a_response(version: int, count: int) -> None:
    broker = messages.MetadataResponse.MetadataResponseBroker(
        version=version, node_id=1, host="h", port=2, rack="r"
    )
    cluster = {"brokers": [broker], "cluster_id": "c", "controller_id": 1}
    topics = [
        _TopicResponse(
            version=version,
            error_code=0,
            name=f"t{number}",
            topic_id=UUID(int=number),
            is_internal=False,
            partitions=[],
        )
        for number in range(count)
    ]
    alone = [
        topic_in(
            version,
            response_of(version, brokers=[], cluster_id=None, controller_id=0, topics=[topic]),
        )
        for topic in topics
    ]

    body = with_topics(version, response_of(version, topics=[], **cluster), alone)

    assert body == response_of(version, topics=topics, **cluster)
