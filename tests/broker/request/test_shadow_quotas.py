"""Quotas in shadow mode at a connection: requests are counted and not throttled."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.administration.config_alteration import alter_configs
from broker.administration.config_operations import Alteration, Operation
from broker.cluster.cluster import Cluster
from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.request.shadow_quotas import count_if_shadow, is_shadow
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.configs import ConfigOperation, ResourceType
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import make_cluster, make_context
from tests.broker.connection_driver import (
    FRAME_BYTES_MAX,
    NOW_MS,
    Client,
    fetch_frame,
    metadata_frame,
)
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
from tests.broker.request.producer_driver import Producers, codes
from tests.broker.request.shadow_driver import SHADOW, counters, create_frame

HOUR_MS = 3_600_000
BYTES = "producer_byte_rate"
MUTATIONS = "controller_mutation_rate"
IDS = "producer_ids_rate"


def set_shadow(cluster: Cluster, value: str, name: str = "") -> None:
    operation = Operation("client.quota.shadow", ConfigOperation.SET, value)
    alteration = Alteration(ResourceType.BROKER, name, (operation,), is_replacement=False)
    assert alter_configs(cluster, int(name or 1), [alteration], validate_only=False) == [None]


def test_a_produce_request_beyond_a_shadow_quota_is_not_throttled() -> None:
    client = make_client(f"client-id=test,{BYTES}={RATE}", **SHADOW)
    frame = produce_frame(1, 12_000)
    client.send(frame + produce_frame(2, 1))

    assert client.correlation_ids() == [1, 2]
    for body in responses(client):
        assert messages.ProduceResponse.decode(body, version=8).throttle_time_ms == 0
    counter = counters(client.cluster)[BYTES]
    # As in test_throttling: the throttle time of an enforced quota.
    would_wait_ms = len(frame) - 4 - BURST
    assert counter.throttled == 1
    assert counter.throttle_time_total_ms == counter.throttle_time_max_ms == would_wait_ms
    [event] = counter.events
    assert (event.time_ms, event.user, event.client_id) == (NOW_MS, "ANONYMOUS", "test")


def test_a_request_during_a_shadow_mute_counts_as_held_and_is_not_charged() -> None:
    client = make_client(f"client-id=test,{BYTES}={RATE}", **SHADOW)
    client.send(produce_frame(1, 12_000))
    rate_before = client.cluster.quotas.brokers[1].produce
    before = [
        measurement.value
        for measurement in rate_before.measurements(NOW_MS)
        if measurement.name == "byte-rate"
    ]
    later = produce_frame(2, 500)
    client.send(later, NOW_MS + 1)
    after = [
        measurement.value
        for measurement in rate_before.measurements(NOW_MS)
        if measurement.name == "byte-rate"
    ]

    counter = counters(client.cluster)[BYTES]
    assert (counter.throttled, counter.held, counter.over_quota) == (1, 1, len(later) - 4)
    assert after == before


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 30_000), st.integers(0, 5_000)), max_size=12))
def test_for_a_client_that_waits_a_shadow_quota_decides_like_an_enforced_one(
    requests: list[tuple[int, int]],
) -> None:
    """Each request arrives a number of ms after the end of the throttle time."""

    def throttle_times(overrides: dict[str, str]) -> list[int]:
        client = make_client(f"client-id=test,{BYTES}={RATE}", **overrides)
        now_ms, waits_ms = NOW_MS, []
        for number, (value_bytes, pause_ms) in enumerate(requests):
            client.send(produce_frame(number, value_bytes), now_ms)
            if overrides:
                found = counters(client.cluster, now_ms).get(BYTES)
                is_new = found is not None and found.last_used_ms == now_ms
                waits_ms.append(found.events[-1].throttle_time_ms if found and is_new else 0)
            else:
                *_, body = responses(client)
                waits_ms.append(messages.ProduceResponse.decode(body, version=8).throttle_time_ms)
            now_ms += waits_ms[-1] + pause_ms + 1
            client.settle(now_ms)
        return waits_ms

    assert throttle_times(SHADOW) == throttle_times({})


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 30_000), st.integers(0, 300)), min_size=1, max_size=40))
def test_shadow_mutes_of_a_connection_do_not_overlap(
    requests: list[tuple[int, int]],
) -> None:
    client = make_client(f"client-id=test,{BYTES}={RATE}", **SHADOW)
    now_ms = NOW_MS
    for number, (value_bytes, pause_ms) in enumerate(requests):
        now_ms += pause_ms
        client.send(produce_frame(number, value_bytes), now_ms)

    if counter := counters(client.cluster, now_ms).get(BYTES):
        last = counter.events[-1]
        until_ms = last.time_ms + last.throttle_time_ms
        assert counter.throttle_time_total_ms <= until_ms - NOW_MS
    assert len(client.correlation_ids()) == len(requests)


def test_a_consumer_beyond_a_shadow_quota_gets_the_same_records_as_without_a_quota() -> None:
    # An enforced quota of 500 bytes per second allows at most 5,000 bytes at a time.
    client = make_client("client-id=test,consumer_byte_rate=500", **SHADOW)
    writer = Client(client.cluster)
    for number in range(2):
        writer.send(produce_frame(number, 4000))
    client.send(fetch_frame(1, "t", 0))
    client.send(fetch_frame(2, "t", 0))

    first, second = map(decode_fetch, responses(client))
    assert len(first.responses[0].partitions[0].records) > 8000
    assert second.responses[0].partitions[0].records == first.responses[0].partitions[0].records
    assert first.throttle_time_ms == second.throttle_time_ms == 0
    counter = counters(client.cluster)["consumer_byte_rate"]
    assert (counter.throttled, counter.held) == (1, 1)
    assert counter.throttle_time_max_ms == 2 * fetch_bytes(client, 0) - 10_000
    assert counter.over_quota == 2 * fetch_bytes(client, 0)


def test_a_shadow_request_percentage_counts_handler_time_in_ms_and_throttles_no_client() -> None:
    client = make_client("client-id=test,request_percentage=1", **SHADOW)
    readings = iter(range(0, 10**10, 250_000_000))
    client.connection = Connection(
        Dispatcher(client.cluster, lambda *_: None, lambda: next(readings)),
        broker_id=1,
        connection_id=2,
        client_host="127.0.0.1",
        frame_bytes_max=FRAME_BYTES_MAX,
        on_ready=lambda: None,
    )
    client.send(metadata_frame(1) + metadata_frame(2))

    assert client.correlation_ids() == [1, 2]
    counter = counters(client.cluster)["request_percentage"]
    assert (counter.throttled, counter.held, counter.over_quota) == (1, 1, 250)
    assert counter.throttle_time_max_ms == 1000


def test_topics_beyond_a_shadow_mutation_quota_are_created_and_not_charged() -> None:
    cluster = make_cluster(1, **{"client.quotas": f"client-id=test,{MUTATIONS}=1"}, **SHADOW)
    client = Client(cluster)
    # A burst of 11: the first topic leaves -4 tokens.
    client.send(create_frame(1, 15, 3, 2))

    (body,) = responses(client)
    response: Any = messages.CreateTopicsResponse.decode(body[1:], version=6)
    assert [topic.error_code for topic in response.topics] == [ErrorCode.NONE] * 3
    assert response.throttle_time_ms == 0
    counter = counters(cluster)[MUTATIONS]
    assert (counter.throttled, counter.held, counter.over_quota) == (1, 0, 5)
    assert counter.throttle_time_total_ms == 4000
    [tokens] = [
        measurement
        for measurement in cluster.quotas.metrics.measure(NOW_MS)
        if measurement.name == "tokens"
    ]
    assert tokens.value == -4

    client.send(create_frame(2, 1), NOW_MS + 3999)
    assert (counter.throttled, counter.held, counter.over_quota) == (1, 1, 6)
    client.send(create_frame(3, 1), NOW_MS + 4000)
    assert (counter.throttled, counter.held, counter.over_quota) == (1, 1, 6)
    [(key, _counter)] = cluster.quotas.shadow.rows(NOW_MS)
    assert key.broker_id is None, "the quota is the cluster's"


def test_an_old_version_is_charged_once_and_not_during_a_shadow_mute() -> None:
    cluster = make_cluster(1, **{"client.quotas": f"client-id=test,{MUTATIONS}=1"}, **SHADOW)
    client = Client(cluster)
    client.send(create_frame(1, 15, 5, version=5))
    counter = counters(cluster)[MUTATIONS]
    assert (counter.throttled, counter.over_quota) == (1, 0)
    assert counter.throttle_time_total_ms == counter.throttle_time_max_ms == 9000

    client.send(create_frame(2, 100, version=5), NOW_MS + 1000)
    assert (counter.throttled, counter.held, counter.over_quota) == (1, 1, 100)
    client.send(create_frame(3, 2, version=5), NOW_MS + 9000)
    assert counter.events[-1].throttle_time_ms == 2000
    (_, _, body) = responses(client)
    assert messages.CreateTopicsResponse.decode(body[1:], version=5).throttle_time_ms == 0


def test_new_producer_ids_beyond_a_shadow_quota_can_write_and_are_not_in_the_filter() -> None:
    producers = Producers("2", overrides=dict(SHADOW))
    assert producers.codes((0, 1, 0)) == producers.codes((0, 2, 0)) == [0]
    response = producers.send((0, 3, 0), (1, 4, 0))
    assert codes(response) == [0, 0]
    assert response.throttle_time_ms == 0
    for sequence in range(1, 5):
        assert producers.codes((0, 3, sequence), now_ms=NOW_MS + sequence) == [0]

    counter = counters(producers.cluster)[IDS]
    assert (counter.throttled, counter.held, counter.over_quota) == (1, 4, 2)
    assert counter.throttle_time_total_ms == HOUR_MS // 2
    assert producers.cluster.quotas.brokers[1].producer_ids.track("ANONYMOUS", 3, NOW_MS) > 0


def test_a_producer_id_that_would_have_been_refused_passes_when_there_is_a_token() -> None:
    producers = Producers("2", overrides=dict(SHADOW))
    for producer_id in (1, 2, 3):
        producers.send((0, producer_id, 0))
    half_ms = HOUR_MS // 2
    producers.send((0, 3, 1), now_ms=NOW_MS + half_ms)

    counter = counters(producers.cluster, NOW_MS + half_ms)[IDS]
    assert (counter.throttled, counter.held, counter.over_quota) == (1, 0, 1)
    assert producers.cluster.quotas.brokers[1].producer_ids.track("ANONYMOUS", 3, NOW_MS) == 0


def test_an_enforced_quota_does_not_charge_bytes_sent_in_shadow_mode() -> None:
    client = make_client(f"client-id=test,{BYTES}={RATE}", **SHADOW)
    for number in range(100):
        client.send(produce_frame(number, 20_000), NOW_MS + number)
    counter = counters(client.cluster)[BYTES]
    assert (counter.throttled, counter.held) == (1, 99)
    set_shadow(client.cluster, "false")
    client.send(produce_frame(100, 20_000), NOW_MS + 100)

    (*_, body) = responses(client)
    # Two requests of 20 KB are charged, not a hundred.
    throttle_time_ms = messages.ProduceResponse.decode(body, version=8).throttle_time_ms
    assert 28_000 < throttle_time_ms < 32_000


def test_shadow_mode_can_be_set_for_all_brokers_and_for_one() -> None:
    cluster = make_cluster(2, **{"client.quotas": f"user=<default>,{BYTES}={RATE}"})
    contexts = [make_context(ApiKey.PRODUCE, 8, broker_id=broker_id) for broker_id in (1, 2)]

    def modes() -> list[bool]:
        return [is_shadow(context, cluster, BYTES) for context in contexts]

    assert modes() == [False, False]
    set_shadow(cluster, "true", "2")
    assert modes() == [False, True]
    set_shadow(cluster, "true")
    assert modes() == [True, True]
    set_shadow(cluster, "false", "2")
    assert modes() == [True, False]


def test_one_entity_is_in_shadow_mode_and_the_others_are_throttled() -> None:
    cluster = make_cluster(1, **{"client.quotas": f"user=<default>,{BYTES}={RATE}"})
    alice = (("user", "alice"),)
    assert cluster.quotas.clients.alter(alice, [(BYTES, RATE)], is_shadow=True) is None

    def count(user: str) -> object:
        context = make_context(ApiKey.PRODUCE, 8, principal=user)
        return count_if_shadow(context, cluster, BYTES, 10, NOW_MS)

    assert count("alice") is not None
    assert count("bob") is None


@pytest.mark.parametrize("is_shadow_first", [True, False])
def test_an_enforced_quota_throttles_a_request_that_a_shadow_quota_counts(
    *, is_shadow_first: bool
) -> None:
    shadow, enforced = (IDS, BYTES) if is_shadow_first else (BYTES, IDS)
    cluster = make_cluster(1)
    cluster.create_topic("t", [(1,), (1,)], {})
    user = (("user", None),)
    clients = cluster.quotas.clients
    assert clients.alter(user, [(shadow, 1)], is_shadow=True) is None
    assert clients.alter(user, [(enforced, 1)]) is None
    producers = Producers(None, cluster)
    response = producers.send((0, 1, 0), (1, 2, 0))

    assert response.throttle_time_ms > 0
    assert codes(response) == [0, 0 if is_shadow_first else ErrorCode.THROTTLING_QUOTA_EXCEEDED]
    assert list(counters(cluster)) == [shadow]
    assert counters(cluster)[shadow].throttled == 1


def test_a_request_within_its_quota_counts_nothing() -> None:
    client = make_client(f"client-id=test,{BYTES}={RATE}", **SHADOW)
    client.send(produce_frame(1, 1000))

    assert counters(client.cluster) == {}
    assert stored_count(client.cluster) == 1
