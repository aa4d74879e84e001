from typing import Any

import pytest

from mock_kafka import MockKafka
from tests.audited_clusters import AuditedClusters
from tests.batches import make_batch
from tests.interop.raw_client import RawClient
from tests.produce_requests import produce_request

pytestmark = pytest.mark.slow


def lose_record(kafka: MockKafka) -> None:
    """Produce a record with acks=all, and remove it from the log."""
    kafka.create_topic("t")
    with RawClient(kafka.bootstrap_servers) as client:
        client.call(produce_request([(0, make_batch(b"1"))], version=9), 9)
    process: Any = kafka._process
    log = process._server.cluster.topics.get("t").partitions[0].log
    log._batches.pop()


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_finding_in_any_cluster_is_returned_once(is_stopped: bool) -> None:
    with AuditedClusters() as clusters, MockKafka(in_process=True) as kafka:
        lose_record(kafka)
        if is_stopped:
            kafka.stop()
        assert [finding.kind for finding in clusters.new_findings()] == ["not_stored"]
        assert clusters.new_findings() == []


def test_a_cluster_that_a_test_audits_itself_is_left_to_it() -> None:
    with AuditedClusters() as clusters, MockKafka(in_process=True, audit=True) as kafka:
        lose_record(kafka)
        assert clusters.new_findings() == []
        assert kafka.audit().finding_count == 1


def test_a_restarted_cluster_is_audited_again() -> None:
    with AuditedClusters() as clusters, MockKafka(in_process=True) as kafka:
        kafka.stop()
        assert kafka.config == {}
        kafka.start()
        lose_record(kafka)
        assert len(clusters.new_findings()) == 1


@pytest.mark.interop
def test_every_interop_test_audits_its_clusters(request: pytest.FixtureRequest) -> None:
    assert request.node.fixturenames[0] == "audit_after_test"
    with MockKafka(in_process=True) as kafka:
        assert kafka.audit().finding_count == 0
