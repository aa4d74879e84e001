"""KIP-936 with real clients: producers whose new id is refused.

kafka-python retries THROTTLING_QUOTA_EXCEEDED; librdkafka and aiokafka report it. All retry
NOT_ENOUGH_REPLICAS, and then nothing is lost, duplicated or out of order, although
librdkafka and kafka-python had sent further batches after the refused one.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import confluent_kafka
import pytest

from mock_kafka import MockKafka, cli
from scenarios.clients.aiokafka import AIOKAFKA
from scenarios.clients.confluent_kafka import CONFLUENT, create_topic
from scenarios.clients.deadline import DEADLINE_S
from scenarios.clients.interface import Client, Config, ProducerOptions, Record
from scenarios.clients.kafka_python import KAFKA_PYTHON

VALUES = [b"%d" % number for number in range(20)]
OffsetOrError = int | str
"""The offset of a record, or the name of its error."""


Send = Callable[[str, list[bytes]], list[OffsetOrError]]
"""Send values to partition 0 of topic "t", and return their outcomes."""


def sender(client: Client, config: Config) -> Send:
    def send(servers: str, values: list[bytes]) -> list[OffsetOrError]:
        records = [Record(value, timestamp_ms=None) for value in values]
        with client.producer(servers, config, ProducerOptions(is_idempotent=True)) as producer:
            deliveries = producer.send_all("t", records)
        return [delivery.error_name or delivery.offset for delivery in deliveries]

    return send


by_kafka_python = sender(KAFKA_PYTHON, {"linger_ms": 0})
by_aiokafka = sender(AIOKAFKA, {"max_batch_size": 100})
by_confluent = sender(CONFLUENT, {"linger.ms": 0, "batch.num.messages": 1})
SENDERS: dict[str, Send] = {
    "kafka-python": by_kafka_python,
    "aiokafka": by_aiokafka,
    "confluent": by_confluent,
}


@contextmanager
def one_a_second(error_code: str) -> Iterator[MockKafka]:
    """A broker with a quota of one producer id per second, which is used up; its clock stands."""
    config = {
        "producer.id.quota.window.size.seconds": "1",
        "producer.id.quota.error.code": error_code,
        "client.quotas": "user=<default>,producer_ids_rate=1",
    }
    with MockKafka(config=config) as mock_kafka:
        mock_kafka.set_clock("standing")
        create_topic(mock_kafka.bootstrap_servers, "t")
        assert by_kafka_python(mock_kafka.bootstrap_servers, [b"first"]) == [0]
        yield mock_kafka


def refused_first(send: Send, mock_kafka: MockKafka, error_code: str) -> list[OffsetOrError]:
    """Return a sender's results; start the clock as soon as a batch is refused."""
    with ThreadPoolExecutor() as threads:
        outcomes = threads.submit(send, mock_kafka.bootstrap_servers, VALUES)
        mock_kafka.wait_for(api="Produce", error=error_code, timeout_s=DEADLINE_S)
        mock_kafka.set_clock("real")
        return outcomes.result()


def stored(mock_kafka: MockKafka) -> list[bytes | None]:
    return [record.value for record in mock_kafka.records("t")]


@pytest.mark.parametrize("send", SENDERS.values(), ids=SENDERS)
def test_every_client_retries_not_enough_replicas(send: Send) -> None:
    with one_a_second("NOT_ENOUGH_REPLICAS") as mock_kafka:
        assert refused_first(send, mock_kafka, "NOT_ENOUGH_REPLICAS") == [*range(1, 21)]
        assert stored(mock_kafka) == [b"first", *VALUES]


def test_kafka_python_retries_throttling_quota_exceeded() -> None:
    error = "THROTTLING_QUOTA_EXCEEDED"
    with one_a_second(error) as mock_kafka:
        assert refused_first(by_kafka_python, mock_kafka, error) == [*range(1, 21)]
        assert stored(mock_kafka) == [b"first", *VALUES]


def test_librdkafka_fails_records_in_flight_on_throttling_quota_exceeded() -> None:
    error = "THROTTLING_QUOTA_EXCEEDED"
    with one_a_second(error) as mock_kafka:
        outcomes = refused_first(by_confluent, mock_kafka, error)
        refused = outcomes.count(error)
        # Five requests may be in flight; later ones are admitted and stored.
        assert outcomes[:refused] == [error] * refused
        assert 1 <= refused <= 5
        assert outcomes[refused:] == [*range(1, 1 + len(VALUES) - refused)]
        assert stored(mock_kafka) == [b"first", *VALUES[refused:]]


def test_aiokafka_fails_the_producer_on_throttling_quota_exceeded() -> None:
    error = "THROTTLING_QUOTA_EXCEEDED"
    with one_a_second(error) as mock_kafka:
        assert refused_first(by_aiokafka, mock_kafka, error) == ["UnknownError"] * len(VALUES)
        mock_kafka.advance(seconds=1)
        assert by_aiokafka(mock_kafka.bootstrap_servers, VALUES) == [*range(1, 21)]
        assert stored(mock_kafka) == [b"first", *VALUES]


def test_a_known_producer_is_not_refused_while_others_of_its_user_are() -> None:
    with one_a_second("NOT_ENOUGH_REPLICAS") as mock_kafka:
        throttles: list[Any] = []
        settings = {
            "bootstrap.servers": mock_kafka.bootstrap_servers,
            "enable.idempotence": True,
            "linger.ms": 0,
        }
        known = confluent_kafka.Producer(settings)
        mock_kafka.advance(seconds=1)
        known.produce("t", b"known")
        assert known.flush(DEADLINE_S) == 0
        stranger = confluent_kafka.Producer({**settings, "throttle_cb": throttles.append})
        stranger.produce("t", b"stranger")
        mock_kafka.wait_for(api="Produce", error="NOT_ENOUGH_REPLICAS", timeout_s=DEADLINE_S)
        known.produce("t", b"known again")
        assert known.flush(DEADLINE_S) == 0
        assert stored(mock_kafka) == [b"first", b"known", b"known again"]
        mock_kafka.set_clock("real")
        assert stranger.flush(DEADLINE_S) == 0
        stranger.poll(0)
        assert 0 < throttles[0].throttle_time <= 1
        assert stored(mock_kafka)[-1] == b"stranger"


@pytest.mark.parametrize(
    ("entity", "is_set"),
    [
        ("--entity-type users --entity-name user1", True),
        ("--entity-type users --entity-default", True),
        ("--entity-type users", True),
        ("--entity-type clients --entity-name app", False),
        ("--entity-type users --entity-name user1 --entity-type clients --entity-name app", False),
        ("--entity-type ips --entity-name 127.0.0.1", False),
    ],
)
def test_the_tool_sets_the_quota_for_users_only(
    kafka: MockKafka, capsys: pytest.CaptureFixture[str], entity: str, is_set: bool
) -> None:
    tool = ["configs", "--bootstrap-server", kafka.bootstrap_servers]
    added = ["--alter", "--add-config", "producer_ids_rate=50"]
    status = cli.main([*tool, *added, *entity.split()])
    printed = capsys.readouterr()
    if is_set:
        assert (status, printed.err) == (0, "")
        assert cli.main([*tool, "--describe", *entity.split()]) == 0
        assert "producer_ids_rate=50.0" in capsys.readouterr().out
        deleted = ["--alter", "--delete-config", "producer_ids_rate"]
        assert cli.main([*tool, *deleted, *entity.split()]) == 0
    else:
        assert status == 1
        assert "Unexpected config names: producer_ids_rate" in printed.err
