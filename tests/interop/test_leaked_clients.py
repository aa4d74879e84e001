"""A client that a test did not close does not reach the cluster of the next test."""

import confluent_kafka

from mock_kafka import MockKafka
from scenarios.clients.deadline import Deadline


def test_a_leaked_producer_gets_refused_connections_after_a_reset_to_new_ports() -> None:
    reasons: list[str] = []
    with MockKafka(brokers=2) as kafka:
        leaked = confluent_kafka.Producer(
            {
                **kafka.client_settings("confluent"),
                "transactional.id": "leaked",
                "error_cb": lambda error: reasons.append(error.str()),
                "reconnect.backoff.ms": 10,
            }
        )
        leaked.init_transactions(30)

        # A plain reset keeps the ports: the producer is back.
        kafka.reset()
        kafka.wait_for(api="ApiVersions", timeout_s=30)

        old = kafka.bootstrap_servers_list
        kafka.reset(ports="new")
        assert set(kafka.bootstrap_servers_list).isdisjoint(old)
        reasons.clear()
        deadline = Deadline()
        while not any("refused" in reason for reason in reasons):
            leaked.poll(0.01)
            assert deadline.holds("a refused connection")
        assert kafka.requests() == []

        producer = confluent_kafka.Producer(kafka.client_settings("confluent"))
        producer.produce("orders", b"1")
        assert producer.flush(30) == 0
        assert {request.client_id for request in kafka.requests()} == {"rdkafka"}
        assert len(kafka.records("orders")) == 1
        leaked.purge()
