"""The method `audit` and the text of its report."""

import asyncio
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from mock_kafka import AuditError, AuditFinding, ControlError, MockKafka, NotCovered
from mock_kafka.audit import ON_PURPOSE, AuditReport, audit_report_of

FINDING = {
    "kind": "not_stored",
    "topic": "orders",
    "partition": 2,
    "detail": "the log has no batch at offset 17",
    "base_offset": 17,
    "records_count": 3,
    "producer_id": 5,
    "producer_epoch": 0,
    "base_sequence": 12,
    "client_id": "till",
    "connection": 4,
    "time_ms": 1000,
    "group": None,
    "of_a_newer_version": 1,
}
PLAIN: dict[str, Any] = {
    "finding_count": 1,
    "findings": [FINDING],
    "covered": 9,
    "removed": 2,
    "not_covered": 3,
    "not_covered_partitions": [
        {
            "topic": "orders",
            "topic_id": "00000000-0000-0000-0000-000000000001",
            "partition": 2,
            "count": 3,
            "base_offset_min": 0,
            "base_offset_max": 7,
            "time_ms_max": 900,
        }
    ],
    "excluded": [{"rule_id": 6, "count": 4}],
}
REPORT = """\
audit: 1 findings; acknowledgements: 9 covered, 2 removed from the log since, 3 not covered
  not_stored  orders-2 offset 17  producer id 5 epoch 0 sequence 12 (3 records)  \
till on connection 4 at 1000 ms  the log has no batch at offset 17
not covered, because audit.acknowledgements.max was exceeded:
  3 of orders-2, offsets 0 to 7
excluded: 4 responses that fault rule #6 falsified
"""


def send(kafka: MockKafka, *values: bytes) -> None:
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, client_id="till")
    for value in values:
        producer.send("orders", value).get(30)
    producer.close()


def test_the_text_of_a_report_has_every_finding_and_count() -> None:
    report = audit_report_of(PLAIN)
    assert f"{report}\n" == REPORT
    assert report.excluded == {6: 4}
    with pytest.raises(FrozenInstanceError):
        report.covered = 0  # type: ignore[misc]


def test_a_long_report_is_cut_and_says_how_many_lines_are_missing() -> None:
    report = audit_report_of(PLAIN | {"findings": [FINDING] * 25, "finding_count": 1_200})
    assert str(report).splitlines()[21] == "  and 1180 more"


def test_findings_without_producer_topic_or_client_have_a_text() -> None:
    finding = AuditFinding("offset_beyond_log_end", "orders", 0, "group 'g' ...", 9, group="g")
    assert str(finding) == "offset_beyond_log_end  orders-0 offset 9  group 'g' ..."
    assert str(NotCovered(None, None, None, 5, 0, 4, 9)) == "5 of further partitions"


def test_findings_raise_an_assertion_error_with_the_report() -> None:
    with pytest.raises(AuditError, match="no batch at offset 17") as caught:
        audit_report_of(PLAIN).raise_on_findings()
    assert isinstance(caught.value, AssertionError)
    audit_report_of(PLAIN | {"findings": [], "finding_count": 0}).raise_on_findings()


@pytest.mark.interop
@pytest.mark.parametrize("in_process", [False, True])
def test_audit_works_in_synchronous_and_asynchronous_code(in_process: bool) -> None:
    with MockKafka(audit=True, in_process=in_process) as kafka:
        rule = kafka.respond(api="Produce", response={"throttle_time_ms": 0}, times=1)
        send(kafka, b"1", b"2")
        report = kafka.audit()
        report.raise_on_findings()
        assert (report.covered, report.excluded) == (1, {rule.id: 1})
        assert asyncio.run(_audit(kafka)) == report

        kafka.reset()
        assert kafka.audit() == AuditReport(0, (), 0, 0, 0, (), {})


async def _audit(kafka: MockKafka) -> AuditReport:
    return await kafka.aio.audit()


@pytest.mark.interop
def test_audit_finds_records_that_a_log_has_lost() -> None:
    with MockKafka(audit=True, in_process=True) as kafka:
        send(kafka, b"1", b"2")
        process: Any = kafka._process
        log = process._server.cluster.topics.get("orders").partitions[0].log
        log._batches.pop()
        (finding,) = kafka.audit().findings
        assert (finding.kind, finding.topic, finding.base_offset) == ("not_stored", "orders", 1)
        assert finding.client_id == "till"


@pytest.mark.interop
def test_audit_finds_a_committed_offset_beyond_the_log_end() -> None:
    with MockKafka(audit=True) as kafka:
        send(kafka, b"1")
        consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, group_id="billing")
        partition = TopicPartition("orders", 0)
        consumer.assign([partition])
        consumer.commit({partition: OffsetAndMetadata(9, "", -1)})
        consumer.close(autocommit=False)
        (finding,) = kafka.audit().findings
        assert (finding.kind, finding.group, finding.base_offset) == (
            "offset_beyond_log_end",
            "billing",
            9,
        )


@pytest.mark.slow
def test_audit_of_a_cluster_without_recording_is_an_error_that_says_how_to_enable_it() -> None:
    with MockKafka() as kafka, pytest.raises(ControlError, match=r"MockKafka\(audit=True\)"):
        kafka.audit()


def test_findings_of_expected_kinds_raise_nothing() -> None:
    finding = AuditFinding("lost_by_election", "orders", 0, "gone")
    report = AuditReport(1, (finding,), 1, 0, 0, (), {})
    report.raise_on_findings(except_kinds=ON_PURPOSE)
    with pytest.raises(AuditError, match="lost_by_election  orders-0"):
        report.raise_on_findings(except_kinds={"lost_by_truncation"})
    beyond_the_first = replace(report, finding_count=2)
    with pytest.raises(AuditError):
        beyond_the_first.raise_on_findings(except_kinds=ON_PURPOSE)
