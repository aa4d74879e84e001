"""The requests in the report of a failing test."""

import pytest
from kafka import KafkaProducer

from mock_kafka import MockKafka, pytest_report
from mock_kafka.pytest_report import last_requests, near_misses
from tests.broker.http_admin.kafka_clients import connect, leave


async def test_long_messages_are_cut_unless_vv_is_given(
    kafka: MockKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pytest_report, "_CHARACTERS_MAX", 40)
    _, writer = await connect(int(kafka.bootstrap_servers_list[0].rpartition(":")[2]))
    cut = last_requests(kafka, 10, verbosity=0)
    uncut = last_requests(kafka, 10, verbosity=2)
    await leave(writer)
    assert "Metadata v" in cut.splitlines()[0]
    assert "characters; -vv shows all)" in cut
    assert "cluster_id" not in cut
    assert "cluster_id" in uncut


def test_without_requests_the_report_says_so(kafka: MockKafka) -> None:
    assert last_requests(kafka, 10, verbosity=0) == "no requests"
    assert last_requests(MockKafka(), 10, verbosity=0).startswith("not available: ")


def test_near_misses_are_those_of_silent_rules_and_of_filters_that_fitted_none(
    kafka: MockKafka,
) -> None:
    assert near_misses(kafka) == ""
    kafka.fail(api="Produce", topic="order", error="NOT_ENOUGH_REPLICAS")
    kafka.delay(api="Metadata", ms=0, skip=100)
    fired = kafka.delay(api="ApiVersions", ms=0)
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, client_id="till")
    producer.send("orders", b"1").get(30)
    producer.close()
    assert fired.count
    assert kafka.requests(api="Produce", client_id="tills") == []
    kafka.requests(kind="connection")
    kafka.requests(api="Produce")
    lines = near_misses(kafka).splitlines()
    assert lines[0] == "<Fault 1: api='Produce', topic='order', error='NOT_ENOUGH_REPLICAS'>"
    assert lines[1].endswith("Produce v9 of 'till': topic was 'orders'")
    assert lines[2].startswith("<Fault 2: api='Metadata', skip=100")
    assert "and skip is 100" in lines[3]
    assert lines[-2] == "requests(api='Produce', client_id='tills')"
    assert lines[-1].endswith("Produce v9 of 'till': client_id was 'till'")
    kafka.reset()
    assert near_misses(kafka) == ""
    kafka.fail(api="Produce", error="NOT_ENOUGH_REPLICAS")
    assert near_misses(kafka).splitlines()[1] == "    no request came near"
    assert near_misses(MockKafka()).startswith("not available: ")
