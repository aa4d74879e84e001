"""A patch changes only its own values of a response, in any version."""

from typing import Any

import pytest

from broker.faults import fault_rule
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.message_schema import schema_of
from protocol.response_patch import check_patch
from tests.broker.connection_driver import metadata_frame, request_frame
from tests.broker.faults.faulty_clients import Clients, base_offset, offset, produce_frame
from tests.broker.faults.requests import sample_message

VERSIONS = [
    (api_key, version)
    for api_key, route in sorted(ROUTES.items())
    for version in range(route.version_min, route.version_max + 1)
]


def body_of(response: bytes, api_key: int, version: int) -> Any:
    header_bytes = 4 + (messages.is_flexible(ApiKey(api_key), version) and api_key != 18)
    return messages.response_class(ApiKey(api_key)).decode(response[header_bytes:], version=version)


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_an_empty_patch_does_not_change_any_response(api_key: int, version: int) -> None:
    frame = request_frame(sample_message(api_key, version), version, 1)
    responses = []
    for rule in (fault_rule(delay_ms=0), fault_rule(api=ApiKey(api_key), response={})):
        clients = Clients(rule)
        clients.send(frame)
        clients.advance(10_000)
        assert clients.bugs == []
        responses.append(clients.responses())
    assert responses[0] == responses[1]
    assert responses[0]


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_every_field_of_every_response_can_be_patched(api_key: int, version: int) -> None:
    response = example_of(schema_of(messages.response_class(ApiKey(api_key))))
    if api_key == ApiKey.API_VERSIONS:
        # kafka-python decodes a response with an error as version 0.
        response["error_code"] = 0
    check_patch(ApiKey(api_key), response)
    clients = Clients(fault_rule(api=ApiKey(api_key), response=response))
    clients.send(request_frame(sample_message(api_key, version), version, 1))
    clients.advance(10_000)
    assert clients.bugs == []
    (frame,) = clients.responses()
    assert body_of(frame, api_key, version) is not None


def example_of(struct: Any) -> dict[str, Any]:
    """Return a patch with a value for every field."""
    return {name: example(field) for name, field in struct.fields.items()}


def example(field: Any) -> Any:
    if field.is_array():
        return [example(field.array_of)]
    if field.is_struct():
        return example_of(field)
    examples = {
        "string": "x",
        "bool": True,
        "uuid": "00000000-0000-0000-0000-00000000002a",
        "float64": 1.5,
        "bytes": {"text": "x"},
        "records": {"base64": ""},
        "bitfield": [3],
    }
    return examples.get(field.type_str, 1)


def test_a_patch_applies_to_the_response_of_a_handled_request() -> None:
    clients = Clients(fault_rule(api="Produce", response=offset(41)))
    clients.send(produce_frame(1))
    assert base_offset(clients) == 41
    assert clients.cluster.log_bytes > 0


def test_with_an_error_the_error_response_is_patched_and_the_request_not_handled() -> None:
    clients = Clients(fault_rule(api="Produce", error="NONE", response=offset(41)))
    clients.send(produce_frame(1))
    assert base_offset(clients) == 41
    assert clients.cluster.log_bytes == 0


def test_a_list_of_rules_gives_a_sequence_of_responses() -> None:
    first = fault_rule(api="Metadata", response={"controller_id": 7}, times=1)
    second = fault_rule(api="Metadata", response={"controller_id": 8}, times=1)
    clients = Clients(first, second)
    clients.send(metadata_frame(1) + metadata_frame(2) + metadata_frame(3))
    bodies = [messages.MetadataResponse.decode(a[5:], version=9) for a in clients.responses()]
    assert [body.controller_id for body in bodies] == [7, 8, 1]


def test_a_patch_can_set_an_error_code() -> None:
    rule = fault_rule(
        api="Metadata", response={"topics": [{"error_code": "TOPIC_AUTHORIZATION_FAILED"}]}
    )
    clients = Clients(rule)
    clients.send(metadata_frame(1))
    (response,) = clients.responses()
    (topic,) = messages.MetadataResponse.decode(response[5:], version=9).topics
    assert topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
