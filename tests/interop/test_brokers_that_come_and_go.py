"""Clients continue while brokers are added, removed and replaced."""

import socket
from contextlib import closing

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from mock_kafka import MockKafka
from scenarios.clients.deadline import DEADLINE_S, Deadline
from scenarios.clients.interface import Client, Record
from scenarios.clients.python_clients import CLIENTS
from tests.interop.conftest import CONFIG


def brokers_known_to(admin: AdminClient) -> list[int]:
    return sorted(admin.list_topics(timeout=DEADLINE_S).brokers)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_clients_find_an_added_broker_and_write_to_it(client: Client) -> None:
    with MockKafka(2, CONFIG) as kafka:
        added = kafka.add_broker()
        kafka.create_topic("t", 3)
        records = [Record(b"%d" % number, partition=number) for number in range(3)]
        sent = client.produce(kafka.bootstrap_servers, "t", records, is_idempotent=True)
        found = client.read(kafka.bootstrap_servers, "t", 3, 3)
        assert sorted(found, key=lambda record: record.partition) == sent
        assert {request.broker for request in kafka.requests(api="Produce")} == {1, 2, added}


def test_a_producer_continues_after_all_its_first_brokers_were_replaced() -> None:
    with MockKafka(2, CONFIG) as kafka:
        kafka.create_topic("t", 1, 2)
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "enable.idempotence": True,
                "linger.ms": 0,
                "topic.metadata.refresh.interval.ms": 100,
            }
        )

        def send(number: int) -> None:
            producer.produce("t", b"%d" % number)
            assert producer.flush(DEADLINE_S) == 0

        send(0)
        for number, old in enumerate((1, 2), start=1):
            new = kafka.add_broker()
            kafka.move_leader("t", 0, new)
            send(number)
            kafka.decommission_broker(old)
        send(3)
        assert [record.value for record in kafka.records("t")] == [b"0", b"1", b"2", b"3"]
        assert brokers_known_to(AdminClient({"bootstrap.servers": addresses(kafka)})) == [3, 4]
        for server in kafka.bootstrap_servers_list:
            host, _, port = server.rpartition(":")
            with pytest.raises(ConnectionRefusedError), closing(socket.socket()) as gone:
                gone.connect((host, int(port)))


def test_a_fenced_broker_still_responds_and_is_not_in_metadata() -> None:
    with MockKafka(2, CONFIG) as kafka:
        first, second = kafka.bootstrap_servers_list
        admin = AdminClient({"bootstrap.servers": first})
        assert brokers_known_to(admin) == [1, 2]
        kafka.fence_broker(1)
        # The fenced broker still runs and returns the same metadata.
        assert brokers_known_to(AdminClient({"bootstrap.servers": first})) == [2]
        assert brokers_known_to(AdminClient({"bootstrap.servers": second})) == [2]
        kafka.start_broker(1)
        deadline = Deadline()
        while brokers_known_to(admin) != [1, 2]:
            assert deadline.holds("the broker is back")


def addresses(kafka: MockKafka) -> str:
    views = kafka.control.ask("GET", "/v1/brokers")
    return ",".join(f"{view['host']}:{view['port']}" for view in views)
