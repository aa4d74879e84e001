"""A rolling upgrade from Kafka 4.1 to 4.4: brokers first, features last (KIP-584)."""

import pytest
from confluent_kafka import Producer, ShareConsumer
from kafka import KafkaAdminClient
from kafka.errors import InvalidUpdateVersionError

BROKERS = (1, 2, 3)
# What `kafka-features.sh upgrade --release-version 4.4` sends.
FEATURES = {"metadata.version": 33, "share.version": 2, "streams.version": 1}


def finalize_features(servers):
    """Let the cluster use what only Kafka 4.4 has."""
    admin = KafkaAdminClient(bootstrap_servers=servers)
    try:
        admin.update_features(FEATURES)
    finally:
        admin.close()


def next_orders(consumer):
    """Return the next values that a share consumer gets."""
    while not (messages := consumer.poll(1)):
        pass
    return [message.value() for message in messages]


@pytest.mark.mock_kafka(brokers=3, config={"broker.api.versions": "4.1"})
def test_the_features_of_a_release_come_after_its_last_broker(mock_kafka):
    mock_kafka.create_topic("orders", partitions=1, replication_factor=3)
    servers = {"bootstrap.servers": mock_kafka.bootstrap_servers}
    producer = Producer(servers)
    for broker in BROKERS:
        with pytest.raises(InvalidUpdateVersionError):
            finalize_features(mock_kafka.bootstrap_servers)
        mock_kafka.stop_broker(broker, controlled=True)
        producer.produce("orders", b"%d" % broker)
        mock_kafka.start_broker(broker, config={"broker.api.versions": "4.4"})
        assert producer.flush(10) == 0
    assert [record.value for record in mock_kafka.records("orders")] == [b"1", b"2", b"3"]

    finalize_features(mock_kafka.bootstrap_servers)
    consumer = ShareConsumer({**servers, "group.id": "billing"})
    consumer.subscribe(["orders"])
    while not mock_kafka.requests(api="ShareFetch"):
        consumer.poll(0.1)
    producer.produce("orders", b"4")
    assert next_orders(consumer) == [b"4"]
    consumer.close()
