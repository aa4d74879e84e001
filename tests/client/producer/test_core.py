"""The promises of the core hold for any behaviour of network and brokers."""

from collections import deque
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from client.producer.actions import (
    Action,
    Connect,
    Disconnect,
    InitProducerIdRequest,
    InitProducerIdResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionOutcome,
    PartitionView,
    ProduceRequest,
    ProduceResponse,
    Send,
    TopicView,
)
from client.producer.core import ProducerCore
from client.producer.delivery import (
    BufferFullError,
    Delivered,
    DeliveryOutcome,
    DeliveryRefusedError,
    DeliveryTimeoutError,
)
from protocol.errors import ErrorCode
from tests.client.producer import driver
from tests.client.producer.naive_cluster import NaiveCluster
from tests.examples import examples

PARTITIONS = 2
BUFFER_MEMORY = 4_000
DELIVERY_TIMEOUT_MS = 300
REFUSALS = (
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.UNKNOWN_PRODUCER_ID,
)


class ProducerMachine(RuleBasedStateMachine):
    """Send records, move the time, and fail connections at random."""

    @initialize(
        window=st.sampled_from([None, 1, 3, 10_000_000]),
        in_flight=st.sampled_from([None, 1, 2]),
        linger_ms=st.sampled_from([0, 20]),
        retries=st.sampled_from([0, 2, 2**31 - 1]),
        seed=st.randoms(use_true_random=False),
    )
    def begin(
        self, window: int | None, in_flight: int | None, linger_ms: int, retries: int, seed: Any
    ) -> None:
        self.window = window
        self.in_flight = in_flight
        self.now = 1_000
        self.core = ProducerCore(
            driver.settings(
                delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
                linger_ms=linger_ms,
                retries=retries,
                max_in_flight_requests_per_connection=in_flight,
                buffer_memory=BUFFER_MEMORY,
                batch_size=120,
            ),
            bootstrap=[driver.BOOTSTRAP],
            random=seed.random,
        )
        self.cluster = NaiveCluster(PARTITIONS, is_five=window is None)
        self.opening: list[int] = []
        self.is_prompt = True
        self.sent: list[tuple[bytes, int, int]] = []
        """Value, partition and time of each accepted record."""
        self.outcomes: dict[bytes, DeliveryOutcome] = {}
        self.timed_out: list[tuple[int, int]] = []
        self.next_ms: int | None = None
        self.run()

    def run(self) -> None:
        """Perform the core's actions; prompt brokers respond at once, except to Produce."""
        while True:
            poll = self.core.poll(self.now)
            self.next_ms = poll.next_ms
            for action in poll.actions:
                self.perform(action)
            if not self.is_prompt or not (self.opening or self.asked_nodes()):
                break
            if self.opening:
                self.open_connection(is_accepted=True)
            for node_id in self.asked_nodes():
                self.handle_oldest(node_id, "well", ErrorCode.NONE, 0)
        again = self.core.poll(self.now)
        assert not again.actions, "nothing new happened since the last poll"
        assert again.next_ms is None or again.next_ms > self.now, (
            "it wants to be called for nothing"
        )

    def perform(self, action: Action) -> None:
        match action:
            case Connect(node_id):
                assert node_id not in self.opening
                assert node_id not in self.cluster.requests
                self.opening.append(node_id)
            case Disconnect(node_id):
                if node_id in self.opening:
                    self.opening.remove(node_id)
                self.cluster.cut(node_id)
            case Send(node_id, request):
                self.cluster.requests[node_id].append(request)

    def asked_nodes(self) -> list[int]:
        return [
            node_id
            for node_id, requests in self.cluster.requests.items()
            if requests and not isinstance(requests[0], ProduceRequest)
        ]

    @rule()
    def change_mood(self) -> None:
        self.is_prompt = not self.is_prompt

    @rule(partition=st.integers(0, PARTITIONS - 1), count=st.integers(1, 4))
    def send(self, partition: int, count: int) -> None:
        for _ in range(count):
            value = b"%04d" % len(self.sent)
            number = len(self.sent)

            def settle(
                outcome: DeliveryOutcome, value: bytes = value, number: int = number
            ) -> None:
                assert value not in self.outcomes
                self.outcomes[value] = outcome
                if isinstance(outcome, DeliveryTimeoutError):
                    self.timed_out.append((partition, number))

            try:
                self.core.send(driver.record(value, partition=partition), self.now, settle)
            except BufferFullError:
                break
            self.sent.append((value, partition, self.now))
        self.run()

    @rule(duration_ms=st.sampled_from([1, 1, 5, 20, 20, 60, 150]))
    def pass_time(self, duration_ms: int) -> None:
        until_ms = self.now + duration_ms
        while self.next_ms is not None and self.next_ms <= until_ms:
            self.expect_silence(self.next_ms - 1)
            self.now = self.next_ms
            self.run()
        self.expect_silence(until_ms)
        self.now = until_ms
        self.run()

    def expect_silence(self, until_ms: int) -> None:
        """Check that the core has no actions before the time that `poll` returned."""
        for now_ms in {(self.now + until_ms) // 2, until_ms}:
            if now_ms > self.now:
                poll = self.core.poll(now_ms)
                assert poll.actions == []
                assert poll.next_ms == self.next_ms

    @precondition(lambda self: self.opening)
    @rule(is_accepted=st.sampled_from([True, True, True, False]))
    def finish_opening(self, is_accepted: bool) -> None:
        self.open_connection(is_accepted=is_accepted)
        self.run()

    def open_connection(self, *, is_accepted: bool) -> None:
        node_id = self.opening.pop(0)
        if is_accepted:
            self.cluster.requests[node_id] = deque()
            self.core.on_connected(node_id)
        else:
            self.core.on_disconnect(node_id, self.now)

    def busy_nodes(self) -> list[int]:
        return [node_id for node_id, requests in self.cluster.requests.items() if requests]

    @precondition(lambda self: self.busy_nodes())
    @rule(
        data=st.data(),
        how=st.sampled_from(["well", "refuse", "refuse", "not sure", "answer lost"]),
        error=st.sampled_from(REFUSALS),
        throttle_time_ms=st.sampled_from([0, 0, 0, 30]),
    )
    def handle(self, data: Any, how: str, error: ErrorCode, throttle_time_ms: int) -> None:
        node_id = data.draw(st.sampled_from(self.busy_nodes()))
        self.handle_oldest(node_id, how, error, throttle_time_ms)
        self.run()

    @precondition(lambda self: self.busy_nodes())
    @rule(rounds=st.integers(1, 6))
    def serve_well(self, rounds: int) -> None:
        for _ in range(rounds):
            for node_id in self.busy_nodes():
                self.handle_oldest(node_id, "well", ErrorCode.NONE, 0)
            self.run()

    def handle_oldest(
        self, node_id: int, how: str, error: ErrorCode, throttle_time_ms: int
    ) -> None:
        request = self.cluster.requests[node_id].popleft()
        match request:
            case ProduceRequest():
                self.handle_produce(node_id, request, how, error, throttle_time_ms)
            case MetadataRequest():
                self.core.on_response(node_id, self.metadata(how), self.now)
            case InitProducerIdRequest():
                self.cluster.next_producer_id += 1
                code = 0 if how == "well" else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
                response = InitProducerIdResponse(
                    code, self.cluster.next_producer_id, 0, self.window, throttle_time_ms
                )
                self.core.on_response(node_id, response, self.now)
            case _:
                raise AssertionError(f"a producer without transactions sends {request}")

    def handle_produce(
        self,
        node_id: int,
        request: ProduceRequest,
        how: str,
        error: ErrorCode,
        throttle_time_ms: int,
    ) -> None:
        if how == "refuse":
            response = ProduceResponse(
                {
                    (stamped.topic, stamped.partition): PartitionOutcome(error)
                    for stamped in request.data
                },
                throttle_time_ms,
            )
        else:
            response = self.cluster.produce(node_id, request, throttle_time_ms)
        if how == "not sure":
            response = ProduceResponse(
                dict.fromkeys(response.outcomes, PartitionOutcome(ErrorCode.REQUEST_TIMED_OUT))
            )
        if how == "answer lost":
            self.cluster.cut(node_id)
            self.core.on_disconnect(node_id, self.now)
        else:
            self.core.on_response(node_id, response, self.now)

    def metadata(self, how: str) -> MetadataResponse:
        if how == "refuse":
            return MetadataResponse(driver.BROKERS, {driver.TOPIC: TopicView(3, {})})
        views = {
            index: PartitionView(-1 if how == "not sure" else leader, self.cluster.leader_epoch)
            for index, leader in enumerate(self.cluster.leaders)
        }
        return MetadataResponse(driver.BROKERS, {driver.TOPIC: TopicView(0, views)})

    @rule(data=st.data())
    @precondition(lambda self: self.cluster.requests)
    def cut(self, data: Any) -> None:
        node_id = data.draw(st.sampled_from(sorted(self.cluster.requests)))
        self.cluster.cut(node_id)
        self.core.on_disconnect(node_id, self.now)
        self.run()

    @rule(data=st.data())
    @precondition(lambda self: self.cluster.zombies)
    def handle_zombie(self, data: Any) -> None:
        index = data.draw(st.integers(0, len(self.cluster.zombies) - 1))
        self.cluster.produce(*self.cluster.zombies.pop(index))

    @rule(partition=st.integers(0, PARTITIONS - 1))
    def move_leader(self, partition: int) -> None:
        self.cluster.leaders[partition] = 3 - self.cluster.leaders[partition]
        self.cluster.leader_epoch += 1

    @invariant()
    def everyone_hears_in_time(self) -> None:
        for value, _, sent_ms in getattr(self, "sent", ()):
            if sent_ms + DELIVERY_TIMEOUT_MS <= self.now:
                assert value in self.outcomes

    @invariant()
    def memory_is_bounded(self) -> None:
        if hasattr(self, "core"):
            assert 0 <= self.core.bytes_reserved <= BUFFER_MEMORY

    @invariant()
    def the_window_is_kept(self) -> None:
        if not hasattr(self, "cluster"):
            return
        records_out = dict.fromkeys(range(PARTITIONS), 0)
        for in_flight in self.cluster.requests.values():
            requests = [request for request in in_flight if isinstance(request, ProduceRequest)]
            limit = self.in_flight or (5 if self.window is None else None)
            assert limit is None or len(requests) <= limit
            for request in requests:
                for batch in request.batches:
                    records_out[batch.partition.partition] += batch.record_count
        if self.window is not None:
            assert max(records_out.values()) <= self.window

    @invariant()
    def the_log_agrees_with_the_reported_outcomes(self) -> None:
        if not hasattr(self, "cluster"):
            return
        places = {
            value: (index, offset)
            for index, partition in enumerate(self.cluster.partitions)
            for offset, value in enumerate(partition.values)
        }
        assert len(places) == sum(len(stored.values) for stored in self.cluster.partitions), "twice"
        last = [-1] * PARTITIONS
        for value, partition, _ in self.sent:
            outcome = self.outcomes.get(value)
            if isinstance(outcome, Delivered):
                index, offset = places[value]
                assert index == partition == outcome.partition
                assert outcome.offset in {-1, offset}
                assert offset > last[partition], "acknowledged records are stored in order"
                last[partition] = offset
            elif isinstance(outcome, DeliveryTimeoutError | DeliveryRefusedError):
                assert outcome.is_possibly_stored or value not in places
        if self.in_flight == 1:
            for partition in range(PARTITIONS):
                numbers = [number for place, number in self.timed_out if place == partition]
                assert numbers == sorted(numbers), "with one in flight they expire in order"

    def teardown(self) -> None:
        if not hasattr(self, "core"):
            return
        self.pass_time(DELIVERY_TIMEOUT_MS)
        assert len(self.outcomes) == len(self.sent)
        for node_id in list(self.cluster.requests):
            self.cluster.cut(node_id)
            self.core.on_disconnect(node_id, self.now)
        self.run()
        assert self.core.bytes_reserved == 0


TestProducerMachine = ProducerMachine.TestCase
pytest.mark.slow(TestProducerMachine)
TestProducerMachine.settings = settings(
    max_examples=examples(150), stateful_step_count=60, deadline=None
)


def test_requests_that_arrive_from_a_broken_connection_store_nothing_twice() -> None:
    """Kafka's producer assigns new sequence numbers to this batch; ours fails it."""
    one = driver.Driver(batch_size=1, request_timeout_ms=900)
    cluster = NaiveCluster(1, is_five=True)
    one.start()
    (request,) = one.poll()
    assert isinstance(request, ProduceRequest)
    one.response(cluster.produce(1, request))
    sent_ms = one.now
    (expired,) = one.send(b"a")
    late_calls = one.poll()
    one.now += 500
    (doubtful,) = one.send(b"b")
    late_calls += one.poll()
    one.disconnect(1)
    one.at(sent_ms + 1_000)
    assert isinstance(expired.outcome, DeliveryTimeoutError)
    while doubtful.outcome is None:
        one.connect()
        one.at(one.now + 5)
        for request in list(one.produce_requests):
            one.requests = [entry for entry in one.requests if entry[1] is not request]
            one.core.on_response(1, cluster.produce(1, request), one.now)
    for request in late_calls:
        if isinstance(request, ProduceRequest):
            cluster.produce(1, request)
    assert isinstance(doubtful.outcome, DeliveryRefusedError)
    assert doubtful.outcome.is_possibly_stored
    assert cluster.partitions[0].values == [b"first", b"a", b"b"]


def test_a_retry_is_never_a_duplicate_of_a_batch_that_was_not_stored() -> None:
    """A broker accepts any first sequence number from an unknown producer."""
    one = driver.Driver(batch_size=1)
    cluster = NaiveCluster(1, is_five=False)
    one.start(window=100)
    one.poll()
    (following,) = one.send(b"following")
    one.poll()
    one.response(driver.stored(-1, error_code=ErrorCode.NOT_ENOUGH_REPLICAS))
    while following.outcome is None:
        for request in one.produce_requests:
            one.response(cluster.produce(1, request))
        one.at(one.now + 5)
    assert following.outcome == Delivered(driver.TOPIC, 0, 1, 5)
    assert cluster.partitions[0].values == [b"first", b"following"]


def test_with_a_poll_every_10_ms_outcomes_come_within_10_ms_of_the_deadline() -> None:
    """The core is polled only every 10 ms, in each phase."""
    for reason in ("no metadata", "in flight", "refused"):
        one = driver.Driver(request_timeout_ms=1_000)
        heard_ms: list[int] = []
        if reason != "no metadata":
            one.start()
            one.poll()
            one.response(driver.stored(0))
        one.now += 3
        sent_ms = one.now
        one.core.send(driver.record(), one.now, lambda _: heard_ms.append(one.now))  # noqa: B023
        while not heard_ms:
            one.poll()
            one.connect()
            if reason == "refused" and one.produce_requests:
                one.response(driver.stored(-1, error_code=ErrorCode.NOT_ENOUGH_REPLICAS))
            one.now += 10
        assert 1_000 <= heard_ms[0] - sent_ms <= 1_010
