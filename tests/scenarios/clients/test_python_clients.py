"""What every client library for Python does alike through its wrapper."""

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from mock_kafka import MockKafka
from scenarios.clients.interface import Client, Credentials, Delivery, ProducerOptions, Record
from scenarios.clients.python_clients import CLIENTS

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def kafka() -> Iterator[MockKafka]:
    config = {"log.retention.ms": -1, "num.partitions": 1}
    with MockKafka(config=config) as cluster:
        yield cluster


@pytest.fixture(params=CLIENTS, ids=lambda client: client.name)
def client(request: pytest.FixtureRequest) -> Client:
    param: Client = request.param
    return param


def test_outcomes_of_records_have_their_offsets(kafka: MockKafka, client: Client) -> None:
    topic = f"offsets-{client.name}"
    client.create_topic(kafka.bootstrap_servers, topic, 2, 1)
    records = [Record(b"%d" % number, partition=number % 2) for number in range(4)]
    with client.producer(kafka.bootstrap_servers) as producer:
        assert producer.send_all(topic, records) == list(map(Delivery, (0, 0, 1, 1)))
    assert [record.value for record in kafka.records(topic, 1)] == [b"1", b"3"]


def test_a_refused_record_is_reported_with_the_name_of_its_error(
    kafka: MockKafka, client: Client
) -> None:
    topic = f"refused-{client.name}"
    kafka.create_topic(topic, 1)
    kafka.add_fault(api="Produce", topic=topic, error="INVALID_TIMESTAMP", times=1)
    with client.producer(kafka.bootstrap_servers) as producer:
        first, second = (producer.send_all(topic, [Record(b"x")])[0] for _ in range(2))
    assert first.offset == -1
    assert first.error is not None
    assert first.error_name in {"InvalidTimestampError", "INVALID_TIMESTAMP"}
    assert second == Delivery(0)


def test_a_flush_that_takes_too_long_raises_and_the_producer_can_be_aborted(
    kafka: MockKafka, client: Client
) -> None:
    topic = f"silent-{client.name}"
    kafka.create_topic(topic, 1)
    threads = set(threading.enumerate())
    producer = client.producer(kafka.bootstrap_servers, options=ProducerOptions(is_idempotent=True))
    assert producer.send_all(topic, [Record(b"stored")])[0].error is None
    kafka.add_fault(api="Produce", topic=topic, hang="before_response")
    producer.send(topic, b"never answered", lambda _: None, partition=0)
    with pytest.raises(TimeoutError):
        producer.flush(0.05)
    producer.abort()
    assert not [thread for thread in threading.enumerate() if thread not in threads]


def test_options_and_settings_of_the_library_reach_the_broker(client: Client) -> None:
    config = {"listeners": "SASL_PLAINTEXT://:0", "sasl.users": "alice:secret"}
    name = "client.id" if client.name == "confluent-kafka" else "client_id"
    options = ProducerOptions(
        credentials=Credentials("alice", "secret"), is_idempotent=True, linger_ms=0
    )
    with MockKafka(config=config) as kafka:
        kafka.create_topic("t", 1)
        with client.producer(kafka.bootstrap_servers, {name: "teller"}, options) as producer:
            deliveries: list[Delivery] = []
            producer.send("t", b"x", deliveries.append)
            producer.flush()
        assert deliveries == [Delivery(0)]
        [request] = kafka.requests(api="Produce")
        assert (request.user, request.client_id) == ("alice", "teller")
        assert kafka.requests(api="InitProducerId")


def test_a_member_reads_no_more_than_asked_for_and_the_next_one_goes_on(
    kafka: MockKafka, client: Client
) -> None:
    topic, servers = f"members-{client.name}", kafka.bootstrap_servers
    kafka.create_topic(topic, 1)
    client.produce(servers, topic, [Record(b"%d" % number) for number in range(10)])
    read: list[Record] = []
    for count in (4, 10):
        with closing(client.join(servers, topic, topic)) as member:
            while len(read) < count:
                read += member.poll(count - len(read))
            assert member.assigned() == {0}
            assert member.rebalances >= 1
            member.commit()
            assert member.committed(0) == (count, "")
    assert [record.offset for record in read] == list(range(10))
    assert read == client.read(servers, topic, 1, 10)
