"""A storm of connections: one for each event, slowed down by the broker's limit."""

import pytest

from mock_kafka import MockKafka
from tests.loadgen.runs import of_api, plan_of, run

STORM = "[{name: a, behaviour: connection-storm, clients: 20, rate: 100}]"


@pytest.mark.slow
def test_each_event_is_a_connection_and_a_request(servers: str) -> None:
    rows = run(plan_of(STORM), servers)
    opened, requests = of_api(rows, "ApiVersions"), of_api(rows, "Metadata")
    assert sorted(row["event_id"] for row in opened) == list(range(50))
    assert {(row["status"], row["error_code"]) for row in opened + requests} == {("responded", 0)}
    ready_us = {row["event_id"]: row["response_us"] for row in opened}
    assert all(row["sent_us"] >= ready_us[row["event_id"]] for row in requests)
    assert len(requests) == 50


@pytest.mark.slow
def test_connections_that_the_broker_refuses_have_no_response() -> None:
    with MockKafka() as kafka:
        kafka.quota(ip="127.0.0.1", connection_creation_rate=1)
        rows = run(plan_of(STORM), kafka.bootstrap_servers)
    opened = of_api(rows, "ApiVersions")
    refused = [row for row in opened if row["status"] != "responded"]
    # The broker closes them after the throttle time, which may be after the end.
    assert {row["status"] for row in refused} <= {"lost", "no_response"}
    assert len(refused) > len(opened) / 4
    accepted = {row["event_id"] for row in opened if row["status"] == "responded"}
    responded = [row for row in of_api(rows, "Metadata") if row["status"] == "responded"]
    assert {row["event_id"] for row in responded} == accepted
    assert accepted
