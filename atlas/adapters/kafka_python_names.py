"""Names and values that kafka-python, aiokafka and our client share; it imports none of them."""

from collections.abc import Callable, Mapping
from typing import Any

_SECURITY = {
    "mechanism": "sasl_mechanism",
    "username": "sasl_plain_username",
    "password": "sasl_plain_password",
}


def _as_here(*names: str) -> dict[str, str]:
    return {name: name for name in names}


ADMIN = _as_here("request_timeout_ms", "retry_backoff_ms", "metadata_max_age_ms")
"""Settings of the protocol with the names of the libraries, as also the next ones."""
PRODUCER = {
    "idempotent": "enable_idempotence",
    "compression": "compression_type",
    "max_in_flight": "max_in_flight_requests_per_connection",
    **_as_here("acks", "transactional_id", "transaction_timeout_ms", "delivery_timeout_ms"),
    **_as_here("linger_ms", "retries"),
    **ADMIN,
}
CONSUMER = {
    "group": "group_id",
    "instance_id": "group_instance_id",
    "isolation": "isolation_level",
    "auto_commit": "enable_auto_commit",
    **_as_here("auto_offset_reset", "session_timeout_ms", "heartbeat_interval_ms"),
    **_as_here("fetch_max_wait_ms"),
    **ADMIN,
}


def connection_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Take `security` from the settings; return it as kafka-python and aiokafka name it."""
    security = settings.pop("security", None)
    if not security:
        return {}
    return {
        "security_protocol": "SASL_PLAINTEXT",
        **{_SECURITY[name]: value for name, value in security.items()},
    }


def records_of(batches: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """Return the messages of a poll of kafka-python or aiokafka."""
    return [
        {
            "topic": message.topic,
            "partition": message.partition,
            "offset": message.offset,
            "key": _text(message.key),
            "value": _text(message.value),
        }
        for messages in batches.values()
        for message in messages
    ]


def topic_partitions(kind: Callable[[str, int], Any], assign: Mapping[str, Any]) -> list[Any]:
    """Return the partitions of an assignment as the library has them."""
    return [kind(topic, int(index)) for topic, indexes in assign.items() for index in indexes]


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")
