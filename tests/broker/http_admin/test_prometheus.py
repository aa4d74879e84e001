from functools import partial

from prometheus_client.parser import text_string_to_metric_families

from broker.cluster.controller_queue import ControllerEvent
from broker.http_admin.prometheus import PART_ROWS, prometheus_text
from quotas.entities import make_entity
from tests.broker.cluster_builder import make_cluster
from tests.protocol.counting_turn import pauses_of


def test_measurements_are_prometheus_text() -> None:
    quotas = make_cluster(
        2,
        **{
            "client.quotas": 'user=a"b,producer_byte_rate=1000,controller_mutation_rate=1;'
            "ip=<default>,connection_creation_rate=1"
        },
    ).quotas
    quotas.brokers[1].produce.record('a"b', "c", 20_000, 0)
    quotas.brokers[2].produce.record('a"b', "c", 10_000, 0)
    quotas.brokers[1].connections.record("127.0.0.1", 0)
    quotas.controller_mutation.charge('a"b', "c", 20, 0)
    families = {
        family.name: family
        for family in text_string_to_metric_families(prometheus_text(quotas.metrics, 0))
    }

    produced = families["kafka_server_produce_byte_rate"]
    user = {"user": "a%22b", "client_id": ""}
    assert produced.type == "gauge"
    assert [(sample.labels, sample.value) for sample in produced.samples] == [
        ({**user, "broker_id": "1"}, 2000),
        ({**user, "broker_id": "2"}, 1000),
    ]
    (tokens,) = families["kafka_server_controller_mutation_tokens"].samples
    assert (tokens.labels, tokens.value) == (user, -9)
    (accepted,) = families["kafka_server_socket_server_metrics_connection_accept_rate"].samples
    assert (accepted.labels, accepted.value) == ({"ip": "127.0.0.1", "broker_id": "1"}, 0.1)


def test_many_measurements_are_one_family_and_are_encoded_with_pauses() -> None:
    quotas = make_cluster(1).quotas
    quotas.clients.alter(make_entity([("client-id", None)]), [("producer_byte_rate", 1e6)])
    produce = quotas.brokers[1].produce
    count = 3 * PART_ROWS
    for number in range(count):
        produce.record("u", f"c{number}", 1, 0)
    text = prometheus_text(quotas.metrics, 0)
    rates = [line for line in text.splitlines() if "_byte_rate" in line]
    assert [line.split()[0] for line in rates if line.startswith("#")] == ["#", "#"]
    assert len(rates) == 2 + count
    assert pauses_of(lambda: prometheus_text(quotas.metrics, 0)) >= count + 3


def test_metrics_of_the_controller_queue_have_kafkas_domain() -> None:
    cluster = make_cluster(1, **{"controller.mutation.time.us": "1000"})
    for mutations in (5, 0):
        event = ControllerEvent("event", lambda _now_ms: None, partial(int, mutations))
        cluster.controller_queue.submit(event, 0)
    text = prometheus_text(cluster.quotas.metrics, 0)
    assert "kafka_controller_controller_event_manager_event_queue_size 2.0" in text

    cluster.timers.run_due(5)
    text = prometheus_text(cluster.quotas.metrics, 5)
    name = "kafka_controller_controller_event_manager_event_queue"
    assert f'{name}_time_ms{{quantile="1.0"}} 5.0' in text
    assert f'{name}_processing_time_ms{{quantile="0.5"}} 0.0' in text
