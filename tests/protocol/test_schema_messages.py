"""Messages with our own schemas are encoded as Kafka's classes do it, and found like the others."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.api_header import ResponseClassRegistry

from protocol import messages, schema_messages, schemas
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, decode_request, encode_message
from tests.broker.faults.requests import sample_body, sample_request

CLASSES = [
    getattr(messages, f"{name}{kind}")
    for name in sorted(schema_messages.API_NAMES)
    for kind in ("Request", "Response")
]
API_KEYS = sorted({message_class.API_KEY for message_class in CLASSES})
CLASSES_AND_VERSIONS = [
    (message_class, version)
    for message_class in CLASSES
    for version in range(message_class.valid_versions[0], message_class.valid_versions[1] + 1)
]


def test_messages_are_found_by_their_names_and_by_their_keys() -> None:
    for message_class in CLASSES:
        api_key = ApiKey(message_class.API_KEY)
        of_key = {messages.request_class(api_key), messages.response_class(api_key)}
        assert message_class in of_key
        assert getattr(messages, message_class.name) is message_class
        assert messages.schema_versions(api_key) == tuple(message_class.valid_versions)


def test_the_apis_are_those_with_a_schema() -> None:
    folder = Path(schemas.__file__ or "").parent
    for kind in ("Request", "Response"):
        names = {path.stem.removesuffix(kind) for path in folder.glob(f"*{kind}.json")}
        assert names == schema_messages.API_NAMES


@pytest.mark.parametrize("api_key", API_KEYS)
def test_a_request_is_decoded_as_it_was_encoded(api_key: int) -> None:
    low, high = messages.schema_versions(ApiKey(api_key))
    for version in range(low, high + 1):
        request = sample_request(api_key, version)
        assert encode_message(request, version) == sample_body(api_key, version)


# The bytes are those that Kafka's own classes write (tests/interop compares many more).
@pytest.mark.parametrize(
    ("request_or_response", "version", "encoded"),
    [
        (
            messages.ExpireDelegationTokenRequest(hmac=b"\x01\x02", expiry_time_period_ms=-1),
            1,
            "000000020102ffffffffffffffff",
        ),
        (
            messages.ExpireDelegationTokenRequest(hmac=b"\x01\x02", expiry_time_period_ms=-1),
            2,
            "030102ffffffffffffffff00",
        ),
        (
            messages.ConsumerGroupHeartbeatRequest(
                group_id="g", member_id="m", member_epoch=0, subscribed_topic_names=["t"]
            ),
            1,
            "0267026d000000000000ffffffff02027400000000",
        ),
        (
            messages.ConsumerGroupHeartbeatResponse(
                member_epoch=1,
                assignment=messages.ConsumerGroupHeartbeatResponse.Assignment(topic_partitions=[]),
            ),
            0,
            "0000000000000000000000010000000001010000",
        ),
        (
            messages.ConsumerGroupHeartbeatResponse(error_code=25),
            0,
            "00000000001900000000000000000000ff00",
        ),
    ],
)
def test_examples_have_the_bytes_that_kafka_writes(
    request_or_response: Any, version: int, encoded: str
) -> None:
    assert encode_message(request_or_response, version).hex() == encoded


@pytest.mark.parametrize(("message_class", "version"), CLASSES_AND_VERSIONS)
def test_defaults_can_be_encoded_and_decoded(message_class: Any, version: int) -> None:
    if message_class is messages.StreamsGroupTopologyDescriptionUpdateRequest:
        pytest.skip("its description has no default")
    encoded = encode_message(message_class(), version)
    assert encode_message(message_class.decode(encoded, version=version), version) == encoded


def test_a_null_that_the_schema_does_not_allow_is_refused() -> None:
    request = messages.ShareGroupDescribeRequest(group_ids=None)  # type: ignore[arg-type]
    body = encode_message(request, 1)
    with pytest.raises(DecodeError, match="group_ids must not be null"):
        decode_request(ApiKey.SHARE_GROUP_DESCRIBE, 1, body, 0, len(body))


@pytest.mark.parametrize("api_name", ["ApiVersions", "DeleteGroups", "TxnOffsetCommit"])
def test_clients_of_kafka_python_find_its_own_class_of_a_response(api_name: str) -> None:
    for package in ("admin", "metadata", "producer"):
        import_module(f"kafka.protocol.{package}")
    api_key = messages.api_key_of(api_name)

    schema_messages.make_class(f"{api_name}Response")

    found = ResponseClassRegistry._response_class_registry[api_key]
    assert found.__module__.startswith("kafka.protocol.")
