"""Our producer over TCP, and its records read by kafka-python."""

import asyncio
import contextlib
import re
from collections import Counter
from pathlib import Path
from typing import Any

import kafka as kafka_python
import pytest

from broker.clock import SystemClock
from broker.server.certificates import write_certificates
from client import Producer, ProducerSettings
from client.errors import SecurityError
from client.producer.delivery import Delivered, DeliveryTimeoutError
from client.security import SaslSettings, Security, TlsSettings
from mock_kafka import ConfigValue, MockKafka
from tests.free_ports import free_port_run
from tests.interop.dropping_proxy import HOST, DroppingProxy


def read(servers: str, topic: str, count: int) -> list[Any]:
    """Return the first `count` records, by partition and offset."""
    consumer = kafka_python.KafkaConsumer(
        topic, bootstrap_servers=servers, auto_offset_reset="earliest", consumer_timeout_ms=10_000
    )
    try:
        records = [next(consumer) for _ in range(count)]
    finally:
        consumer.close()
    return sorted(records, key=lambda record: (record.partition, record.offset))


async def produce(
    servers: str, topic: str, values: list[bytes], settings: ProducerSettings | None = None
) -> list[Delivered]:
    async with asyncio.timeout(60), Producer(servers, settings) as producer:
        futures = [await producer.send(topic, value, key=value) for value in values]
    return [future.result() for future in futures]


@pytest.mark.parametrize("compression_type", ["none", "gzip", "snappy", "lz4", "zstd"])
async def test_kafka_python_reads_what_the_producer_sends(
    kafka: MockKafka, topic: str, compression_type: str
) -> None:
    settings = ProducerSettings(compression_type=compression_type)
    async with asyncio.timeout(60), Producer(kafka.bootstrap_servers, settings) as producer:
        delivered = await (
            await producer.send(
                topic, b"v" * 500, b"k", headers=[("h", b"1"), ("n", None)], timestamp_ms=77
            )
        )
    (record,) = read(kafka.bootstrap_servers, topic, 1)
    assert (record.key, record.value, record.timestamp) == (b"k", b"v" * 500, 77)
    assert list(record.headers) == [("h", b"1"), ("n", None)]
    assert (record.partition, record.offset) == (delivered.partition, delivered.offset)


def test_the_producer_runs_on_uvloop(kafka: MockKafka, topic: str) -> None:
    uvloop = pytest.importorskip(
        "uvloop", reason="uvloop is not for this system", exc_type=ImportError
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(produce(kafka.bootstrap_servers, topic, [b"v"]))
    (record,) = read(kafka.bootstrap_servers, topic, 1)
    assert record.value == b"v"


async def test_keys_are_partitioned_as_by_kafka_python(
    kafka_of_three: MockKafka, topic: str
) -> None:
    keys = [b"key-%d" % number for number in range(100)]
    admin = kafka_python.KafkaAdminClient(bootstrap_servers=kafka_of_three.bootstrap_servers)
    admin.create_topics({topic: {"num_partitions": 6, "replication_factor": 1}})
    admin.close()
    ours = await produce(kafka_of_three.bootstrap_servers, topic, keys)
    theirs = kafka_python.KafkaProducer(bootstrap_servers=kafka_of_three.bootstrap_servers)
    futures = [theirs.send(topic, key, key=key) for key in keys]
    assert [delivered_record.partition for delivered_record in ours] == [
        future.get(10).partition for future in futures
    ]
    theirs.close()
    assert len({delivered_record.partition for delivered_record in ours}) == 6


@pytest.mark.parametrize("error", ["INVALID_REQUEST", "UNSUPPORTED_VERSION", "REQUEST_TIMED_OUT"])
async def test_an_error_of_api_versions_costs_a_connection_and_no_record(
    kafka: MockKafka, topic: str, error: str
) -> None:
    fault = kafka.fail(api="ApiVersions", error=error, times=2)
    settings = ProducerSettings(reconnect_backoff_ms=5)
    delivered = await produce(kafka.bootstrap_servers, topic, [b"a", b"b"], settings)
    assert sorted(found.offset for found in delivered) == [0, 1]
    assert fault.count == 2


@pytest.mark.parametrize("stored_batches", [1, 5])
async def test_every_record_is_stored_once_although_responses_are_lost(stored_batches: int) -> None:
    values = [b"%05d" % number for number in range(3_000)]
    settings = ProducerSettings(batch_size=400, retry_backoff_ms=5, reconnect_backoff_ms=5)
    first = free_port_run(6)
    upstream_ports = range(first + 3, first + 6)
    config: dict[str, ConfigValue] = {
        "num.partitions": 3,
        "producer.state.batches": stored_batches,
        "advertised.listeners": f"PLAINTEXT://{HOST}:{first}",
    }
    with (
        MockKafka(brokers=3, config=config, port=upstream_ports[0]) as kafka,
        DroppingProxy(first, upstream_ports, seed=91) as proxy,
    ):
        proxy.drop_rate = 0.05
        delivered = await produce(proxy.servers, "orders", values, settings)
        proxy.drop_rate = 0.0
        stored = [record.value for record in read(proxy.servers, "orders", len(values))]
        assert kafka.is_running
    assert Counter(stored) == Counter(values)
    assert len(delivered) == len(values)
    assert proxy.tally.drops > 0


@pytest.mark.parametrize("stored_batches", [1, 5])
async def test_every_record_is_stored_once_although_the_producer_id_expired(
    topic: str, stored_batches: int
) -> None:
    """A partition without producer state refuses the next batch and accepts the one after it."""
    settings = ProducerSettings(batch_size=1, retry_backoff_ms=5)
    values = [b"a", b"b", b"c", b"d"]

    async def test(kafka: MockKafka) -> list[Delivered]:
        async with Producer(kafka.bootstrap_servers, settings) as producer:
            await (await producer.send(topic, b"first"))
            kafka.advance(seconds=25 * 3600)
            kafka.add_fault(
                api="Produce", error="NOT_ENOUGH_REPLICAS", delay_request_ms=200, times=1
            )
            futures = [await producer.send(topic, value) for value in values]
            return [await future for future in futures]

    config: dict[str, ConfigValue] = {
        "producer.state.batches": stored_batches,
        "connections.max.idle.ms": -1,
    }
    with MockKafka(config=config) as kafka:
        delivered = await test(kafka)
        stored = {record.value: record.offset for record in kafka.records(topic)}
        assert len(kafka.records(topic)) == len(stored) == 5
        assert {value: record.offset for value, record in zip(values, delivered, strict=True)} == {
            value: stored[value] for value in values
        }
        errors = {error for request in kafka.requests(api="Produce") for error in request.errors}
    assert errors == {"NOT_ENOUGH_REPLICAS", "OUT_OF_ORDER_SEQUENCE_NUMBER"}


async def test_the_producer_reconnects_to_a_restarted_broker(topic: str) -> None:
    port = free_port_run(1)
    kafka = MockKafka(port=port)

    async with asyncio.timeout(60), Producer(f"127.0.0.1:{port}") as producer:
        with kafka:
            assert (await (await producer.send(topic, b"a"))).offset == 0
        future = await producer.send(topic, b"b")
        await asyncio.sleep(0.1)
        with kafka:
            assert (await future).offset == 0, "a new cluster, empty"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
async def test_the_producer_authenticates(
    tmp_path: Path, topic: str, mechanism: str, protocol: str
) -> None:
    write_certificates(tmp_path, ["127.0.0.1"], [], SystemClock().now_ms())
    config = {
        "listeners": f"{protocol}://:0",
        "sasl.users": "alice:secret-of-alice",
        "ssl.keystore.location": str(tmp_path / "server.pem"),
    }
    tls = TlsSettings(ca_path=str(tmp_path / "ca.pem")) if protocol == "SASL_SSL" else None

    async def send(servers: str, password: str) -> Delivered:
        security = Security(tls, SaslSettings(mechanism, "alice", password))
        async with asyncio.timeout(60), Producer(servers, security=security) as producer:
            return await (await producer.send(topic, b"a"))

    with MockKafka(config=config) as kafka:
        assert (await send(kafka.bootstrap_servers, "secret-of-alice")).offset == 0
        with pytest.raises(SecurityError):
            await send(kafka.bootstrap_servers, "wrong")


async def test_a_listener_with_another_protocol_delivers_nothing(
    kafka: MockKafka, topic: str
) -> None:
    settings = ProducerSettings(delivery_timeout_ms=300, request_timeout_ms=200)
    security = Security(TlsSettings())
    with pytest.raises((SecurityError, DeliveryTimeoutError)):
        async with Producer(kafka.bootstrap_servers, settings, security=security) as producer:
            await (await producer.send(topic, b"a"))


def test_the_examples_of_docs_client_md_run(
    kafka: MockKafka, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "client.md").read_text(encoding="utf-8")
    page = page.replace("127.0.0.1:9092", kafka.bootstrap_servers).replace("orders", topic)
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    blocks = [block for block in blocks if "def test_" not in block]
    of_producer, of_admin, of_transactions = blocks
    names: dict[str, Any] = {}
    exec(of_admin, names)
    assert names["outcomes"] == {topic: None}
    exec(of_producer, {})
    partition, offset = capsys.readouterr().out.split()
    assert 0 <= int(partition) < 3
    assert offset == "0"
    with contextlib.closing(
        kafka_python.KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    ) as orders:
        for _ in range(42):
            orders.send(topic, b"one coffee", partition=0)
    exec(of_transactions, {})
    (invoice,) = read(kafka.bootstrap_servers, "invoices", 1)
    assert invoice.value == b"42 coffees"
    consumer = kafka_python.KafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers, group_id="billing"
    )
    assert consumer.committed(kafka_python.TopicPartition(topic, 0)) == 42
    consumer.close()


@pytest.mark.parametrize("window", [1, 7, None])
async def test_the_producer_gets_the_window_from_the_broker_and_keeps_to_it(
    window: int | None, topic: str
) -> None:
    """The broker refuses sequences beyond its window; None is Kafka's rule of five batches."""
    rule: dict[str, ConfigValue] = {"producer.state.batches": 5}
    if window is not None:
        rule = {"max.in.flight.sequence.number.per.connection": window}

    settings = ProducerSettings(batch_size=200)
    with MockKafka(config={"num.partitions": 1, **rule}) as kafka:
        async with asyncio.timeout(60), Producer(kafka.bootstrap_servers, settings) as producer:
            futures = [await producer.send(topic, b"%d" % number) for number in range(500)]
    assert [future.result().offset for future in futures] == list(range(500))
    assert producer.window == window
