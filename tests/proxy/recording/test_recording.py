"""A recording by itself, and one that a proxy feeds."""

from typing import Any

import msgspec
import pytest

from broker.http_admin.asked_requests import ENTRIES_MAX
from broker.http_admin.recorded_parts import AskedRequest
from client.errors import UnreachableError
from mock_kafka import MockKafka
from protocol import messages
from protocol.api_keys import ApiKey
from proxy.recording.recording import Recording, RecordingOptions, summary_of
from proxy.recording.scrubbing import NO_RECORDS, UNSCRUBBED, Drop, RecordScrubber, Scrubbing
from tests.batches import make_batch
from tests.proxy.recording.fetched import (
    fetch_request,
    fetch_response,
    produced,
    transactional,
    undecodable,
)


def recording(
    kafka: MockKafka, options: RecordingOptions, **others: Any
) -> tuple[Recording, list[str]]:
    notes: list[str] = []
    return Recording(kafka.bootstrap_servers, {}, options, note=notes.append, **others), notes


def json_of(world: Any) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(world)
    return found


def test_a_world_that_is_loaded_is_recorded_alike(filled: MockKafka) -> None:
    options = RecordingOptions(UNSCRUBBED)
    progress: list[tuple[int, int, int]] = []
    first, notes = recording(filled, options, progress=lambda *counts: progress.append(counts))
    world = first.document(first.read())
    assert notes == []
    assert progress[-1][:2] == (4, 4)
    assert summary_of(world) == "3 topics, 14 records, 1 committed offsets"
    with MockKafka(
        in_process=True,
        snapshot=json_of(world),
        acls=True,
        config={"super.users": "User:ANONYMOUS"},
    ) as kafka:
        second, _ = recording(kafka, options)
        assert json_of(second.document(second.read())) == json_of(world)
        kafka.reset()
        assert json_of(second.document(second.read())) == json_of(world)


def test_without_an_authorizer_a_world_loads_without_its_access_control_lists(
    filled: MockKafka,
) -> None:
    found, _ = recording(filled, RecordingOptions(NO_RECORDS))
    world = found.document(found.read())
    assert world.acls
    assert [part.records for topic in world.topics for part in topic.partitions] == [[]] * 4
    with MockKafka(in_process=True, snapshot=json_of(world)) as kafka:
        assert [topic.name for topic in kafka.topics()] == ["orders", "payments", "states"]
        assert kafka.committed("billing") == {("orders", 1): 4}


def test_a_proxy_feeds_a_recording(filled: MockKafka) -> None:
    options = RecordingOptions(UNSCRUBBED, reads_logs=False)
    found, notes = recording(filled, options)
    found.recorder.see_produce(*produced(make_batch(b"new"), 7, topic="states"))
    request = messages.HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    found.recorder.see_request(ApiKey.HEARTBEAT, 4, request, "User:ann")
    world = found.document(found.read())
    states = next(topic for topic in world.topics if topic.name == "states")
    assert [(record.offset, record.value) for record in states.partitions[0].records] == [
        (7, "new")
    ]
    assert world.requests == [AskedRequest("Heartbeat", 4, "User:ann", groups=["g"])]
    assert summary_of(world).endswith("1 records, 1 committed offsets, 1 kinds of requests")
    assert notes == []


def test_what_is_left_out_is_noted(filled: MockKafka) -> None:
    rules = Scrubbing(
        [("o*", RecordScrubber(Drop(), Drop(), [])), ("x", RecordScrubber(Drop(), Drop(), []))]
    )
    found, notes = recording(filled, RecordingOptions(rules, bytes_max=100))
    found.document(found.read())
    assert notes == [
        "no rule is for these topics, so their records are left out: payments, states",
        "4 older records are left out because of the bound of bytes",
    ]
    seen, notes = recording(filled, RecordingOptions(UNSCRUBBED, reads_logs=False))
    seen.recorder.see_fetch(
        fetch_request(), fetch_response(transactional(0, b"a"), undecodable(3), topic="orders")
    )
    for number in range(ENTRIES_MAX + 1):
        seen.recorder.requests.see(AskedRequest("Fetch", 1, groups=[str(number)]))
    seen.document(seen.read())
    assert notes == [
        "1 records are left out: it is not known if they were committed",
        "1 batches cannot be decoded and are left out; the first is orders-0 at offset 3",
        "1 requests are left out: there are too many kinds",
    ]


def test_a_cluster_that_is_not_there_is_an_error() -> None:
    found = Recording("127.0.0.1:1", {}, RecordingOptions(UNSCRUBBED), note=pytest.fail)
    with pytest.raises(UnreachableError):
        found.read()
