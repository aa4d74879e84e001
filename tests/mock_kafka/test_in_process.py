"""The broker in a thread of this process."""

import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from kafka import KafkaProducer

from mock_kafka import MockKafka, Request, StartError
from tests.mock_kafka.sockets import can_connect


def threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name == "mock-kafka"]


def test_the_cluster_runs_in_a_thread_that_ends_with_stop() -> None:
    config = {"listeners": "PLAINTEXT://:0,SASL_PLAINTEXT://:0", "sasl.users": "alice:secret"}
    with MockKafka(brokers=2, config=config, in_process=True) as kafka:
        assert threads() == ["mock-kafka"]
        assert kafka.is_running
        assert all(map(can_connect, kafka.bootstrap_servers_list))
        assert can_connect(kafka.bootstrap_servers_of("SASL_PLAINTEXT").split(",")[0])
        with pytest.raises(KeyError):
            kafka.bootstrap_servers_of("SSL")
        assert kafka.create_topic("orders").name == "orders"
        kafka.reset()
        assert kafka.topics() == []
        address = kafka.bootstrap_servers_list[0]
    assert threads() == []
    assert not can_connect(address)


def test_two_clusters_in_one_process_are_independent() -> None:
    with MockKafka(in_process=True) as one, MockKafka(in_process=True) as other:
        one.create_topic("orders")
        assert other.topics() == []


def test_a_start_error_has_the_reason() -> None:
    with pytest.raises(StartError, match=r"num\.partitions"):
        MockKafka(config={"num.partition": 1}, in_process=True).start()
    with MockKafka(in_process=True) as kafka:
        port = int(kafka.bootstrap_servers.rpartition(":")[2])
        with pytest.raises(StartError, match=f"cannot listen on 127.0.0.1:{port}"):
            MockKafka(port=port, in_process=True).start()
    assert threads() == []


def test_another_package_named_broker_is_a_start_error_with_its_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = ModuleType("broker")
    other.__file__ = str(tmp_path / "broker.py")
    monkeypatch.setitem(__import__("sys").modules, "broker", other)
    with pytest.raises(StartError, match=r"broker\.py, not mock-kafka's: remove in_process"):
        MockKafka(in_process=True).start()


@pytest.mark.slow
def test_a_hook_sees_requests_and_decides_them() -> None:
    seen: list[Request] = []

    def hook(request: Request) -> dict[str, Any] | None:
        seen.append(request)
        sends = [request for request in seen if request.api == "Produce"]
        return {"error": "NOT_ENOUGH_REPLICAS"} if sends == [request] else None

    with MockKafka(in_process=True) as kafka:
        kafka.hook(hook)
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, client_id="me")
        assert producer.send("orders", b"1").get(30).offset == 0
        producer.close()
        refused, stored = kafka.requests(api="Produce")
        assert (refused.errors, stored.errors) == (("NOT_ENOUGH_REPLICAS",), ())
        sends = [request for request in seen if request.api == "Produce"]
        assert [(request.client_id, request.topics) for request in sends] == [
            ("me", ("orders",))
        ] * 2
        kafka.hook(None)
        count = len(seen)
        kafka.requests()
        assert len(seen) == count
    with MockKafka() as other, pytest.raises(RuntimeError, match="in_process=True"):
        other.hook(hook)
