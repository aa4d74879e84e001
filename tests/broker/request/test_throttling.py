"""Client quotas at a connection: charges, throttle times and mutes."""

from itertools import count
from typing import Any

from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from protocol import messages
from tests.broker.connection_driver import (
    FRAME_BYTES_MAX,
    NOW_MS,
    Client,
    fetch_frame,
    metadata_frame,
    request_frame,
)
from tests.broker.dispatch.produce_runs import counted_calls
from tests.broker.request.byte_rate_driver import (
    BURST,
    RATE,
    decode_fetch,
    fetch_bytes,
    make_client,
    produce_frame,
    responses,
    stored_count,
)


def test_produced_bytes_are_appended_and_throttle_the_connection() -> None:
    client = make_client(f"client-id=test,producer_byte_rate={RATE}")
    frame = produce_frame(1, 12_000)
    client.send(frame + produce_frame(2, 1))

    (body,) = responses(client)
    response: Any = messages.ProduceResponse.decode(body, version=8)
    throttle_time_ms = response.throttle_time_ms
    # The complete request counts, without its size field: (rate - 1000) / 1000 of 10 seconds.
    assert throttle_time_ms == len(frame) - 4 - BURST
    assert response.responses[0].partition_responses[0].error_code == 0
    assert stored_count(client.cluster) == 1

    client.settle(NOW_MS + throttle_time_ms - 1)
    assert client.correlation_ids() == [1]
    client.settle(NOW_MS + throttle_time_ms)
    assert client.correlation_ids() == [1, 2]


def test_a_producer_without_acks_is_muted_without_a_response() -> None:
    client = make_client(f"client-id=test,producer_byte_rate={RATE}")
    frame = produce_frame(1, 12_000, acks=0)
    client.send(frame + metadata_frame(2))

    assert client.written == b""
    assert stored_count(client.cluster) == 1
    client.settle(NOW_MS + len(frame) - 4 - BURST)
    assert client.correlation_ids() == [2]


def test_a_consumer_beyond_its_rate_gets_no_records_until_the_burst_expires() -> None:
    client = make_client(f"client-id=test,consumer_byte_rate={RATE}")
    writer = Client(client.cluster)
    for number in range(3):
        writer.send(produce_frame(number, 4000))
    client.send(fetch_frame(1, "t", 0))
    client.send(fetch_frame(2, "t", 0))

    (first, second) = map(decode_fetch, responses(client))
    assert len(first.responses[0].partitions[0].records) > 8000
    assert (second.throttle_time_ms > 0, second.responses, second.error_code) == (True, [], 0)
    assert second.throttle_time_ms == throttle_of(2 * fetch_bytes(client, 0))

    # Records that it did not get are not charged.
    client.settle(NOW_MS + 11_000)
    client.send(fetch_frame(3, "t", 0), NOW_MS + 11_000)
    (*_, third) = map(decode_fetch, responses(client))
    assert third.throttle_time_ms == 0
    assert len(third.responses[0].partitions[0].records) > 8000


def throttle_of(byte_count: int) -> int:
    return byte_count - BURST


def test_a_fetch_returns_at_most_the_burst_of_its_quota() -> None:
    client = make_client("client-id=test,consumer_byte_rate=500")
    writer = Client(client.cluster)
    for number in range(3):
        writer.send(produce_frame(number, 2000))
    client.send(fetch_frame(1, "t", 0))

    (response,) = map(decode_fetch, responses(client))
    assert response.throttle_time_ms == 0
    assert 4000 < len(response.responses[0].partitions[0].records) < 5000


def timed_client(percentage: float, request_ns: int) -> Client:
    """Return a client whose requests take so long each."""
    client = make_client(f"client-id=test,request_percentage={percentage}")
    readings = count(0, request_ns)
    client.connection = Connection(
        Dispatcher(client.cluster, lambda *_: None, lambda: next(readings)),
        broker_id=1,
        connection_id=2,
        client_host="127.0.0.1",
        frame_bytes_max=FRAME_BYTES_MAX,
        on_ready=lambda: None,
    )
    return client


def test_handler_time_is_charged_and_throttled_for_at_most_a_window() -> None:
    client = timed_client(1, 250_000_000)
    client.send(metadata_frame(1) + metadata_frame(2))

    response = messages.MetadataResponse.decode(client.written[9:], version=9)
    assert response.throttle_time_ms == 1000
    assert client.correlation_ids() == [1]
    client.settle(NOW_MS + 1000)
    assert client.correlation_ids() == [1, 2]


def heartbeat_frame(number: int) -> bytes:
    request = messages.HeartbeatRequest(version=3, group_id="g", generation_id=1, member_id="m")
    return request_frame(request, 3, number)


def test_requests_below_their_quota_take_no_turns() -> None:
    client = timed_client(1, 1_000_000)
    with counted_calls(Dispatcher, "_respond_in_turns") as in_turns:
        for number in range(20):
            client.send(heartbeat_frame(number))
    assert not in_turns
    counters = client.cluster.quotas.brokers[1].request._counters
    assert counters.get("ANONYMOUS", "test", NOW_MS).total(NOW_MS) == 20_000_000


def test_the_request_that_exceeds_the_quota_is_throttled_without_turns() -> None:
    client = timed_client(0.2, 1_000_000)
    with counted_calls(Dispatcher, "_respond_in_turns") as in_turns:
        for number in range(21):
            client.send(heartbeat_frame(number))
    assert not in_turns
    *before, last = (
        messages.HeartbeatResponse.decode(body, version=3).throttle_time_ms
        for body in responses(client)
    )
    assert not any(before)
    assert last == 500


def test_with_two_quotas_only_the_longer_throttle_time_applies() -> None:
    client = make_client(f"client-id=test,producer_byte_rate={RATE},request_percentage=0.01")
    client.send(produce_frame(1, 13_000) + metadata_frame(2))

    (body,) = responses(client)
    throttle_time_ms = messages.ProduceResponse.decode(body, version=8).throttle_time_ms
    assert throttle_time_ms > 3000
    measured = {
        (measurement.group, measurement.name): measurement.value
        for measurement in client.cluster.quotas.metrics.measure(NOW_MS)
    }
    assert measured["Produce", "throttle-time"] == throttle_time_ms
    assert measured["Produce", "queue-size"] == 1
    assert measured["Request", "queue-size"] == 0
    client.settle(NOW_MS + throttle_time_ms)
    assert client.correlation_ids() == [1, 2]


def test_other_clients_are_not_muted_and_a_quota_change_applies_at_once() -> None:
    client = make_client(f"client-id=someone-else,producer_byte_rate={RATE}")
    client.send(produce_frame(1, 20_000))
    client.send(metadata_frame(2))
    assert client.correlation_ids() == [1, 2]

    quotas = client.cluster.quotas.clients
    assert quotas.alter((("client-id", "test"),), [("producer_byte_rate", RATE)]) is None
    client.send(produce_frame(3, 20_000) + metadata_frame(4), NOW_MS + 100_000)
    assert client.correlation_ids() == [1, 2, 3]
    assert quotas.alter((("client-id", "test"),), [("producer_byte_rate", None)]) is None
    client.settle(NOW_MS + 200_000)
    client.send(produce_frame(5, 20_000) + metadata_frame(6), NOW_MS + 200_000)
    assert client.correlation_ids() == [1, 2, 3, 4, 5, 6]
