"""Exactly the batches of completely written responses count as acknowledged."""

import asyncio
from typing import Any

import pytest

from broker.audit.comparison import audit_cluster
from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.faults.rule import FaultRule, fault_rule
from broker.request.acknowledgement import Acknowledgement
from protocol.records import read_header
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.connection_driver import Client, request_frame
from tests.broker.server.tcp_client import connect, read_frame, serving
from tests.produce_requests import produce_request

IDEMPOTENT = make_batch(b"a", b"b", producer_id=4, producer_epoch=0, base_sequence=0)


def audited_client(*rules: FaultRule, **overrides: str) -> Client:
    cluster = make_cluster(1, **{"audit.enable": "true"}, **overrides)
    cluster.create_topic("t", [(1,), (1,)], {})
    client = Client(cluster)
    for rule in rules:
        client.dispatcher.faults.add(rule, NOW_MS)
    return client


def frame(*partitions: int, version: int = 9, acks: int = -1, batch: bytes = IDEMPOTENT) -> bytes:
    request = produce_request(
        [(partition, batch) for partition in partitions or (0,)], version=version, acks=acks
    )
    return request_frame(request, version, 1)


def sent_by(client: Client, data: bytes, now_ms: int = NOW_MS) -> list[Acknowledgement]:
    """Return the acknowledgements after these frames and all due timers."""
    client.send(data)
    client.settle(now_ms)
    client.dispatcher.acknowledgements.written(1)
    return list(client.dispatcher.acknowledgements.sent)


def test_nothing_is_recorded_without_audit_enable() -> None:
    cluster = make_cluster(1)
    cluster.create_topic("t", [(1,)], {})
    assert sent_by(Client(cluster), frame()) == []


def test_an_append_and_its_duplicate_are_recorded_with_what_was_sent() -> None:
    client = audited_client(**{"producer.state.batches": "5"})
    cluster = client.cluster
    (append,) = sent_by(client, frame())
    header = read_header(IDEMPOTENT, 0)
    topic = cluster.topics.get("t")
    assert topic is not None
    assert append == Acknowledgement(
        topic.topic_id,
        "t",
        0,
        True,
        0,
        header.crc,
        header.max_timestamp,
        2,
        4,
        0,
        0,
        1,
        "test",
        NOW_MS,
    )
    _, duplicate = sent_by(client, frame())
    assert duplicate == append._replace(is_append=False)


def test_a_duplicate_whose_offset_is_forgotten_is_recorded_too() -> None:
    client = audited_client()
    later = make_batch(b"c", producer_id=4, producer_epoch=0, base_sequence=2)
    acknowledged = sent_by(client, frame() + frame(batch=later) + frame())
    assert [
        (acknowledgement.is_append, acknowledgement.base_offset) for acknowledgement in acknowledged
    ] == [
        (True, 0),
        (True, 2),
        (False, -1),
    ]


def test_acks_0_and_errors_acknowledge_nothing() -> None:
    client = audited_client()
    assert sent_by(client, frame(acks=0)) == []
    behind = make_batch(b"c", producer_id=4, producer_epoch=0, base_sequence=7)
    assert sent_by(client, frame(batch=behind)) == []
    assert sent_by(client, frame(5)) == []


def test_nothing_is_acknowledged_before_the_response_is_written() -> None:
    client = audited_client()
    acknowledgements = client.dispatcher.acknowledgements
    client.send(frame())
    assert len(acknowledgements) == 0
    acknowledgements.written(2)
    assert len(acknowledgements) == 0
    acknowledgements.forget(1)
    acknowledgements.written(1)
    assert len(acknowledgements) == 0


@pytest.mark.parametrize(
    "rule",
    [
        {"drop": "before_handling"},
        {"drop": "before_response"},
        {"drop": "within_response"},
        {"drop": "within_response", "drop_after_bytes": 1_000},
        {"hang": "before_handling"},
        {"hang": "before_response"},
        {"error": "NOT_ENOUGH_REPLICAS"},
        {"error": "REQUEST_TIMED_OUT", "at": "before_response"},
    ],
)
def test_an_incomplete_response_or_an_error_acknowledges_nothing(
    rule: dict[str, Any],
) -> None:
    client = audited_client(fault_rule(api="Produce", **rule))
    assert sent_by(client, frame()) == []
    assert not client.dispatcher.acknowledgements.excluded


@pytest.mark.parametrize(
    "rule",
    [
        {"delay_ms": 50},
        {"delay_request_ms": 50},
        {"bytes_per_second": 100_000},
        {"throttle_time_ms": 5},
        {"throttle_time_ms": 5, "mute": False},
    ],
)
def test_a_late_response_acknowledges_once_it_is_written(rule: dict[str, Any]) -> None:
    client = audited_client(fault_rule(api="Produce", **rule))
    (acknowledgement,) = sent_by(client, frame(), NOW_MS + 100)
    assert (acknowledgement.is_append, acknowledgement.base_offset) == (True, 0)


@pytest.mark.parametrize(
    "rule",
    [
        {"error": "NONE", "response": {}},
        {"error": "NONE", "response": {}, "at": "before_response"},
        {"error": "NOT_ENOUGH_REPLICAS", "response": {"throttle_time_ms": 5}},
        {"response": {"responses": {"partition_responses": {"base_offset": 7}}}},
        {"truncate_bytes": 1},
        {"corrupt_bytes": 1},
        {"oversize_bytes": 1},
        {"announce_bytes": 1},
    ],
)
def test_a_falsified_response_is_excluded_and_counted_for_its_rule(rule: dict[str, Any]) -> None:
    client = audited_client(
        fault_rule(api="Metadata", delay_ms=1), fault_rule(api="Produce", times=2, **rule)
    )
    sent_by(client, frame())
    assert sent_by(client, frame()) == []
    assert client.dispatcher.acknowledgements.excluded == {2: 2}

    # The rule is used up: this response is true again.
    later = make_batch(b"c")
    (acknowledgement,) = sent_by(client, frame(batch=later))
    assert acknowledgement.producer_id == -1


@pytest.mark.parametrize("version", [9, 13])
@pytest.mark.parametrize("at", ["before_handling", "before_response"])
def test_a_partial_error_acknowledges_the_other_batches(version: int, at: str) -> None:
    rule = fault_rule(api="Produce", topic="t", partition=1, error="NOT_ENOUGH_REPLICAS", at=at)
    client = audited_client(rule)
    cluster = client.cluster
    topic = cluster.topics.get("t")
    assert topic is not None
    request = produce_request(
        [(0, IDEMPOTENT), (1, IDEMPOTENT)], version=version, topic_id=topic.topic_id
    )
    (acknowledgement,) = sent_by(client, request_frame(request, version, 1))
    assert acknowledgement.partition == 0
    assert (topic.partitions[1].log.log_end_offset > 0) == (at == "before_response")


def test_responses_falsified_by_a_hook_are_excluded_under_id_0() -> None:
    client = audited_client()
    client.dispatcher.faults.set_hook(
        lambda _context, _message: fault_rule(api="Produce", response={})
    )
    sent_by(client, frame())
    assert client.dispatcher.acknowledgements.excluded == {0: 1}


def test_the_oldest_acknowledgements_beyond_the_limit_are_dropped_and_counted_by_partition() -> (
    None
):
    client = audited_client(**{"audit.acknowledgements.max": "3"})
    cluster = client.cluster
    batch = make_batch(b"a", b"b")
    for number in range(5):
        sent_by(client, frame(number % 2, batch=batch))
    acknowledged = sent_by(client, frame(0, batch=batch))

    assert [
        (acknowledgement.partition, acknowledgement.base_offset) for acknowledgement in acknowledged
    ] == [(1, 2), (0, 4), (0, 6)]
    topic = cluster.topics.get("t")
    assert topic is not None
    dropped = client.dispatcher.acknowledgements.dropped
    assert {
        key: (drops.topic, drops.count, drops.base_offset_min, drops.base_offset_max)
        for key, drops in dropped.items()
    } == {(topic.topic_id, 0): ("t", 2, 0, 2), (topic.topic_id, 1): ("t", 1, 0, 0)}
    assert audit_cluster(cluster, client.dispatcher.acknowledgements).comparison.covered == 3

    client.dispatcher.acknowledgements.clear()
    assert not client.dispatcher.acknowledgements.dropped
    assert not client.dispatcher.acknowledgements.sent


def test_drops_of_further_partitions_share_one_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("broker.audit.acknowledgements.DROPPED_PARTITIONS_MAX", 1)
    client = audited_client(**{"audit.acknowledgements.max": "1"})
    for _ in range(3):
        sent_by(client, frame(0, 1, batch=make_batch(b"a")))
    dropped = client.dispatcher.acknowledgements.dropped
    assert [drops.topic for drops in dropped.values()] == ["t", None]
    assert sum(drops.count for drops in dropped.values()) == 5


def test_a_client_id_is_stored_once_and_cut_to_the_limit() -> None:
    client = audited_client()
    request = produce_request([(0, make_batch(b"a"))], version=9)
    body = bytes(request.encode(version=9))
    for _ in range(2):
        head = b"\x00\x00\x00\x09\x00\x00\x00\x01" + (30_000).to_bytes(2) + b"c" * 30_000 + b"\x00"
        client.send((len(head) + len(body)).to_bytes(4) + head + body)
    client.dispatcher.acknowledgements.written(1)
    first, second = client.dispatcher.acknowledgements.sent
    assert first.client_id == "c" * 255
    assert first.client_id is second.client_id


# Over sockets ----------------------------------------------------------------------------------


async def test_the_server_reports_written_and_lost_responses() -> None:
    async with serving() as (server, port, _logs):
        cluster = server.cluster
        cluster.create_topic("t", [(1,), (1,)], {})
        acknowledgements = server.dispatcher.acknowledgements
        acknowledgements.is_enabled = True
        reader, writer = await connect(port)
        writer.write(frame())
        await read_frame(reader)
        assert len(acknowledgements) == 1

        # Its own request cuts the broker off: the response waits, and goes out when it is back.
        server.dispatcher.faults.add(
            fault_rule(api="Produce", isolate_broker="self", times=2), NOW_MS
        )
        writer.write(frame(batch=make_batch(b"c")))
        await _until(lambda: _log_end(cluster) == 3)
        assert len(acknowledgements) == 1
        failover.start_broker(cluster, 1, NOW_MS)
        await read_frame(reader)
        assert len(acknowledgements) == 2

        # Stopped instead, it never goes out.
        writer.write(frame(batch=make_batch(b"d")))
        await _until(lambda: _log_end(cluster) == 4)
        failover.stop_broker(cluster, 1, NOW_MS)
        await _until(lambda: not server.protocols)
        assert len(acknowledgements) == 2
        assert not acknowledgements._unwritten
        writer.close()


async def _until(holds: Any) -> None:
    for _ in range(100_000):
        if holds():
            return
        await asyncio.sleep(0)
    raise TimeoutError


def _log_end(cluster: Cluster) -> int:
    topic = cluster.topics.get("t")
    assert topic is not None
    return topic.partitions[0].log.log_end_offset
