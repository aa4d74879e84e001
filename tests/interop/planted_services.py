"""Four small services on kafka-python and librdkafka, each with and without a planted bug.

A service is a function of a cluster. It returns normally, or raises an AssertionError that says
what it did wrong.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from confluent_kafka import KafkaException, Producer
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from kafka.net.connection import KafkaConnection

from mock_kafka import MockKafka
from mock_kafka.exploration.cluster_runs import ClusterRuns
from mock_kafka.exploration.outcome import Outcome
from mock_kafka.exploration.schedule import Seen, disturbances_of, used_profiles
from mock_kafka.exploration.search import Plan, Step, Summary, drive, search

VALUES = [b"%d" % number for number in range(5)]
TRIES = 20
SILENT = logging.Logger("silent", logging.CRITICAL)
TOPIC = "orders"
PARTITION = TopicPartition(TOPIC, 0)


@contextmanager
def producer_of(kafka: MockKafka, **settings: Any) -> Iterator[KafkaProducer]:
    producer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers,
        client_id="service",
        retry_backoff_ms=10,
        reconnect_backoff_ms=10,
        **settings,
    )
    try:
        yield producer
    finally:
        producer.close(timeout=1)


def send_each_once(kafka: MockKafka, *, is_idempotent: bool) -> None:
    """Send records one after another; each must be stored once."""
    with producer_of(kafka, enable_idempotence=is_idempotent) as producer:
        for value in VALUES:
            producer.send(TOPIC, value).get(timeout=30)
    stored = [record.value for record in kafka.records(TOPIC)]
    assert stored == VALUES, stored


def process_all(kafka: MockKafka, *, is_committed_first: bool) -> None:
    """Copy records to another topic, and start again after an error; none may be left out."""
    kafka.create_topic(TOPIC, 1, 3)
    kafka.create_topic("shipped", 1, 3)
    for value in VALUES:
        kafka.produce(TOPIC, value)
    for _ in range(TRIES):
        try:
            _process(kafka, is_committed_first=is_committed_first)
            break
        except KafkaError:
            continue  # as if something had started the service again
    shipped = [record.value for record in kafka.records("shipped")]
    assert set(shipped) == set(VALUES), shipped


def _process(kafka: MockKafka, *, is_committed_first: bool) -> None:
    consumer = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers,
        client_id="service",
        group_id="shipping",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_poll_records=1,
        retry_backoff_ms=10,
        reconnect_backoff_ms=10,
    )
    try:
        consumer.assign([PARTITION])
        with producer_of(kafka, enable_idempotence=False, retries=0) as producer:
            while consumer.position(PARTITION) < len(VALUES):
                for records in consumer.poll(timeout_ms=200).values():
                    if is_committed_first:
                        consumer.commit()
                    for record in records:
                        producer.send("shipped", record.value).get(timeout=30)
                    consumer.commit()
    finally:
        consumer.close(autocommit=False)


def commit_each_once(kafka: MockKafka, *, is_fencing_ignored: bool) -> None:
    """Commit a transaction for each record, again if it fails; each must be visible once."""
    kafka.create_topic(TOPIC, 1, 3)
    left = list(VALUES[:3])
    for _ in range(TRIES):
        # kafka-python's commit_transaction never returns if the coordinator stops before it.
        producer = Producer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "client.id": "service",
                "transactional.id": "invoices",
                "retry.backoff.ms": 10,
                "reconnect.backoff.ms": 10,
                "logger": SILENT,
            }
        )
        try:
            producer.init_transactions(30)
            while left:
                producer.begin_transaction()
                producer.produce(TOPIC, left[0])
                try:
                    producer.commit_transaction(30)
                except KafkaException:
                    if not is_fencing_ignored:
                        raise
                del left[0]
            break
        except KafkaException:
            continue  # with a new producer, which aborts the transaction of this one
    visible = [record.value for record in kafka.records(TOPIC, isolation_level="read_committed")]
    assert visible == VALUES[:3], visible


def send_slowly(kafka: MockKafka, *, is_throttle_ignored: bool) -> None:
    """Send records for a while; the explorer sees requests during a throttle."""
    ignored = patch.object(KafkaConnection, "_maybe_throttle", lambda _self, _response: None)
    with producer_of(kafka, linger_ms=30) as producer:
        if is_throttle_ignored:
            ignored.start()
        try:
            for value in VALUES * 2:
                producer.send(TOPIC, value).get(timeout=30)
        finally:
            if is_throttle_ignored:
                ignored.stop()


@dataclass(frozen=True)
class Planted:
    """A service: `run` with `**bug` has its bug, with `**healthy` it has not."""

    run: Callable[..., None]
    bug: dict[str, bool]
    profiles: tuple[str, ...] | None = None

    @property
    def healthy(self) -> dict[str, bool]:
        return {name: not value for name, value in self.bug.items()}


PLANTED = {
    "retries without idempotence": Planted(send_each_once, {"is_idempotent": False}),
    "commits before it processes": Planted(process_all, {"is_committed_first": True}),
    "ignores that it is fenced": Planted(commit_each_once, {"is_fencing_ignored": True}),
    "ignores throttles": Planted(send_slowly, {"is_throttle_ignored": True}, ("quotas",)),
}


def explore_service(
    kafka: MockKafka, planted: Planted, plan: Plan, settings: dict[str, bool]
) -> Summary:
    """Explore a service with the bug's settings or with the healthy ones."""
    runs = ClusterRuns(kafka)

    def run(step: Step) -> Outcome:
        runs.begin(step.rules)
        try:
            planted.run(kafka, **settings)
        except Exception as error:  # noqa: BLE001 - any is a finding
            return runs.end(type(error).__name__, error=error)
        return runs.end(None)

    first = run(Step([], "run", 0, plan.seed))
    assert not first.kinds, first.report
    seen: Seen = runs.seen()
    profiles = planted.profiles or used_profiles(seen)
    return drive(search(plan, disturbances_of(profiles), seen), run)
