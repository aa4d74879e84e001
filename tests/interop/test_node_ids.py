"""Brokers whose ids do not begin at 1: clients and the methods find each of them."""

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from mock_kafka import MockKafka, StartError
from scenarios.clients.deadline import DEADLINE_S
from scenarios.clients.interface import Client, Record
from scenarios.clients.python_clients import CLIENTS

RACKS = {f"broker.{number}.broker.rack": f"rack-{number}" for number in range(3)}


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
@pytest.mark.parametrize("key", ["node.id", "broker.id"])
def test_clients_write_and_read_with_brokers_from_id_0_on(client: Client, key: str) -> None:
    with MockKafka(brokers=3, config={key: 0}) as kafka:
        kafka.create_topic("t", 3, 3)
        assert {part.leader for part in kafka.topics()[0].partitions} == {0, 1, 2}
        records = [Record(b"%d" % number, partition=number) for number in range(3)]
        sent = client.produce(kafka.bootstrap_servers, "t", records, is_idempotent=True)
        found = client.read(kafka.bootstrap_servers, "t", 3, 3)
        assert sorted(found, key=lambda record: record.partition) == sent
        assert {request.broker for request in kafka.requests(api="Produce")} == {0, 1, 2}


def test_the_methods_take_broker_0() -> None:
    with MockKafka(brokers=2, config={"node.id": 0}) as kafka:
        kafka.create_topic("t", 1, 2)
        producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap_servers})

        def send(value: bytes) -> int:
            producer.produce("t", value)
            assert producer.flush(DEADLINE_S) == 0
            return kafka.requests(api="Produce")[-1].broker

        fault = kafka.fail(error="NOT_ENOUGH_REPLICAS", api="Produce", broker=0, times=1)
        assert send(b"a") == 0
        assert fault.count == 1
        kafka.stop_broker(0)
        assert send(b"b") == 1
        kafka.start_broker(0)
        kafka.move_leader("t", 0, 0)
        assert send(b"c") == 0
        assert kafka.add_broker() == 2
        kafka.decommission_broker(0)
        assert send(b"d") in {1, 2}
        kafka.reset()
        assert sorted(AdminClient(servers(kafka)).list_topics(timeout=DEADLINE_S).brokers) == [0, 1]


def servers(kafka: MockKafka) -> dict[str, str]:
    return {"bootstrap.servers": kafka.bootstrap_servers}


@pytest.mark.parametrize("in_process", [False, True], ids=["process", "thread"])
def test_each_broker_describes_its_own_keys(*, in_process: bool) -> None:
    config: dict[str, str | int] = {"node.id": 0, "broker.1.num.io.threads": 4, **RACKS}
    with MockKafka(brokers=3, config=config, in_process=in_process) as kafka:
        admin = AdminClient(servers(kafka))
        for number, address in enumerate(kafka.bootstrap_servers_list):
            resource = ConfigResource(ResourceType.BROKER, str(number))
            entries = admin.describe_configs([resource])[resource].result(DEADLINE_S)
            described = {name: entry.value for name, entry in entries.items()}
            assert described["node.id"] == described["broker.id"] == str(number)
            assert described["listeners"] == f"PLAINTEXT://{address}"
            assert described["advertised.listeners"] == f"PLAINTEXT://{address}"
            assert described["broker.rack"] == f"rack-{number}"
            assert described["log.dirs"].endswith(f"broker-{number}")
            assert described["num.io.threads"] == ("4" if number == 1 else "8")


def test_a_key_of_a_broker_that_does_not_exist_is_named() -> None:
    with (
        pytest.raises(StartError, match=r"broker\.3\.\*: there are brokers 0 to 2 only"),
        MockKafka(brokers=3, config={"node.id": 0, "broker.3.broker.rack": "r"}),
    ):
        pass
