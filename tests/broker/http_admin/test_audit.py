"""The audit over HTTP."""

import pytest

from broker.faults.rule import fault_rule
from broker.http_admin.audit import FINDINGS_MAX, get_audit
from broker.http_admin.operation import Problem
from broker.http_admin.state import Admin
from broker.http_admin.topics import NewTopicBody, create_topic
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS
from tests.broker.connection_driver import Client, request_frame
from tests.broker.http_admin.admin_server import make_admin, serving_site
from tests.broker.http_admin.kafka_clients import commit
from tests.produce_requests import produce_request

AUDITED = {"audit.enable": "true", "audit.acknowledgements.max": "2"}


def produce(admin: Admin, count: int) -> None:
    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    frame = request_frame(produce_request([(0, make_batch(b"x"))], version=9, topic="orders"), 9, 1)
    for _ in range(count):
        client.send(frame)
    admin.acknowledgements.written(1)


def test_an_audit_without_a_recording_is_refused_with_what_to_do() -> None:
    with pytest.raises(Problem, match=r"start the cluster with audit\.enable=true") as caught:
        get_audit(make_admin(1))
    assert caught.value.status == 409


def test_covered_and_not_covered_acknowledgements_are_counted() -> None:
    admin = make_admin(1, **AUDITED)
    topic = create_topic(admin, NewTopicBody("orders", 1))
    produce(admin, 5)
    admin.faults.add(fault_rule(api="Produce", corrupt_bytes=1), NOW_MS)
    produce(admin, 3)

    view = get_audit(admin)
    assert (view.finding_count, view.findings) == (0, [])
    assert (view.covered, view.removed, view.not_covered) == (2, 0, 3)
    (not_covered,) = view.not_covered_partitions
    assert (not_covered.topic, not_covered.topic_id, not_covered.partition) == (
        "orders",
        topic.topic_id,
        0,
    )
    assert (not_covered.count, not_covered.base_offset_min, not_covered.base_offset_max) == (
        3,
        0,
        2,
    )
    (excluded,) = view.excluded
    assert (excluded.rule_id, excluded.count) == (1, 3)


def test_all_findings_are_counted_but_only_the_first_are_listed() -> None:
    admin = make_admin(1, **AUDITED)
    create_topic(admin, NewTopicBody("orders", 1))
    for number in range(FINDINGS_MAX + 5):
        commit(admin, f"group-{number}", "orders", 1)
    view = get_audit(admin)
    assert (view.finding_count, len(view.findings)) == (FINDINGS_MAX + 5, FINDINGS_MAX)


async def test_a_finding_is_a_json_object_with_the_fields_of_the_batch() -> None:
    async with serving_site(broker_count=1, overrides=AUDITED) as site:
        create_topic(site.admin, NewTopicBody("orders", 1))
        produce(site.admin, 1)
        log = site.admin.topic("orders").partitions[0].log
        log._batches[0] = make_batch(b"other")
        status, document = await site.ask("GET", "/v1/audit")
        assert status == 200
        assert document["findings"] == [
            {
                "kind": "not_stored",
                "topic": "orders",
                "partition": 0,
                "detail": "the log has another batch at offset 0: 1 records",
                "base_offset": 0,
                "records_count": 1,
                "producer_id": -1,
                "producer_epoch": -1,
                "base_sequence": -1,
                "client_id": "test",
                "connection": 1,
                "time_ms": NOW_MS,
                "group": None,
            }
        ]
