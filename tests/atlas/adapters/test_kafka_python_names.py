from types import SimpleNamespace

from atlas.adapters.kafka_python_names import (
    CONSUMER,
    PRODUCER,
    connection_settings,
    records_of,
    topic_partitions,
)


def test_settings_have_the_names_of_the_libraries() -> None:
    assert PRODUCER["idempotent"] == "enable_idempotence"
    assert PRODUCER["delivery_timeout_ms"] == "delivery_timeout_ms"
    assert CONSUMER["group"] == "group_id"
    assert "metadata_max_age_ms" in PRODUCER.keys() & CONSUMER.keys()


def test_security_leaves_the_settings() -> None:
    security = {"mechanism": "PLAIN", "username": "alice", "password": "secret"}
    settings = {"acks": 1, "security": security}
    assert connection_settings(settings) == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "alice",
        "sasl_plain_password": "secret",
    }
    assert settings == {"acks": 1}
    assert connection_settings(settings) == {}


def test_records_and_partitions_are_those_of_the_protocol() -> None:
    message = SimpleNamespace(topic="orders", partition=1, offset=7, key=None, value=b"tea")
    assert records_of({"orders-1": [message]}) == [
        {"topic": "orders", "partition": 1, "offset": 7, "key": None, "value": "tea"}
    ]
    assert topic_partitions(lambda *place: place, {"orders": ["0", 2]}) == [
        ("orders", 0),
        ("orders", 2),
    ]
