import pytest

from client.producer.actions import (
    InitProducerIdRequest,
    MetadataRequest,
    PartitionOutcome,
    ProduceRequest,
    ProduceResponse,
    Request,
)
from protocol.errors import ErrorCode
from protocol.records import read_header
from tests.client.producer.driver import TOPIC, Driver, stored, topics


def started(
    *, leaders: tuple[int, ...] = (1,), window: int | None = None, **changes: object
) -> Driver:
    driver = Driver(**changes)
    driver.start(window=window, leaders=leaders)
    driver.poll()
    driver.response(stored(0))
    return driver


def produced(requests: list[Request]) -> list[list[int]]:
    """Return the record counts of the batches of each Produce request."""
    return [
        [batch.record_count for batch in request.batches]
        for request in requests
        if isinstance(request, ProduceRequest)
    ]


def test_the_first_send_connects_requests_metadata_and_an_id_and_connects_to_the_leader() -> None:
    driver = Driver()
    driver.send()
    assert driver.poll() == []
    assert driver.connects == [-1]
    driver.connect()
    assert driver.poll() == [MetadataRequest((TOPIC,)), InitProducerIdRequest()]
    driver.tell_metadata()
    driver.grant_id()
    assert driver.poll() == []
    assert driver.connects == [1]
    driver.connect()
    assert produced(driver.poll()) == [[1]]


def test_one_request_has_a_batch_of_every_partition_of_its_leader() -> None:
    driver = started(leaders=(1, 2, 1))
    driver.send(b"a", b"b", partition=0)
    driver.send(partition=1)
    driver.send(partition=2)
    driver.poll()
    driver.connect()
    requests = driver.poll()
    assert produced([request for node_id, request in driver.requests if node_id == 1]) == [[2, 1]]
    assert produced(requests) == [[1]], "the other leader had to be connected to"


def test_five_requests_may_be_in_flight_without_a_window() -> None:
    driver = started(batch_size=1)
    driver.send(*[b"x"] * 9)
    assert produced(driver.poll()) == [[1]] * 5
    driver.response(stored(1))
    assert produced(driver.poll()) == [[1]]


def test_with_a_window_more_requests_may_be_in_flight_but_no_more_numbers() -> None:
    driver = started(window=7, batch_size=1)
    driver.send(*[b"x"] * 9)
    assert produced(driver.poll()) == [[1]] * 7
    driver.response(stored(1))
    assert produced(driver.poll()) == [[1]]


@pytest.mark.parametrize(
    ("configured", "advertised", "count"),
    [(3, 7, 3), (7, 3, 3), (3, 3, 3), (None, 3, 3), (3, None, 3)],
)
def test_the_smaller_of_the_configured_and_the_brokers_window_applies(
    configured: int | None, advertised: int | None, count: int
) -> None:
    driver = started(
        window=advertised, batch_size=1, max_in_flight_sequence_number_per_connection=configured
    )
    driver.send(*[b"x"] * 10)
    assert produced(driver.poll()) == [[1]] * count
    assert driver.core.window == count
    assert driver.core.broker_window == advertised


def test_without_a_window_of_the_broker_five_requests_are_the_limit_of_a_larger_setting() -> None:
    driver = started(batch_size=1, max_in_flight_sequence_number_per_connection=100)
    driver.send(*[b"x"] * 10)
    assert produced(driver.poll()) == [[1]] * 5


def test_each_partition_has_its_own_window() -> None:
    driver = started(window=2, leaders=(1, 1), batch_size=1)
    driver.send(partition=1)
    driver.poll()
    driver.response(ProduceResponse({(TOPIC, 1): PartitionOutcome(0, 0)}))
    for partition in (0, 1):
        driver.send(*[b"x"] * 3, partition=partition)
    assert produced(driver.poll()) == [[1, 1]] * 2


def test_a_batch_larger_than_the_window_is_split() -> None:
    driver = started(window=3)
    driver.send(*[b"x"] * 7)
    sizes = []
    for offset in (1, 2, 3, 4, 5, 6):
        sizes += produced(driver.poll())
        if driver.produce_requests:
            driver.response(stored(offset))
    assert sum(sum(size) for size in sizes) == 7
    assert max(max(size) for size in sizes) <= 3


def test_with_one_in_flight_a_partition_waits_for_its_response() -> None:
    driver = started(window=100, batch_size=1, max_in_flight_requests_per_connection=1)
    driver.send(b"a", b"b")
    assert produced(driver.poll()) == [[1]]
    driver.response(stored(1))
    assert produced(driver.poll()) == [[1]]


def test_an_open_batch_lingers_and_a_full_one_does_not() -> None:
    driver = Driver(linger_ms=20, batch_size=80)
    driver.start()
    driver.at(driver.now + 20)
    driver.response(stored(0))
    now = driver.now
    driver.send(b"x")
    assert driver.poll() == []
    assert driver.next_ms == now + 20
    driver.send(b"y" * 60)
    assert produced(driver.poll()) == [[1]], "another batch stands behind it"
    assert produced(driver.at(now + 20)) == [[1]]


def test_flush_ends_lingering() -> None:
    driver = Driver(linger_ms=20)
    driver.start()
    driver.at(driver.now + 20)
    driver.response(stored(0))
    driver.send()
    assert driver.poll() == []
    driver.core.flush(driver.now)
    assert produced(driver.poll()) == [[1]]


def test_max_request_size_limits_a_request() -> None:
    driver = started(leaders=(1, 1, 1), max_request_size=250)
    for partition in range(3):
        driver.send(b"x" * 60, partition=partition)
    assert produced(driver.poll()) == [[1], [1], [1]]
    driver = started(leaders=(1, 1, 1), max_request_size=300)
    for partition in range(3):
        driver.send(b"x" * 60, partition=partition)
    assert produced(driver.poll()) == [[1, 1], [1]]


def test_nothing_is_sent_to_a_throttled_broker_until_the_throttle_ends() -> None:
    driver = started()
    driver.send()
    driver.poll()
    driver.response(stored(1, throttle_time_ms=70))
    driver.send()
    now = driver.now
    assert driver.poll() == []
    assert driver.next_ms == now + 70
    assert produced(driver.at(now + 69)) == []
    assert produced(driver.at(now + 70)) == [[1]]


def test_a_throttle_that_ends_before_the_linger_of_a_batch_that_need_not_linger() -> None:
    driver = Driver(linger_ms=200, batch_size=80)
    driver.start()
    driver.at(driver.now + 200)
    driver.response(stored(0, throttle_time_ms=70))
    now = driver.now
    driver.send(b"x", b"y" * 60)
    assert driver.poll() == []
    assert driver.next_ms == now + 70
    assert produced(driver.at(now + 70)) == [[1]]


def test_a_throttle_of_the_new_leader_that_ends_before_the_backoff_from_the_old() -> None:
    driver = started(leaders=(1, 2), retry_backoff_ms=200, retry_backoff_max_ms=200)
    driver.at(driver.now + 300)
    driver.send(partition=1)
    driver.poll()
    driver.connect()
    driver.poll()
    driver.response(
        ProduceResponse({(TOPIC, 1): PartitionOutcome(ErrorCode.NONE, 0, -1)}, throttle_time_ms=150)
    )
    driver.send(partition=0)
    driver.poll()
    now = driver.now
    driver.response(stored(-1, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    driver.poll()
    driver.tell_metadata(topics([2, 2], leader_epoch=1))
    assert driver.poll() == []
    assert driver.next_ms == now + 150
    assert produced(driver.at(now + 150)) == [[1]]


def test_a_retry_waits_unless_the_leader_has_moved() -> None:
    driver = started(leaders=(1,), retry_backoff_ms=200, retry_backoff_max_ms=200)
    driver.at(driver.now + 300)
    driver.send()
    driver.poll()
    driver.response(stored(-1, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    driver.at(driver.now + 40)
    driver.tell_metadata(topics([2], leader_epoch=1))
    driver.poll()
    driver.connect()
    assert produced(driver.poll()) == [[1]]
    assert driver.requests[-1][0] == 2


def test_batches_have_the_producers_id_epoch_and_sequence() -> None:
    driver = started()
    driver.send(b"a", b"b")
    (request,) = driver.poll()
    assert isinstance(request, ProduceRequest)
    header = read_header(request.data[0].records, 0)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 0, 1)
    assert header.records_count == 2


def test_without_idempotence_no_producer_id_is_requested() -> None:
    driver = Driver(enable_idempotence=False)
    driver.start()
    (request,) = driver.poll()
    assert isinstance(request, ProduceRequest)
    header = read_header(request.data[0].records, 0)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)


def test_with_acks_0_a_sent_batch_counts_as_delivered() -> None:
    driver = Driver(enable_idempotence=False, acks=0)
    driver.start()
    (delivery,) = driver.send()
    driver.poll()
    assert delivery.outcome == (TOPIC, 0, -1, 5)
    assert driver.core.bytes_reserved == 0


def test_an_idle_producer_refreshes_metadata_after_its_maximum_age() -> None:
    driver = started(metadata_max_age_ms=10_000)
    assert driver.poll() == []
    assert driver.next_ms is not None
    assert driver.at(driver.next_ms) == [MetadataRequest((TOPIC,))]


def test_when_all_known_brokers_are_down_the_bootstrap_servers_are_used() -> None:
    driver = started()
    driver.disconnect(1)
    driver.disconnect(-1)
    driver.send()
    tried = set()
    for _ in range(8):
        driver.at(driver.now + 30)
        tried |= set(driver.connects)
        for node_id in driver.connects:
            driver.core.on_disconnect(node_id, driver.now)
        driver.connects.clear()
    assert tried == {1, 2, -1}


def test_a_broker_that_is_cut_off_does_not_keep_the_others_waiting() -> None:
    driver = started(connection_setup_timeout_ms=10_000, delivery_timeout_ms=20_000)
    driver.disconnect(-1)
    driver.send()
    driver.at(driver.now)
    driver.connects.clear()
    # Its Produce gets no response, and then nor does the attempt to connect to it again.
    driver.at(driver.now + 300)
    assert driver.disconnects == [1]
    assert driver.connects[0] == 1
    assert {2, -1} & set(driver.connects[1:])
