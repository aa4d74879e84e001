"""`KafkaProxy`: a process in front of a cluster, with clients that go through it."""

from collections.abc import Iterator

import pytest
from kafka import KafkaProducer

from mock_kafka import ControlError, KafkaProxy, MockKafka, StartError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockKafka]:
    with MockKafka(brokers=2) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def started(cluster: MockKafka) -> Iterator[KafkaProxy]:
    with KafkaProxy(to=cluster.bootstrap_servers) as kafka:
        yield kafka


@pytest.fixture
def proxy(started: KafkaProxy) -> KafkaProxy:
    started.reset()
    return started


def test_faults_and_requests_are_those_of_the_clients_of_the_proxy(
    cluster: MockKafka, proxy: KafkaProxy
) -> None:
    proxy.drop_response(api="Produce", times=1)
    refused = proxy.fail(api="Produce", error="NOT_ENOUGH_REPLICAS", times=2)
    producer = KafkaProducer(bootstrap_servers=proxy.bootstrap_servers)
    producer.send("orders", b"one coffee").get(timeout=30)
    producer.close()
    refused.wait(2)
    assert len(proxy.requests(api="Produce")) == 4
    assert len(cluster.requests(api="Produce")) == 2
    assert [record.value for record in cluster.records("orders")] == [b"one coffee"]
    assert proxy.wait_for(api="Produce", outcome="responded").broker in {1, 2}


def test_a_reset_removes_rules_and_past_requests(proxy: KafkaProxy) -> None:
    proxy.fail(api="Produce", error="NOT_ENOUGH_REPLICAS")
    proxy.reset()
    assert proxy.faults() == []
    assert proxy.requests() == []


def test_a_broker_can_be_made_unreachable(proxy: KafkaProxy) -> None:
    proxy.stop_broker(2)
    brokers = proxy.control.ask("GET", "/v1/brokers")
    assert {b["node_id"]: b["availability"] for b in brokers} == {-1: "up", 1: "up", 2: "down"}
    proxy.isolate_broker(1)
    proxy.start_broker(1)
    proxy.start_broker(2)
    assert {b["availability"] for b in proxy.control.ask("GET", "/v1/brokers")} == {"up"}


def test_what_only_a_cluster_has_is_refused_with_the_reason(proxy: KafkaProxy) -> None:
    with pytest.raises(ControlError, match="this is a proxy"):
        proxy.control.ask("GET", "/v1/topics")
    with pytest.raises(ControlError, match="stale_metadata: this is a proxy"):
        proxy.add_fault(api="Metadata", stale_metadata=True)


def test_a_proxy_that_is_not_running_says_so(cluster: MockKafka) -> None:
    stopped = KafkaProxy(to=cluster.bootstrap_servers)
    with pytest.raises(RuntimeError, match="the proxy is not running"):
        _ = stopped.bootstrap_servers
    assert "not started" in repr(stopped)
    stopped.stop()
    assert stopped.log_lines() == []


def test_the_error_of_the_start_is_in_the_exception() -> None:
    with pytest.raises(StartError, match=r"no\.such\.key"):
        KafkaProxy(to="127.0.0.1:1", config={"no.such.key": 1}).start()


def test_options_become_arguments(cluster: MockKafka) -> None:
    rules = [{"api": "Produce", "delay_ms": 1}]
    with KafkaProxy(
        to=cluster.bootstrap_servers,
        config={"connections.max.idle.ms": 5000, "broker.admin.token": "secret"},
        to_config={"security.protocol": "PLAINTEXT"},
        faults=rules,
        tls=True,
    ) as proxy:
        assert [fault.rule for fault in proxy.faults()] == rules
        assert proxy.ca_path.endswith(".pem")
        assert proxy.admin_url.startswith("http://")
        assert proxy.pid > 0
        with pytest.raises(RuntimeError, match="was started already"):
            proxy.start()
    assert isinstance(proxy.log_lines(), list)
