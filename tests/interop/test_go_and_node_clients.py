"""franz-go and kafkajs: topics, idempotent producers, groups that resume, lost responses."""

from collections.abc import Callable

import pytest

from mock_kafka import ConfigValue, MockKafka
from scenarios.clients.confluent_kafka import CONFLUENT
from scenarios.clients.interface import by_partition
from scenarios.maven import CannotRunError
from tests.free_ports import free_port_run
from tests.interop.client_program import Lines
from tests.interop.conftest import broker_errors
from tests.interop.dropping_proxy import HOST, DroppingProxy
from tests.interop.go_and_node_clients import CLIENTS

RECORD_COUNT = 3000

Run = Callable[..., Lines]
"""Run a scenario of a client's program and return its output."""


@pytest.fixture(scope="module", params=CLIENTS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a client's program; skip if its toolchain or registry is missing."""
    try:
        return CLIENTS[request.param](tmp_path_factory.mktemp("client")).run
    except CannotRunError as error:
        pytest.skip(f"{request.param}: {error}")


def test_records_are_produced_and_read_by_a_group_that_resumes(
    run: Run, kafka_of_three: MockKafka, topic: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    run("produce", servers, topic, 100)
    first = run("consume", servers, topic, 40, f"{topic}.group")
    rest = run("consume", servers, topic, 60, f"{topic}.group")
    assert (len(first), len(rest)) == (40, 60)
    assert sorted(first + rest, key=lambda line: int(line[4])) == [
        [str(number % 2), str(number // 2), str(1000 + number), "key", str(number), str(number)]
        for number in range(100)
    ]


# kafkajs treats DUPLICATE_SEQUENCE_NUMBER, KIP-758's error for a duplicate, as a failure.
@pytest.mark.parametrize(
    ("run", "batches"), [("franz-go", 1), ("franz-go", 5), ("kafkajs", 5)], indirect=["run"]
)
def test_lost_responses_lose_and_duplicate_no_record(run: Run, topic: str, batches: int) -> None:
    port = free_port_run(2)
    config: dict[str, ConfigValue] = {
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "log.retention.ms": -1,
        "producer.state.batches": batches,
    }
    kafka = MockKafka(config=config, port=port + 1)
    with kafka, DroppingProxy(port, [port + 1], seed=758) as proxy:
        proxy.drop_rate = 0.1
        run("produce", proxy.servers, topic, RECORD_COUNT)
        assert proxy.tally.drops > 5
        read = by_partition(CONFLUENT.read(kafka.bootstrap_servers, topic, 2, RECORD_COUNT))
        assert broker_errors(kafka) == []
    for partition in (0, 1):
        numbers = [int(record.value or b"") for record in read[partition]]
        assert numbers == list(range(partition, RECORD_COUNT, 2))
