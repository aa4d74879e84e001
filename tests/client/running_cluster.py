"""A cluster in this process with topic t: three partitions with three records each."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kafka import KafkaProducer

from client.admin import Admin
from client.blocking_admin import open_admin
from mock_kafka import MockKafka

CONFIG: dict[str, str] = {"cluster.features": "share.version=1"}


@contextmanager
def running_cluster(config: Mapping[str, str] = CONFIG) -> Iterator[MockKafka]:
    """Start a cluster, and fill its topic with records of the timestamps 1000, 2000 and 3000."""
    with MockKafka(config=config, in_process=True) as kafka:
        kafka.create_topic("t", 3, config={"retention.ms": "-1"})
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
        for index in range(3):
            for timestamp_ms in (1000, 2000, 3000):
                producer.send("t", b"v", partition=index, timestamp_ms=timestamp_ms)
        producer.flush()
        producer.close()
        yield kafka


@contextmanager
def admin_without_groups(kafka: MockKafka) -> Iterator[Admin]:
    """Connect an admin client, and delete all groups."""
    with open_admin(kafka.bootstrap_servers) as admin:
        admin.delete_groups(listing.group_id for listing in admin.list_groups())
        yield admin
