"""A run begins with an empty cluster and its rules, and ends with what went wrong."""

from unittest.mock import patch

from kafka import KafkaConsumer, TopicPartition
from kafka.net.connection import KafkaConnection
from kafka.structs import OffsetAndMetadata

from mock_kafka import MockKafka
from mock_kafka.exploration.cluster_runs import DURING_THROTTLE, ClusterRuns
from mock_kafka.exploration.throttles import KIND
from tests.interop.planted_services import producer_of

LIE = {"api": "Produce", "throttle_time_ms": 2000, "mute": False, "times": 1}


def send(kafka: MockKafka, count: int = 1) -> None:
    with producer_of(kafka, linger_ms=100) as producer:
        for _ in range(count):
            producer.send("orders", b"1").get(timeout=30)


def test_a_run_begins_with_an_empty_cluster_on_new_ports_and_its_rules() -> None:
    prepared: list[str] = []
    with MockKafka(audit=True) as kafka:
        runs = ClusterRuns(kafka, lambda: prepared.append(kafka.bootstrap_servers))
        kafka.create_topic("left")
        addresses = kafka.bootstrap_servers
        runs.begin([LIE])
        assert prepared == [kafka.bootstrap_servers] != [addresses]
        assert kafka.topics() == []
        assert [fault.rule for fault in kafka.faults()] == [LIE]
        runs.begin([])
        assert kafka.faults() == []


def test_a_run_ends_with_its_kinds_and_its_requests() -> None:
    with MockKafka(audit=True) as kafka:
        runs = ClusterRuns(kafka)
        runs.begin([])
        send(kafka)
        passed = runs.end(None, has_evidence=True)
        assert (passed.kinds, passed.evidence) == (frozenset(), None)
        assert passed.sequences["Produce of service"] == ("orders",)
        assert runs.seen().requests["Produce"] == 1
        failed = runs.end("exit status 3", output=b"no", has_evidence=True)
        assert failed.kinds == {"exit status 3"}
        assert failed.evidence is not None
        assert failed.evidence.output == b"no"
        assert failed.evidence.pcap[:4] in {b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4"}
        assert [line.get("api") for line in failed.evidence.journal].count("Produce") == 1


def test_findings_of_the_audit_count_unless_they_are_left_out() -> None:
    kind = "offset_beyond_log_end"
    with MockKafka(audit=True) as kafka:
        for except_kinds, kinds in (((), {f"audit: {kind}"}), ((kind,), set())):
            runs = ClusterRuns(kafka, except_kinds=except_kinds)
            runs.begin([])
            kafka.create_topic("orders")
            consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, group_id="billing")
            consumer.commit({TopicPartition("orders", 0): OffsetAndMetadata(9, "", -1)})
            consumer.close(autocommit=False)
            assert runs.end(None).kinds == kinds
        kafka.reset()


def test_requests_during_a_throttle_count_unless_they_are_left_out() -> None:
    with MockKafka(audit=True) as kafka:
        for except_kinds, kinds in (((), {KIND}), ((DURING_THROTTLE,), set())):
            runs = ClusterRuns(kafka, except_kinds=except_kinds)
            runs.begin([LIE])
            with patch.object(KafkaConnection, "_maybe_throttle", lambda _self, _response: None):
                send(kafka, count=3)
            assert runs.end(None).kinds == kinds
