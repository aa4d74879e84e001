"""`mock-kafka proxy --diff` with real clients."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient

from mock_kafka import MockKafka
from proxy.diff.report import SAME
from tests.interop.apache_kafka import ApacheKafka
from tests.interop.comparing_proxy import comparing
from tests.interop.started_kafka import started

pytestmark = pytest.mark.interop
TOPIC = "compared-orders"
ONE_REPLICA = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.replication.factor": "1",
}


@pytest.fixture
def kafka() -> Iterator[MockKafka]:
    with MockKafka() as running:
        yield running


def use(servers: str) -> int:
    """Produce, consume in a group, and commit and abort transactions; return the records seen."""
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics({TOPIC: {"num_partitions": 2, "replication_factor": 1}})
    admin.close()
    producer = KafkaProducer(bootstrap_servers=servers)
    for number in range(20):
        producer.send(TOPIC, key=b"%d" % number, value=b"value %d" % number)
    producer.close()
    writer = KafkaProducer(bootstrap_servers=servers, transactional_id="compared")
    writer.init_transactions()
    for end in ("commit_transaction", "abort_transaction"):
        writer.begin_transaction()
        writer.send(TOPIC, b"in a transaction").get(timeout=30)
        getattr(writer, end)()
    writer.close()
    consumer = KafkaConsumer(
        TOPIC, bootstrap_servers=servers, group_id="compared", auto_offset_reset="earliest"
    )
    seen = polls = 0
    while seen < 22 and polls < 60:
        polls += 1
        seen += sum(map(len, consumer.poll(1000).values()))
    consumer.commit()
    assert consumer.committed(TopicPartition(TOPIC, 0)) is not None
    consumer.close()
    return seen


def test_our_broker_answers_as_a_cluster_that_is_our_broker(
    kafka: MockKafka, tmp_path: Path
) -> None:
    with comparing(kafka.bootstrap_servers, tmp_path) as compared:
        assert use(compared.bootstrap_servers) == 22
    assert compared.lines[-1] == SAME
    assert compared.status == 0
    assert compared.document["compared_records"] >= 22
    assert {"Produce", "Fetch", "JoinGroup", "EndTxn"} <= compared.document["apis"].keys()


def test_a_changed_response_of_the_cluster_is_reported(kafka: MockKafka, tmp_path: Path) -> None:
    kafka.add_fault(
        api="Produce", response={"responses": {"partition_responses": {"base_offset": 7}}}
    )
    with comparing(kafka.bootstrap_servers, tmp_path) as compared:
        producer = KafkaProducer(bootstrap_servers=compared.bootstrap_servers)
        producer.send(TOPIC, b"value").get(timeout=30)
        producer.close()
    kafka.clear_faults()
    assert compared.status == 1
    (found,) = compared.document["apis"]["Produce"]["differences"]
    assert found["path"] == "responses[].partition_responses[].base_offset"
    assert (found["real"], found["ours"]) == ("7", "0")
    assert len(compared.differences) == 1


@pytest.mark.long
@pytest.mark.xdist_group("jvm")
def test_our_broker_answers_as_apache_kafka(tmp_path: Path) -> None:
    folder = tmp_path / "kafka"
    folder.mkdir()
    with (
        started(ApacheKafka(folder, properties=ONE_REPLICA)) as apache,
        comparing(apache.bootstrap_servers, tmp_path) as compared,
    ):
        use(compared.bootstrap_servers)
    assert compared.differences == []
    assert compared.lines[-1] == SAME
