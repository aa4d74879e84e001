"""Clusters of ours that are recorded."""

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Producer

from mock_kafka import (
    DEFAULT,
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    MockKafka,
    ResourceType,
    open_admin,
)
from mock_kafka import PartitionOffset as Offset

CONFIG = {
    "super.users": "User:ANONYMOUS",
    "broker.1.broker.rack": "east",
    "cluster.id": "recorded",
}

SET_AT_RUN_TIME = (
    (ResourceType.GROUP, "billing", "consumer.session.timeout.ms", "50000"),
    (ResourceType.CLIENT_METRICS, "all", "interval.ms", "1000"),
)


@contextmanager
def filled_cluster() -> Iterator[MockKafka]:
    """Start a cluster with topics of all kinds, a group, quotas, a user and access control lists.

    `orders` has records in one of two partitions, `states` is compacted, and `payments` has a
    committed, an aborted and a committed transaction.
    """
    with MockKafka(
        in_process=True,
        acls=True,
        config={
            "super.users": "User:ANONYMOUS",
            "broker.1.broker.rack": "east",
            "cluster.id": "recorded",
        },
    ) as kafka:
        kafka.create_topic("orders", 2, config={"retention.ms": -1})
        kafka.produce("orders", *(b'{"n": %d}' % n for n in range(6)), key=b"k", partition=1)
        kafka.produce("orders", b"\xff", headers={"trace": b"1"}, partition=1)
        kafka.delete_records("orders", 1, 2)
        kafka.create_topic("states", config={"cleanup.policy": "compact"})
        for n in range(9):
            kafka.produce("states", b"%d" % n, key=b"k%d" % (n % 2))
        kafka.produce("states", None, key=b"gone")
        kafka.compact("states")
        kafka.create_topic("payments")
        _transactions(kafka.bootstrap_servers)
        with open_admin(kafka.bootstrap_servers) as admin:
            admin.incremental_alter_configs(
                {
                    ConfigResource(kind, name): [ConfigChange(key, ConfigOperation.SET, value)]
                    for kind, name, key, value in SET_AT_RUN_TIME
                }
            )
            admin.alter_group_offsets("billing", {("orders", 1): Offset(4, metadata="note")})
        kafka.quota(user="ann", producer_byte_rate=1e6)
        kafka.quota(client_id=DEFAULT, request_percentage=50.5)
        kafka.allow("ann", "read", topic="orders")
        yield kafka


def _transactions(servers: str) -> None:
    for number, is_committed in enumerate((True, False, True)):
        producer = Producer({"bootstrap.servers": servers, "transactional.id": "x"})
        producer.init_transactions()
        producer.begin_transaction()
        for n in range(3):
            producer.produce("payments", f"{number}-{n}")
        producer.flush()
        if is_committed:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
