import pytest
from aiokafka import AIOKafkaProducer
from kafka import KafkaProducer
from kafka.errors import NotEnoughReplicasError

from mock_kafka import ControlError, Hold, MockKafka


def test_a_fault_counts_its_requests_and_can_be_removed(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    fault = kafka.fail(api="Produce", error="NOT_ENOUGH_REPLICAS", times=2, topic="orders")
    other = kafka.delay(api="Heartbeat", ms=1, jitter_ms=2)
    producer.send("orders", b"1").get(30)

    assert (fault.count, fault.match_count, fault.is_used_up) == (2, 2, True)
    assert [listed.id for listed in kafka.faults()] == [fault.id, other.id]
    assert len(kafka.requests(api="Produce", error="NOT_ENOUGH_REPLICAS")) == 2
    other.remove()
    with pytest.raises(LookupError, match="removed"):
        _ = other.count
    kafka.clear_faults()
    assert kafka.faults() == []


def test_respond_replaces_fields_of_the_response(kafka: MockKafka, producer: KafkaProducer) -> None:
    offsets = {"responses": {"partition_responses": {"base_offset": 41}}}
    kafka.respond(api="Produce", response=offsets, times=1)
    assert producer.send("orders", b"done", partition=0).get(30).offset == 41
    kafka.respond(api="Produce", response=offsets, handle=False, times=1)
    assert producer.send("orders", b"not done", partition=0).get(30).offset == 41
    assert [record.value for record in kafka.records("orders")] == [b"done"]
    (first, second) = kafka.requests(api="Produce", fault="response")
    assert first.response["responses"][0]["partition_responses"][0]["base_offset"] == 41
    assert second.fault is not None

    with pytest.raises(ControlError, match=r"response: coordinator: .* did you mean coordinators"):
        kafka.respond(api="FindCoordinator", response={"coordinator": {"node_id": 3}})


def test_drop_response_appends_the_batch_and_drop_request_does_not(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    lost = kafka.drop_response(api="Produce", times=1, partition=0)
    unseen = kafka.drop_request(api="Produce", times=1, partition=1)
    producer.send("orders", b"a", partition=0).get(30)
    producer.send("orders", b"b", partition=1).get(30)

    assert (lost.count, unseen.count) == (1, 1)
    assert [record.value for record in kafka.records("orders")] == [b"a", b"b"]
    assert len(kafka.requests(outcome="closed", api="Produce")) == 2


@pytest.mark.parametrize("after_bytes", [None, 3])
def test_each_fault_method_adds_the_rule_that_it_documents(
    kafka: MockKafka, after_bytes: int | None
) -> None:
    kafka.create_topic("t")
    faults = [
        kafka.fail(api="Fetch", error="UNKNOWN_SERVER_ERROR", at="before_response", nth=2),
        kafka.delay(ms=5, every=3),
        kafka.delay(ms=5, at="before_handling", client_id="c"),
        kafka.hang(api="Produce", at="before_handling", skip=1),
        kafka.throttle(api="Metadata", throttle_time_ms=7, mute=False, user="alice"),
        kafka.drop_response(after_bytes=after_bytes, probability=0.5, seed=3),
        kafka.add_fault(topic="t", leader="none", at_once=True),
    ]
    dropped = {"drop": "before_response"} if after_bytes is None else {"drop_after_bytes": 3}
    expected: list[dict[str, object]] = [
        {"api": "Fetch", "error": "UNKNOWN_SERVER_ERROR", "at": "before_response", "nth": 2},
        {"delay_ms": 5, "every": 3},
        {"delay_request_ms": 5, "client_id": "c"},
        {"api": "Produce", "hang": "before_handling", "skip": 1},
        {"api": "Metadata", "throttle_time_ms": 7, "mute": False, "user": "alice"},
        {**dropped, "probability": 0.5, "seed": 3},
        {"topic": "t", "leader": "none", "at_once": True},
    ]
    for fault, rule in zip(faults, expected, strict=True):
        assert fault.rule.items() >= rule.items(), fault


def test_an_error_without_limit_reaches_the_caller_of_send(kafka: MockKafka) -> None:
    kafka.fail(api="Produce", error="NOT_ENOUGH_REPLICAS")
    producer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers, retries=0, enable_idempotence=False
    )
    with pytest.raises(NotEnoughReplicasError):
        producer.send("orders", b"1").get(30)
    producer.close()
    assert kafka.records("orders") == []


def test_the_rules_of_a_cluster_can_be_added_to_it_again(kafka: MockKafka) -> None:
    kafka.delay(api="Fetch", ms=5)
    kafka.hang(api="Produce", nth=2)
    rules = kafka.faults()
    kafka.clear_faults()
    assert [fault.rule for fault in kafka.add_faults(rules)] == [fault.rule for fault in rules]


def test_a_held_request_goes_on_when_the_test_says_so(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    producer.send("orders", b"before", partition=0).get(30)
    with kafka.hold(api="Produce", at="before_response") as held:
        first = producer.send("orders", b"1", partition=0)
        held.wait()
        assert (held.held_count, held.is_used_up, first.is_done) == (1, False, False)
        assert [record.value for record in kafka.records("orders")] == [b"before", b"1"]
        kafka.advance(seconds=1)  # the clock does not release it
        assert held.held_count == 1
        assert kafka.wait_for(outcome="held", api="Produce").fault == "#1 hold before_response"
        held.release(1)
        assert first.get(30).offset == 1
        second = producer.send("orders", b"2", partition=0)
        held.wait(1)
    assert second.get(30).offset == 2
    assert held.is_used_up
    (listed,) = kafka.faults()
    assert isinstance(listed, Hold)


def test_a_test_waits_until_a_rule_has_fired(kafka: MockKafka, producer: KafkaProducer) -> None:
    fault = kafka.fail(api="Produce", error="NOT_ENOUGH_REPLICAS", times=2)
    with pytest.raises(TimeoutError, match="has fired 0 times and holds 0 requests"):
        fault.wait(timeout_s=0.01)
    sent = producer.send("orders", b"1")
    fault.wait(count=2)
    assert fault.count == 2
    sent.get(30)
    kafka.clear_faults()
    with pytest.raises(ControlError, match=f"there is no rule {fault.id}"):
        fault.wait()


def test_the_steps_of_a_sequence_follow_each_other(
    kafka: MockKafka, producer: KafkaProducer
) -> None:
    leader = kafka.topic("orders").partitions[0].leader
    steps = kafka.sequence(
        {"api": "Produce", "topic": "orders", "partition": 0, "leader": "next"},
        {"api": "Produce", "error": "REQUEST_TIMED_OUT", "times": 2},
        {"name": "last", "api": "Metadata", "delay_ms": 0},
    )
    assert [step.is_armed for step in steps] == [True, False, False]
    for value in (b"1", b"2"):
        producer.send("orders", value, partition=0).get(30)
    assert [step.count for step in steps[:2]] == [1, 2]
    assert kafka.topic("orders").partitions[0].leader != leader
    assert [step.rule.get("after") for step in steps] == [None, "step 1", "step 2"]
    assert [record.value for record in kafka.records("orders")] == [b"1", b"2"]
    with pytest.raises(ControlError, match="rule 2: after: there is no rule with the name 'x'"):
        kafka.sequence({"delay_ms": 0}, {"delay_ms": 0, "after": "x"})


async def test_a_coroutine_waits_for_rules_and_releases_requests(kafka: MockKafka) -> None:
    kafka.create_topic("orders")
    held = await kafka.aio.hold(api="Produce", at="before_handling")
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    await producer.start()
    try:
        sent = await producer.send("orders", b"1")
        await kafka.aio.wait_for_fault(held)
        assert not sent.done()
        assert await kafka.aio.records("orders") == []
        await kafka.aio.release(held)
        assert (await sent).offset == 0
    finally:
        await producer.stop()
    await kafka.aio.sequence({"api": "Produce", "delay_ms": 0}, {"delay_ms": 0})
