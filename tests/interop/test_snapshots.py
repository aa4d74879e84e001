"""Clients that stay up go on with a cluster that was saved, ended, started again and loaded."""

from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import create_topic

TIMEOUT_S = 60
ISOLATED = [{"isolate_broker": 1, "at_once": True}]
"""The rules of a start after which no client sees the cluster before the snapshot is loaded."""


def restarted(kafka: MockKafka) -> MockKafka:
    """Save a cluster, end it, and load the snapshot into another one at the same port."""
    snapshot = kafka.snapshot()
    port = int(kafka.bootstrap_servers.rpartition(":")[2])
    kafka.stop()
    again = MockKafka(port=port, faults=ISOLATED)
    again.start()
    again.load_snapshot(snapshot, cluster_id=True)
    return again


def values(consumer: Consumer, count: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < count:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        if message.error() is None:
            found.append(message.value())
    return found


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_transaction_and_a_member_go_on_after_a_restart(protocol: str) -> None:
    kafka = MockKafka()
    kafka.start()
    create_topic(kafka.bootstrap_servers, "orders", 1)
    servers = {"bootstrap.servers": kafka.bootstrap_servers}
    assigned: list[Any] = []
    revoked: list[Any] = []
    consumer = Consumer(
        servers
        | {
            "group.id": "billing",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(
        ["orders"],
        on_assign=lambda _consumer, partitions: assigned.append(partitions),
        on_revoke=lambda _consumer, partitions: revoked.append(partitions),
    )
    transactional = Producer(servers | {"transactional.id": "tx"})
    transactional.init_transactions(TIMEOUT_S)
    plain = Producer(servers | {"enable.idempotence": True})
    try:
        plain.produce("orders", b"1")
        assert plain.flush(TIMEOUT_S) == 0
        assert values(consumer, 1) == [b"1"]
        consumer.commit(asynchronous=False)
        transactional.begin_transaction()
        transactional.produce("orders", b"2")
        assert transactional.flush(TIMEOUT_S) == 0

        kafka = restarted(kafka)

        transactional.produce("orders", b"3")
        transactional.commit_transaction(TIMEOUT_S)
        plain.produce("orders", b"4")
        assert plain.flush(TIMEOUT_S) == 0
        assert values(consumer, 3) == [b"2", b"3", b"4"]
        consumer.commit(asynchronous=False)
        assert kafka.committed("billing")[("orders", 0)] >= 4
        assert [record.value for record in kafka.records("orders")] == [b"1", b"2", b"3", b"4"]
        assert (len(assigned), revoked) == (1, [])
    finally:
        consumer.close()
        kafka.stop()
