"""Requests of every API in every version, for topic t and group g."""

from typing import Any
from uuid import UUID

from protocol import codec, messages
from protocol.api_keys import ApiKey
from protocol.message_schema import schema_of

TOPIC, GROUP, TOPIC_ID, TRANSACTIONAL_ID = "t", "g", UUID(int=1), "x"

_VALUES: dict[str, Any] = {
    "topic": TOPIC,
    "topic_name": TOPIC,
    "subscribed_topic_names": [TOPIC],
    "group_ids": [GROUP],
    "transactional_ids": [TRANSACTIONAL_ID],
    "v3_and_below_transactional_id": TRANSACTIONAL_ID,
    "group_id": GROUP,
    "topic_id": TOPIC_ID,
    "partition_indexes": [0, 1],
    "topic_names": [TOPIC],
    "groups_names": [GROUP],
    "coordinator_keys": [GROUP],
    "key": GROUP,
    "resource_type": 2,
    "resource_name": TOPIC,
    "resource_type_filter": 2,
    "resource_pattern_type": 3,
    "pattern_type_filter": 3,
    "operation": 3,
    "permission_type": 3,
    "records": b"",
    "acks": -1,
    "min_bytes": 1,
    "member_id": "m",
    "transactional_id": None,
    "entity_type": "user",
    "entity_name": "alice",
    "auth_bytes": b"\0alice\0secret",
    "client_software_name": "test",
    "client_software_version": "1",
    "cursor": None,
    "broker_ids": [1],
    "replicas": [1],
    "mechanism": "PLAIN",
    "count": 2,
    "session_id": 0,
    "session_epoch": -1,
    "current_leader_epoch": -1,
}


def sample_request(api_key: int, version: int) -> Any:
    """Return a message as a handler gets it: encoded and decoded."""
    body = sample_body(api_key, version)
    return codec.decode_request(ApiKey(api_key), version, body, 0, len(body))


def sample_body(api_key: int, version: int) -> bytes:
    """Return the encoded message without a header."""
    return bytes(sample_message(api_key, version).encode(version=version))


def sample_message(api_key: int, version: int) -> Any:
    """Return the message before it is encoded."""
    request_class = messages.request_class(ApiKey(api_key))
    return _filled(request_class, schema_of(request_class), version)


def _filled(message_class: Any, struct: Any, version: int) -> Any:
    message = message_class(version=version)
    for field in struct.fields.values():
        if field.for_version_q(version) and not field.tagged_field_q(version):
            setattr(message, field.name, _value(message, field, version))
    return message


def _value(message: Any, field: Any, version: int) -> Any:
    if field.is_struct_array():
        return [_filled(messages.entry_class(message, field.name), field.array_of, version)]
    if field.is_struct() and not field.nullable_for_version_q(version):
        return _filled(field.data_class, field, version)
    if field.name == "name":
        return TOPIC
    if field.name == "mechanism" and field.type_str == "int8":
        return 1
    if field.name == "transactional_id" and not field.nullable_for_version_q(version):
        return TRANSACTIONAL_ID
    if field.name == "groups":
        return [GROUP]
    if field.name == "partitions":
        return [0, 1]
    if field.name in _VALUES:
        return _VALUES[field.name]
    return getattr(message, field.name)
