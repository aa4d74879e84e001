"""The requests in the report of a failing test."""

import pytest

from mock_kafka import MockKafka, pytest_report
from mock_kafka.pytest_report import last_requests
from tests.broker.http_admin.kafka_clients import connect, leave


async def test_long_messages_are_cut_unless_vv_is_given(
    kafka: MockKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pytest_report, "_CHARACTERS_MAX", 40)
    _, writer = await connect(int(kafka.bootstrap_servers_list[0].rpartition(":")[2]))
    cut = last_requests(kafka, 10, verbosity=0)
    uncut = last_requests(kafka, 10, verbosity=2)
    await leave(writer)
    assert "Metadata v" in cut.splitlines()[0]
    assert "characters; -vv shows all)" in cut
    assert "cluster_id" not in cut
    assert "cluster_id" in uncut


def test_without_requests_the_report_says_so(kafka: MockKafka) -> None:
    assert last_requests(kafka, 10, verbosity=0) == "no requests"
    assert last_requests(MockKafka(), 10, verbosity=0).startswith("not available: ")
