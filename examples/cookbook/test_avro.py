"""Avro without a registry: with a URL of `mock://` the client keeps the schemas in its process."""

import json

import pytest
from confluent_kafka import Producer

pytest.importorskip("confluent_kafka.schema_registry.avro", reason="confluent-kafka[avro]")
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

ORDER = json.dumps(
    {"type": "record", "name": "Order", "fields": [{"name": "item", "type": "string"}]}
)
VALUE = SerializationContext("orders", MessageField.VALUE)


def test_an_order_is_stored_as_avro(mock_kafka):
    registry = SchemaRegistryClient.new_client({"url": "mock://orders"})
    producer = Producer({"bootstrap.servers": mock_kafka.bootstrap_servers})
    producer.produce("orders", AvroSerializer(registry, ORDER)({"item": "coffee"}, VALUE))
    producer.flush(10)

    [record] = mock_kafka.records("orders")
    assert record.value[0] == 0  # the magic byte; the id of the schema follows
    assert AvroDeserializer(registry)(record.value, VALUE) == {"item": "coffee"}
