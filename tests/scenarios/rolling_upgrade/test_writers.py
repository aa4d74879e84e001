"""Each client writes numbers, hears of each, and ends on request."""

import threading

import pytest

from client import clock
from mock_kafka import MockKafka
from scenarios.maven import CannotRunError
from scenarios.rolling_upgrade.upgrade import make_writer
from scenarios.rolling_upgrade.writers import Java, Librdkafka, Ours, Writer, value_of

PATIENCE_MS = 30_000


def wait_for_records(writer: Writer, count: int) -> None:
    give_up_ms = clock.now_ms() + PATIENCE_MS
    while len(writer.acknowledged_ms) < count:
        assert clock.now_ms() < give_up_ms
        threading.Event().wait(0.01)


@pytest.mark.interop
@pytest.mark.parametrize("kind", [Ours, Librdkafka, Java], ids=lambda kind: kind.name)
def test_a_writer_has_an_outcome_of_every_record(kind: type[Writer]) -> None:
    with MockKafka(brokers=3) as kafka:
        try:
            writer = make_writer(kafka, kind)
        except CannotRunError as error:
            pytest.skip(str(error))
        writer.start()
        wait_for_records(writer, 30)
        writer.stop()

        assert sorted(writer.acknowledged_ms) == list(range(writer.sent))
        assert not writer.failed
        records = kafka.records(writer.topic)
        assert [record.value for record in records] == [value_of(n) for n in range(writer.sent)]
        requests = kafka.requests(api="Produce", client_id=writer.topic, has_messages=False)
        assert len(requests) == writer.sent


@pytest.mark.interop
def test_a_restart_of_our_producer_lifts_its_limit_once_the_broker_advertises_a_window() -> None:
    without_window = {"broker.api.versions": "4.4,InitProducerId=1"}
    config = {
        f"broker.{broker}.{key}": v for broker in (1, 2, 3) for key, v in without_window.items()
    }
    with MockKafka(brokers=3, config=config) as kafka:
        kafka.delay(ms=10, api="Produce")
        writer = make_writer(kafka, Ours)
        assert isinstance(writer, Ours)
        writer.start()
        wait_for_records(writer, 30)
        assert max(count for _, count in writer.in_flight) == 5
        for broker in (1, 2, 3):
            kafka.stop_broker(broker)
            kafka.start_broker(broker, config=dict.fromkeys(without_window))
        writer.restart()
        wait_for_records(writer, len(writer.acknowledged_ms) + 60)
        writer.stop()
        assert max(count for _, count in writer.in_flight) > 5
        assert not writer.failed
