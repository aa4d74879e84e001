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
    return [each.name for each in threading.enumerate() if each.name == "mock-kafka"]


def test_it_serves_from_a_thread_and_leaves_none_behind() -> None:
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


def test_two_of_them_do_not_meet() -> None:
    with MockKafka(in_process=True) as one, MockKafka(in_process=True) as other:
        one.create_topic("orders")
        assert other.topics() == []


def test_what_stops_the_start_is_said() -> None:
    with pytest.raises(StartError, match=r"num\.partitions"):
        MockKafka(config={"num.partition": 1}, in_process=True).start()
    with MockKafka(in_process=True) as kafka:
        port = int(kafka.bootstrap_servers.rpartition(":")[2])
        with pytest.raises(StartError, match=f"cannot listen on 127.0.0.1:{port}"):
            MockKafka(port=port, in_process=True).start()
    assert threads() == []


def test_somebody_elses_broker_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = ModuleType("broker")
    other.__file__ = str(tmp_path / "broker.py")
    monkeypatch.setitem(__import__("sys").modules, "broker", other)
    with pytest.raises(StartError, match=r"broker\.py, not mock-kafka's: leave in_process"):
        MockKafka(in_process=True).start()


def test_a_hook_sees_requests_and_decides_them() -> None:
    seen: list[Request] = []

    def hook(request: Request) -> dict[str, Any] | None:
        seen.append(request)
        sends = [each for each in seen if each.api == "Produce"]
        return {"error": "NOT_ENOUGH_REPLICAS"} if sends == [request] else None

    with MockKafka(in_process=True) as kafka:
        kafka.hook(hook)
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, client_id="me")
        assert producer.send("orders", b"1").get(30).offset == 0
        producer.close()
        refused, stored = kafka.requests(api="Produce")
        assert (refused.errors, stored.errors) == (("NOT_ENOUGH_REPLICAS",), ())
        sends = [each for each in seen if each.api == "Produce"]
        assert [(each.client_id, each.topics) for each in sends] == [("me", ("orders",))] * 2
        kafka.hook(None)
        count = len(seen)
        kafka.requests()
        assert len(seen) == count
    with MockKafka() as other, pytest.raises(RuntimeError, match="in_process=True"):
        other.hook(hook)
