"""Clients lose nothing when a broker with too many producer ids stops."""

import socket
from contextlib import closing
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from mock_kafka import MockKafka
from scenarios.clients.deadline import DEADLINE_S
from scenarios.clients.python_clients import CLIENTS


def new_producer(servers: str) -> Any:
    return confluent_kafka.Producer(
        {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 0}
    )


def send(producer: Any, partition: int, value: bytes) -> None:
    producer.produce("t", value, partition=partition)
    assert producer.flush(DEADLINE_S) == 0


def test_producers_continue_at_the_next_brokers_with_their_producer_state() -> None:
    with MockKafka(brokers=3, config={"broker.max.producer.ids": 2}) as kafka:
        servers = kafka.bootstrap_servers
        topic = NewTopic("t", num_partitions=2, replica_assignment=[[1, 2], [1, 3]])
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([topic])["t"].result(DEADLINE_S)
        producers = [new_producer(servers) for _ in range(3)]
        for number, producer in enumerate(producers):
            send(producer, number % 2, b"%d" % number)

        for number, producer in enumerate(producers):
            send(producer, number % 2, b"%d again" % number)

        host, port = servers.split(",")[0].split(":")
        with pytest.raises(ConnectionRefusedError), closing(socket.socket()) as gone:
            gone.connect((host, int(port)))
        values = [record.value for record in CLIENTS[2].read(servers, "t", 2, 6)]
        assert sorted(filter(None, values)) == [
            b"0",
            b"0 again",
            b"1",
            b"1 again",
            b"2",
            b"2 again",
        ]
        assert any("broker.max.producer.ids" in line for line in kafka.log_lines())
