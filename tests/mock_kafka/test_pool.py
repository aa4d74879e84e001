"""The pool resets clusters and lends them again."""

import os
import signal
import socket
from typing import Any

import pytest

from mock_kafka import MockKafka
from mock_kafka.pool import IDLE_MAX, ClusterPool


class FakeCluster:
    """The parts of MockKafka that the pool uses."""

    def __init__(self, **_settings: object) -> None:
        self.is_running = True
        self.resets: list[str] = []

    def reset(self, *, ports: str) -> None:
        self.resets.append(ports)

    def stop(self) -> None:
        self.is_running = False


def make_pool() -> ClusterPool:
    return ClusterPool(FakeCluster)  # type: ignore[arg-type]


def test_a_cluster_with_the_same_settings_is_reset_and_lent_again() -> None:
    pool = make_pool()
    first = pool.lend(brokers=1, config={"num.partitions": 3})
    second = pool.lend(brokers=1, config={"num.partitions": "3"})
    assert second is not first
    pool.take_back(first)
    assert pool.lend(brokers=2, config={"num.partitions": 3}) is not first
    assert pool.lend(brokers=1, config={}) is not first
    assert pool.lend(brokers=1, config={"num.partitions": "3"}) is first
    pool.take_back(first)
    secured: dict[str, Any] = {"tls": True, "users": {"alice": "secret"}}
    assert pool.lend(brokers=1, config={"num.partitions": "3"}, **secured) is not first
    assert pool.lend(brokers=1, config={"num.partitions": "3"}, ports="new") is first
    assert first.resets == ["same", "new"]  # type: ignore[attr-defined]


def test_a_stopped_cluster_is_not_lent_again() -> None:
    pool = make_pool()
    kafka = pool.lend(brokers=1, config={})
    kafka.stop()
    pool.take_back(kafka)
    assert pool.lend(brokers=1, config={}) is not kafka


def test_beyond_the_maximum_the_least_recently_used_cluster_is_stopped() -> None:
    pool = make_pool()
    lent = [pool.lend(brokers=count, config={}) for count in range(1, IDLE_MAX + 2)]
    for kafka in lent:
        pool.take_back(kafka)
    assert [kafka.is_running for kafka in lent] == [False] + [True] * IDLE_MAX
    pool.close()
    assert not any(kafka.is_running for kafka in lent)


@pytest.mark.slow
def test_reset_closes_connections_and_a_killed_cluster_is_replaced() -> None:
    pool = ClusterPool(lambda **settings: MockKafka(**settings).start())
    kafka = pool.lend(brokers=1, config={})
    host, _, port = kafka.bootstrap_servers.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as client:
        kafka.create_topic("orders")
        pool.take_back(kafka)
        again = pool.lend(brokers=1, config={})
        assert again is kafka
        assert client.recv(1) == b""
    assert again.topics() == []

    pool.take_back(again)
    os.kill(kafka.pid, signal.SIGKILL)
    replaced = pool.lend(brokers=1, config={})
    assert replaced is not kafka
    assert replaced.topics() == []
    pool.take_back(replaced)
    pool.close()


def test_an_invalid_configuration_raises_in_the_caller() -> None:
    pool = ClusterPool(lambda **settings: MockKafka(**settings).start())
    with pytest.raises(RuntimeError, match=r"num\.partitions"):
        pool.lend(brokers=1, config={"num.partition": 1})
