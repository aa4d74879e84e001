"""The decoders and encoders that pause give what kafka-python's give."""

from typing import Any

import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_body, decode_request
from protocol.paced_codec import encode_paced, paced_decoder
from protocol.pacing import MessageTooLargeError
from tests.attack.amplifying_frames import amplifying_frames
from tests.broker.faults.requests import sample_body, sample_message

ALL_VERSIONS = [
    (api_key, version)
    for api_key in messages.API_NAMES
    for version in range(
        messages.schema_versions(api_key)[0], messages.schema_versions(api_key)[1] + 1
    )
]


@pytest.mark.parametrize(("api_key", "version"), ALL_VERSIONS)
def test_requests_are_decoded_and_encoded_as_by_kafka_python(api_key: ApiKey, version: int) -> None:
    request_class = messages.request_class(api_key)
    body = sample_body(api_key, version)
    request, end = paced_decoder(request_class, version)(memoryview(body), 0)
    assert end == len(body)
    assert request == decode_body(request_class, version, memoryview(body))
    assert encode_paced(sample_message(api_key, version), version, 1 << 20) == body


@pytest.mark.parametrize("version", [0, 9, 12])
def test_a_response_of_many_elements_is_encoded_as_by_kafka_python(version: int) -> None:
    response = metadata(version, 100)
    assert encode_paced(response, version, 1 << 20) == response.encode(version=version)


def metadata(version: int, topics: int) -> Any:
    response_class = messages.MetadataResponse
    topic_class = response_class.MetadataResponseTopic
    partition_class = topic_class.MetadataResponsePartition
    return response_class(
        version=version,
        throttle_time_ms=0,
        brokers=[],
        cluster_id="c",
        controller_id=1,
        topics=[
            topic_class(
                version=version,
                name=f"topic-{number}",
                partitions=[
                    partition_class(
                        version=version,
                        partition_index=index,
                        leader_id=1,
                        replica_nodes=[1, 2, 3],
                        isr_nodes=[1],
                        offline_replicas=[],
                    )
                    for index in range(number % 3 * 50)
                ],
            )
            for number in range(topics)
        ],
    )


def test_a_message_is_not_encoded_beyond_its_limit() -> None:
    response = metadata(9, 50)
    size = len(response.encode(version=9))
    assert len(encode_paced(response, 9, size)) == size
    with pytest.raises(MessageTooLargeError, match=f"more than {size - 1} bytes"):
        encode_paced(response, 9, size - 1)


def test_tagged_fields_of_elements_are_read_where_they_are() -> None:
    """kafka-python copies the rest of the message for each of them."""
    frame = next(
        frame
        for frame in amplifying_frames(ApiKey.METADATA, 9, 2000)
        if frame.kind == "tagged elements"
    )
    body_start = frame.data.index(b"\x04test") + 6
    request = decode_request(ApiKey.METADATA, 9, frame.data, body_start, len(frame.data))
    assert len(request.topics) > 900
    assert request.topics[-1].unknown_tags == {"_100": b"tag"}
