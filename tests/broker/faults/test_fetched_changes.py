"""One response to Fetch has other records, and the log stays right."""

from base64 import b64encode

import pytest

from broker.faults.rule import fault_rule
from protocol import messages
from tests.batches import CODECS
from tests.broker.connection_driver import request_frame
from tests.broker.faults.faulty_clients import Clients
from tests.broker.faults.record_faults import (
    clients_with,
    fault_of,
    findings,
    records_of,
    send,
    stored,
)
from tests.broker.faults.requests import TOPIC

SCHEMA_VALUE = b"\0\0\0\0\x07x"


def fetched_records(clients: Clients, version: int) -> bytes:
    """Fetch partition 0 from its start; return the records of the response."""
    topic_class = messages.FetchRequest.FetchTopic
    part_class = topic_class.FetchPartition
    named = {"topic": TOPIC} if version < 13 else {"topic_id": clients.topic.topic_id}
    part = part_class(version=version, partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = messages.FetchRequest(
        version=version,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=[topic_class(version=version, partitions=[part], **named)],
    )
    clients.written[1] = b""
    clients.send(request_frame(request, version, 9), 1)
    (response,) = clients.responses(1)
    (topic,) = messages.FetchResponse.decode(response[5:], version=version).responses
    (result,) = topic.partitions
    assert result.error_code == 0
    return bytes(result.records or b"")


def fetched(clients: Clients, version: int = 12) -> list[tuple[int, bytes | None]]:
    """Return offset and value of each record of such a response."""
    batches, rest = [], fetched_records(clients, version)
    while rest:
        size = 12 + int.from_bytes(rest[8:12], "big")
        batches.append(rest[:size])
        rest = rest[size:]
    return [(record.offset, record.value) for record in records_of(batches)]


@pytest.mark.parametrize("version", [12, 13, 17])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("duplicate_batch", [(0, b"a"), (1, SCHEMA_VALUE), (0, b"a"), (1, SCHEMA_VALUE)]),
        ("drop_record", [(1, SCHEMA_VALUE)]),
        ("reverse_records", [(0, SCHEMA_VALUE), (1, b"a")]),
        ("replace_schema_id", [(0, b"a"), (1, b"\0\x7f\xff\xff\xffx")]),
    ],
)
def test_one_response_has_the_change(
    version: int, codec: str, change: str, expected: list[tuple[int, bytes]]
) -> None:
    options = {"record_index": 0} if change == "drop_record" else {}
    clients = clients_with(api="Fetch", topic=TOPIC, change_records=change, times=1, **options)
    send(clients, b"a", SCHEMA_VALUE, codec=codec)
    right = [(record.offset, record.value) for record in stored(clients)]
    assert fetched(clients, version) == expected
    assert "change_records" in fault_of(clients)
    assert fetched(clients, version) == right
    assert findings(clients) == []


def test_the_first_batch_that_can_be_changed_is() -> None:
    clients = clients_with(api="Fetch", change_records="reverse_records", partition=0)
    send(clients, b"a")
    send(clients, b"b", b"c", sequence=1)
    assert fetched(clients) == [(0, b"a"), (1, b"c"), (2, b"b")]


def test_a_response_without_such_records_does_not_count() -> None:
    clients = clients_with(api="Fetch", change_records="reverse_records", times=1)
    assert fetched(clients) == []
    send(clients, b"a")
    assert fetched(clients) == [(0, b"a")]
    assert "nothing was done: no batch can be changed" in fault_of(clients)
    send(clients, b"b", b"c", sequence=1)
    assert fetched(clients) == [(0, b"a"), (1, b"c"), (2, b"b")]
    assert fetched(clients) == [(0, b"a"), (1, b"b"), (2, b"c")]


def test_a_rule_for_another_partition_changes_nothing() -> None:
    clients = clients_with(api="Fetch", change_records="reverse_records", partition=1)
    clients.dispatcher.faults.add(fault_rule(api="Fetch", delay_ms=0), 0)
    send(clients, b"a", b"b")
    assert fetched(clients) == [(0, b"a"), (1, b"b")]


def test_records_of_a_rule_that_are_no_batch_are_left_alone() -> None:
    no_batch = bytes(8) + (-12).to_bytes(4, "big", signed=True) + bytes(60)
    records = {"base64": b64encode(no_batch).decode()}
    patch = {"responses": {"partitions": {"records": records}}}
    clients = clients_with(api="Fetch", response=patch, change_records="drop_record")
    send(clients, b"a")
    assert fetched_records(clients, 12) == no_batch
