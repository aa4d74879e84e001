"""The door users enter by: a Kafka cluster for the length of a `with` block.

    from mock_kafka import MockKafka

    with MockKafka(brokers=3, config={"num.partitions": 6}) as kafka:
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)

The cluster runs in a process of its own; clients reach it over TCP like any other.
"""

from mock_kafka.broker_process import StartError
from mock_kafka.cluster import ConfigValue, MockKafka

__all__ = ["ConfigValue", "MockKafka", "StartError"]
