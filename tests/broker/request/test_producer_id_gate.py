"""The quota on new producer ids at a connection: refusals, filters and mutes."""

from bisect import insort
from itertools import count, islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster import failover
from broker.http_admin.prometheus import prometheus_text
from broker.request.client_software import ClientSoftware
from broker.request.producer_id_gate import ProducerIdGate
from protocol import messages, records
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from quotas.producer_ids import ProducerIdQuotaManager
from tests.batches import make_batch
from tests.broker.cluster_builder import make_context
from tests.broker.connection_driver import NOW_MS, Client, metadata_frame, request_frame
from tests.broker.request.producer_driver import Producers, codes

HOUR_MS = 3_600_000
REFUSED = ErrorCode.THROTTLING_QUOTA_EXCEEDED
PAUSES_MS = st.sampled_from([0, 0, 1, 500, 1999, 2000, 2001, 6000, 8000])
"""Layers begin every 2 s and expire after 8 s."""


def test_a_producer_id_beyond_the_quota_is_refused_and_not_remembered() -> None:
    producers = Producers("1")
    assert producers.codes((0, 1, 0)) == [ErrorCode.NONE]
    response = producers.send((0, 2, 0))
    (part,) = response.responses[0].partition_responses

    assert response.throttle_time_ms == HOUR_MS
    assert part.error_code == REFUSED
    assert (part.base_offset, part.log_append_time_ms, part.log_start_offset) == (-1, -1, -1)
    assert part.error_message == "The throttling quota has been exceeded."
    assert producers.partition().log.log_end_offset == 1
    assert [producer.producer_id for producer in producers.partition().producers.describe()] == [1]


def test_a_refused_id_does_not_affect_known_ids_and_batches_without_an_id() -> None:
    producers = Producers("1")
    assert producers.codes((0, 1, 0)) == [ErrorCode.NONE]
    assert producers.codes((0, 1, 1), (1, 2, 0)) == [ErrorCode.NONE, REFUSED]
    # It is muted for an hour; other producers of the user write over their own connections.
    others = Producers(None, producers.cluster)
    assert others.codes((0, -1, -1), (1, 1, 0)) == [ErrorCode.NONE, ErrorCode.NONE]


def test_a_producer_id_is_charged_once_per_request() -> None:
    producers = Producers("2")
    assert producers.codes((0, 1, 0), (1, 1, 0)) == [ErrorCode.NONE, ErrorCode.NONE]
    assert producers.measured()["tokens"] == 0
    assert producers.codes((0, 2, 0)) == [ErrorCode.NONE]
    assert producers.codes((0, 3, 0), (1, 3, 0)) == [REFUSED, REFUSED]


def test_the_connection_is_muted_for_the_throttle_time_and_then_one_id_passes() -> None:
    producers = Producers("10")
    for producer_id in range(10):
        producers.send((0, producer_id, 0))
    assert producers.send((0, 10, 0)).throttle_time_ms == HOUR_MS // 10
    producers.client.send(metadata_frame(99), NOW_MS + HOUR_MS // 10 - 1)
    assert 99 not in producers.client.correlation_ids()
    assert producers.measured()["queue-size"] == 1
    producers.client.settle(NOW_MS + HOUR_MS // 10)
    assert producers.client.correlation_ids()[-1] == 99
    assert producers.measured()["queue-size"] == 0


def test_with_two_quotas_the_longer_throttle_time_applies() -> None:
    producers = Producers(
        None,
        overrides={"client.quotas": "user=<default>,producer_ids_rate=1,producer_byte_rate=1"},
    )
    producers.send((0, 1, 0))
    producers.client.settle(NOW_MS + HOUR_MS)
    throttle_time_ms = producers.send((0, 1, 1), now_ms=NOW_MS + HOUR_MS - 5000).throttle_time_ms
    assert throttle_time_ms > 0
    producers.client.settle(NOW_MS + 2 * HOUR_MS)
    other = Producers(None, producers.cluster)
    assert other.send((0, 9, 0), now_ms=NOW_MS + HOUR_MS - 5000).throttle_time_ms > 5000


@pytest.mark.parametrize("name", ["THROTTLING_QUOTA_EXCEEDED", "NOT_ENOUGH_REPLICAS"])
def test_the_error_code_is_the_configured_one(name: str) -> None:
    producers = Producers("1", overrides={"producer.id.quota.error.code": name})
    producers.send((0, 1, 0))
    response = producers.send((0, 2, 0))
    assert codes(response) == [ErrorCode[name]]
    assert response.throttle_time_ms == HOUR_MS


@pytest.mark.parametrize(
    ("software", "error"),
    [
        (None, REFUSED),
        (ClientSoftware("apache-kafka-java", "4.1.0"), REFUSED),
        (ClientSoftware("librdkafka", "2.16.0"), ErrorCode.NOT_ENOUGH_REPLICAS),
    ],
)
def test_by_default_the_error_is_one_that_the_client_library_retries(
    software: ClientSoftware | None, error: ErrorCode
) -> None:
    producers = Producers("1")
    if software is not None:
        name, version = software
        request = messages.ApiVersionsRequest(
            client_software_name=name, client_software_version=version
        )
        producers.client.send(request_frame(request, 3, 0))
        producers.skip_responses()
    producers.send((0, 1, 0))
    response = producers.send((0, 2, 0))

    assert codes(response) == [error]
    assert response.throttle_time_ms == HOUR_MS
    # A software name applies only to its connection.
    assert codes(Producers(None, producers.cluster).send((0, 3, 0))) == [REFUSED]


@pytest.mark.parametrize(
    ("client_id", "error"),
    [("aiokafka-producer-1", ErrorCode.NOT_ENOUGH_REPLICAS), ("payments", REFUSED)],
)
def test_without_a_software_name_the_client_id_of_the_request_decides(
    client_id: str, error: ErrorCode
) -> None:
    producers = Producers("1")
    producers.send((0, 1, 0))
    gate = ProducerIdGate(producers.cluster, producers.cluster.quotas.brokers[1].producer_ids)
    batch = make_batch(b"x", producer_id=2, producer_epoch=0, base_sequence=0)
    context = make_context(ApiKey.PRODUCE, 8, client_id=client_id)
    result = gate.refuse(context, producers.partition(), records.read_header(batch, 0))

    assert result is not None
    assert result.error_code == error


def test_with_acks_0_a_refusal_closes_the_connection_and_the_id_is_not_remembered() -> None:
    producers = Producers("1")
    producers.send((0, 1, 0))
    producers.client.send(producers.frame((0, 2, 0), acks=0))
    assert producers.client.close_reason is not None
    assert "THROTTLING_QUOTA_EXCEEDED" in producers.client.close_reason
    assert producers.measured()["tracked-ids"] == 1


def test_an_invalid_batch_is_not_charged() -> None:
    producers = Producers("2")
    assert producers.codes((0, 1, 0)) == [ErrorCode.NONE]
    assert producers.codes((0, 1, 7)) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    assert producers.codes((7, 2, 0)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert producers.measured()["tokens"] == 0


def test_later_batches_are_refused_until_the_refused_batch_is_retried() -> None:
    producers = Producers("1")
    producers.send((0, 1, 0))
    first, second, third = (producers.frame((0, 2, sequence)) for sequence in range(3))
    producers.client.send(first + second + third)
    (response,) = producers.responses()
    assert codes(response) == [REFUSED]

    # The mute ends when a new id is admitted. The second batch must not be admitted first.
    due_ms = NOW_MS + response.throttle_time_ms
    producers.client.settle(due_ms)
    responses = producers.responses()
    assert [codes(response) for response in responses] == [[REFUSED], [REFUSED]]
    assert [response.throttle_time_ms for response in responses] == [0, 0]
    for sequence in range(3):
        assert producers.codes((0, 2, sequence), now_ms=due_ms) == [ErrorCode.NONE]
    assert producers.partition().log.log_end_offset == 4


@given(
    batch_count=st.integers(1, 12),
    in_flight_max=st.integers(1, 5),
    rivals=st.lists(st.booleans(), max_size=20),
)
def test_a_producer_with_requests_in_flight_that_retries_loses_no_records(
    batch_count: int, in_flight_max: int, rivals: list[bool]
) -> None:
    producers = Producers("1")
    rival_ids = iter(range(100, 200))
    now_ms = NOW_MS
    waiting, in_flight = list(range(batch_count)), list[int]()
    stored = []
    turns = iter([True, *rivals])
    while waiting or in_flight:
        if next(turns, False):
            # Another producer of the user takes the next token first.
            Producers(None, producers.cluster).codes((1, next(rival_ids), 0), now_ms=now_ms)
        while waiting and len(in_flight) < in_flight_max:
            in_flight.append(waiting.pop(0))
            producers.client.send(producers.frame((0, 1, in_flight[-1])), now_ms)
        responses = producers.responses()
        for response in responses:
            sequence = in_flight.pop(0)
            (code,) = codes(response)
            assert code in {ErrorCode.NONE, REFUSED}
            if code == ErrorCode.NONE:
                stored.append(sequence)
            else:
                insort(waiting, sequence)
        if not responses:
            due_ms = producers.cluster.timers.next_due_ms()
            assert due_ms is not None
            now_ms = due_ms
            producers.client.settle(now_ms)
    assert stored == list(range(batch_count))
    assert producers.partition().log.log_end_offset == batch_count


def test_a_window_of_requests_in_flight_waits_for_a_refused_batch() -> None:
    """With KIP-758 more than five requests are in flight, and all must wait."""
    producers = Producers("1")
    producers.send((0, 1, 0))
    producers.client.send(b"".join(producers.frame((0, 2, sequence)) for sequence in range(12)))
    due_ms = NOW_MS + producers.responses()[0].throttle_time_ms
    producers.client.settle(due_ms)
    assert [codes(response) for response in producers.responses()] == [[REFUSED]] * 11
    for sequence in range(12):
        assert producers.codes((0, 2, sequence), now_ms=due_ms) == [ErrorCode.NONE]


def test_a_client_that_drops_a_refused_batch_can_soon_continue() -> None:
    producers = Producers("1", overrides={"producer.state.batches": "5"})
    producers.send((0, 1, 0))
    producers.send((0, 2, 0))
    due_ms = NOW_MS + HOUR_MS
    producers.client.settle(due_ms)
    error_codes = [producers.codes((0, 2, 1), now_ms=due_ms) for _ in range(5)]
    assert error_codes == [[REFUSED]] * 4 + [[ErrorCode.NONE]]


def test_a_client_that_drops_a_refused_batch_waits_one_second_and_not_one_window() -> None:
    producers = Producers("1")
    producers.send((0, 1, 0))
    producers.send((0, 2, 0))
    due_ms = NOW_MS + HOUR_MS
    producers.client.settle(due_ms)
    assert producers.codes((0, 2, 1), now_ms=due_ms) == [REFUSED]
    assert producers.codes((0, 2, 2), now_ms=due_ms + 999) == [REFUSED]
    assert producers.codes((0, 2, 3), now_ms=due_ms + 1_000) == [ErrorCode.NONE]


def test_requests_in_flight_wait_when_sequence_numbers_wrap() -> None:
    producers = Producers("1")
    producers.send((0, 1, 0))
    last = 2**31 - 1
    producers.client.send(producers.frame((0, 2, last)) + producers.frame((0, 2, 0)))
    producers.client.settle(NOW_MS + HOUR_MS)
    assert [codes(response) for response in producers.responses()] == [[REFUSED], [REFUSED]]
    for sequence in (last, 0):
        assert producers.codes((0, 2, sequence), now_ms=NOW_MS + HOUR_MS) == [ErrorCode.NONE]


def test_a_new_epoch_does_not_wait_for_a_refused_batch() -> None:
    producers = Producers("1")
    producers.send((0, 1, 0))
    producers.send((0, 2, 5))
    producers.client.settle(NOW_MS + HOUR_MS)
    assert producers.codes((0, 2, 0), now_ms=NOW_MS + HOUR_MS, epoch=1) == [ErrorCode.NONE]


def test_each_broker_counts_ids_and_a_new_leader_starts_from_zero() -> None:
    producers = Producers("1")
    producers.send((0, 1, 0))
    assert producers.codes((0, 2, 0)) == [REFUSED]
    for index in range(2):
        producers.cluster.move_leader(producers.partition(index), 2, NOW_MS)
    at_two = Producers(None, producers.cluster)
    at_two.client = Client(producers.cluster, broker_id=2)

    # The known id is new here, although its producer state moved with the leadership.
    assert at_two.codes((0, 1, 7)) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    assert at_two.measured(broker_id=2).get("tracked-ids") is None
    assert at_two.codes((0, 1, 1)) == [ErrorCode.NONE]
    assert at_two.codes((0, 2, 0)) == [REFUSED]
    assert producers.measured(broker_id=1)["tracked-ids"] == 1
    assert producers.measured(broker_id=2)["tracked-ids"] == 1


def test_a_restarted_broker_remembers_no_producer_ids() -> None:
    producers = Producers("1")
    producers.send((0, 1, 0))
    failover.stop_broker(producers.cluster, 1, NOW_MS)
    failover.start_broker(producers.cluster, 1, NOW_MS)
    producers.cluster.move_leader(producers.partition(), 1, NOW_MS)
    assert "tracked-ids" not in producers.measured()
    again = Producers(None, producers.cluster)
    assert again.codes((0, 2, 0)) == [ErrorCode.NONE]
    assert again.codes((0, 1, 1)) == [REFUSED]


# A user's connection (first or second), a producer id, and the pause before the request.
WRITES = st.tuples(st.sampled_from("aab"), st.integers(0, 1), st.integers(0, 4), PAUSES_MS)
# Changes of the default quota, one after the other, without writes.
CHANGES = st.sampled_from([[None], [5.0], [1.0], [None, 2.0]])


@given(st.lists(st.one_of(WRITES, WRITES, CHANGES), max_size=60))
def test_the_cache_of_a_connection_changes_no_decision_and_no_filter(
    events: list[Any],
) -> None:
    producers = Producers("2", overrides={"producer.id.quota.window.size.seconds": "8"})
    manager = producers.cluster.quotas.brokers[1].producer_ids
    asked_always = ProducerIdQuotaManager(
        producers.cluster.quotas.clients.limits["producer_ids_rate"],
        sample_count=11,
        window_seconds=8,
        layer_count=4,
        false_positive_rate=0.001,
        new_seed=lambda: bytes(16),
    )
    gates = {
        (user, number): ProducerIdGate(producers.cluster, manager)
        for user in "ab"
        for number in range(2)
    }
    now_ms = NOW_MS
    for event in events:
        if isinstance(event, list):
            for quota in event:
                producers.set(quota)
                assert dict(manager.filters(now_ms)) == dict(asked_always.filters(now_ms))
        else:
            user, number, producer_id, pause_ms = event
            now_ms += pause_ms
            header = records.read_header(
                make_batch(b"x", producer_id=producer_id, producer_epoch=0, base_sequence=0), 0
            )
            context = make_context(ApiKey.PRODUCE, 8, now_ms=now_ms, principal=user)
            refusal = gates[user, number].refuse(context, producers.partition(), header)
            throttle_time_ms = asked_always.track(user, producer_id, now_ms)
            assert (refusal is not None) == (throttle_time_ms > 0)
            assert context.throttle_time_ms == throttle_time_ms
        assert dict(manager.filters(now_ms)) == dict(asked_always.filters(now_ms))


@pytest.mark.slow
@given(st.lists(st.integers(0, 3), min_size=5, max_size=40))
def test_a_user_within_the_quota_gets_the_same_bytes_as_without_a_quota(
    crowd_sizes: list[int],
) -> None:
    """The same responses at the same times: equal throughput, no error, no throttle."""
    responded, stored = [], []
    for quota in (None, "2"):
        careful = Producers(quota)
        careful.client.connection.session.authenticate("careful", None)
        now_ms, refused = NOW_MS, 0
        strangers = count(100)
        for sequence, crowd in enumerate(crowd_sizes):
            now_ms += 60_000
            for producer_id in islice(strangers, crowd):
                careless = Producers(None, careful.cluster)
                refused += careless.codes((1, producer_id, 0), now_ms=now_ms) == [REFUSED]
            careful.client.send(careful.frame((0, 1, sequence)), now_ms)
            assert careful.client.connection.muted_until_ms == 0
            # In this turn of the loop, not in a later one.
            assert len(careful.responses()) == 1
        responded.append(careful.client.written)
        stored.append(careful.partition().log.log_end_offset)
        if quota is not None and sum(crowd_sizes) > 3:
            assert refused > 0
    assert responded[0] == responded[1]
    assert stored == [len(crowd_sizes)] * 2


def test_a_quota_change_applies_to_open_connections() -> None:
    producers = Producers("1")
    assert producers.codes((0, 1, 0)) == [ErrorCode.NONE]
    producers.set(None)
    assert producers.codes((0, 1, 1)) == [ErrorCode.NONE]
    producers.set(1)
    others = Producers(None, producers.cluster)
    assert others.codes((0, 2, 0)) == [ErrorCode.NONE]
    assert producers.codes((0, 1, 2)) == [REFUSED]


def test_without_a_quota_nothing_is_tracked_or_scheduled() -> None:
    producers = Producers(None)
    timers = len(producers.cluster.timers)
    for producer_id in range(50):
        assert producers.codes((0, producer_id, 0)) == [ErrorCode.NONE]
    assert producers.measured() == {"queue-size": 0}
    assert len(producers.cluster.timers) == timers

    producers.set(1, "somebody-else")
    assert producers.codes((0, 50, 0)) == [ErrorCode.NONE]
    assert producers.measured() == {"queue-size": 0}
    assert len(producers.cluster.timers) == timers


@pytest.mark.parametrize("interval_ms", [10, 700_000])
def test_expired_layers_are_dropped_at_the_next_cleanup(interval_ms: int) -> None:
    name = "producer.id.quota.cache.cleanup.scheduler.interval.ms"
    producers = Producers("5", overrides={name: str(interval_ms)})
    producers.send((0, 1, 0))
    look_ms = NOW_MS + -(-HOUR_MS // interval_ms) * interval_ms
    manager = producers.cluster.quotas.brokers[1].producer_ids

    producers.client.settle(look_ms - 1)
    assert manager.is_tracking
    producers.client.settle(look_ms)
    assert not manager.is_tracking
    assert len(producers.cluster.timers) == 0
    # The same happens again for a later id.
    assert producers.codes((0, 1, 1), now_ms=look_ms) == [ErrorCode.NONE]
    assert len(producers.cluster.timers) == 1


def test_windows_and_layers_are_configurable() -> None:
    producers = Producers(
        "2",
        overrides={
            "producer.id.quota.window.size.seconds": "10",
            "producer.id.quota.window.num": "2",
            "producer.id.quota.cache.layer.count": "5",
            "producer.id.quota.cache.false.positive.rate": "0.00001",
        },
    )
    producers.send((0, 1, 0))
    producers.send((0, 2, 0))
    assert producers.send((0, 3, 0)).throttle_time_ms == 5000
    other = Producers(None, producers.cluster)
    for second in range(2, 11, 2):
        other.codes((0, 1, second // 2), now_ms=NOW_MS + 1000 * second)
    measured = producers.measured(NOW_MS + 9999)
    assert measured["live-layers"] == 5
    assert measured["rate"] == pytest.approx(10 * 2 / 19.999)
    precise = measured["tracked-bytes"]
    coarse = Producers("2", overrides={"producer.id.quota.cache.false.positive.rate": "0.5"})
    coarse.send((0, 1, 0))
    assert coarse.measured()["tracked-bytes"] * 10 < precise


def test_the_metrics_have_labels_for_user_and_broker() -> None:
    producers = Producers("2")
    for producer_id in range(2):
        producers.send((0, producer_id, 0))
    producers.send((0, 2, 0))
    text = prometheus_text(producers.cluster.quotas.metrics, NOW_MS)

    labels = '{broker_id="1",user="ANONYMOUS"}'
    for line in (
        f"kafka_server_producer_ids_tokens{labels} -1.0",
        f"kafka_server_producer_ids_throttle_time{labels} 1.8e+06",
        f"kafka_server_producer_ids_live_layers{labels} 1.0",
        f"kafka_server_producer_ids_fill{labels} 0.0625",
        f"kafka_server_producer_ids_tracked_ids{labels} 2.0",
    ):
        assert line in text
