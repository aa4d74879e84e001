"""Fault rules at every step of the requests of consumer groups and share groups."""

from typing import Any
from uuid import UUID

import pytest

from broker.cluster.coordinators import move_coordinator
from broker.cluster.share_leaders import LedSharePartition
from broker.faults.rule import FaultRule, fault_rule
from broker.produce.append import append_batch
from broker.share_groups.share_state import SharePartitionKey
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.configs import ResourceType
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_context
from tests.broker.connection_driver import request_frame
from tests.broker.faults.faulty_clients import Clients
from tests.broker.faults.requests import TOPIC
from tests.broker.share_driver import ACCEPT, member_id

GROUP = "g"
MEMBER = member_id(1)
VERSION = 1
CLOSED = "closed"

STEPS = [
    ({"drop": "before_handling"}, False, CLOSED),
    ({"hang": "before_handling"}, False, None),
    ({"error": "NOT_COORDINATOR"}, False, ErrorCode.NOT_COORDINATOR),
    ({"error": "NOT_COORDINATOR", "at": "before_response"}, True, ErrorCode.NOT_COORDINATOR),
    ({"drop": "before_response"}, True, CLOSED),
    ({"drop": "within_response"}, True, CLOSED),
    ({"hang": "before_response"}, True, None),
    ({"response": {"error_code": "NOT_COORDINATOR"}}, True, ErrorCode.NOT_COORDINATOR),
    ({"delay_ms": 500}, True, ErrorCode.NONE),
    ({"delay_request_ms": 500}, True, ErrorCode.NONE),
    ({"throttle_time_ms": 700}, True, ErrorCode.NONE),
]
"""A rule, whether the request takes effect, and what the client sees within a second."""


class Group:
    """A member of a share group with a fetch session of both partitions, and fault rules."""

    def __init__(self) -> None:
        self.clients = Clients(
            overrides={
                "cluster.features": "share.version=1",
                "group.share.heartbeat.interval.ms": "5000",
            }
        )
        self.cluster, self.topic = self.clients.cluster, self.clients.topic
        self.correlation_id = 0
        move_coordinator(self.cluster, GROUP, 1, NOW_MS)
        config = self.cluster.config
        earliest = {"share.auto.offset.reset": "earliest"}
        self.cluster.set_config(config.with_resource((ResourceType.GROUP, GROUP), earliest))

    def add(self, **rule: Any) -> None:
        self.clients.dispatcher.faults.add(self.rule(**rule), self.clients.now_ms)

    @staticmethod
    def rule(**rule: Any) -> FaultRule:
        return fault_rule(**rule)

    def ask(self, request: Any, *, within_ms: int = 0) -> Any:
        """Send a request; return the response, `closed`, or None if there is none yet."""
        self.correlation_id += 1
        count = len(self.clients.responses())
        self.clients.send(request_frame(request, VERSION, self.correlation_id))
        self.clients.advance(within_ms)
        assert self.clients.bugs == []
        if self.clients.closed[0] is not None:
            return CLOSED
        found = self.clients.responses()[count:]
        if not found:
            return None
        api_key = ApiKey(request.API_KEY)
        start = 4 + messages.is_flexible(api_key, VERSION)
        return messages.response_class(api_key).decode(found[0][start:], version=VERSION)

    def produce(self, partition_index: int = 0) -> None:
        batch = make_batch(b"v", b"w")
        context = make_context(ApiKey.PRODUCE, 9, now_ms=self.clients.now_ms)
        partition = self.topic.partitions[partition_index]
        append_batch(context, self.cluster, self.topic, partition, batch, 0, len(batch))

    def join_share_group(self) -> None:
        for epoch, names in ((0, [TOPIC]), (2, None)):
            joined = self.ask(
                messages.ShareGroupHeartbeatRequest(
                    group_id=GROUP,
                    member_id=MEMBER,
                    member_epoch=epoch,
                    subscribed_topic_names=names,
                )
            )
            assert joined.error_code == 0, joined

    def acquired(self, partition_index: int = 0) -> int:
        """Return how many records the member has acquired."""
        led = self.led(partition_index)
        if led is None:
            return 0
        return sum(
            batch.last_offset - batch.first_offset + 1
            for batch, _state in led.share_partition.records.acquired_states()
        )

    def led(self, partition_index: int) -> LedSharePartition | None:
        key = SharePartitionKey(GROUP, self.topic.topic_id, partition_index)
        return self.cluster.share.leaders[1].partitions.get(key)


def seen(response: Any) -> Any:
    if response is None or isinstance(response, str):
        return response
    return ErrorCode(response.error_code)


def consumer_heartbeat(member_epoch: int = 0) -> Any:
    return messages.ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id=MEMBER,
        member_epoch=member_epoch,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=[TOPIC],
        topic_partitions=[],
    )


def share_fetch(
    topic_id: UUID, epoch: int, *, partitions: tuple[int, ...] = (0, 1), max_wait_ms: int = 0
) -> Any:
    request_class: Any = messages.ShareFetchRequest
    topic_class = request_class.FetchTopic
    return request_class(
        group_id=GROUP,
        member_id=MEMBER,
        share_session_epoch=epoch,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1_000_000,
        max_records=500,
        batch_size=500,
        topics=[
            topic_class(
                topic_id=topic_id,
                partitions=[
                    topic_class.FetchPartition(partition_index=index) for index in partitions
                ],
            )
        ]
        if partitions
        else [],
    )


def share_acknowledge(topic_id: UUID, epoch: int, *partitions: int) -> Any:
    request_class: Any = messages.ShareAcknowledgeRequest
    topic_class = request_class.AcknowledgeTopic
    partition_class = topic_class.AcknowledgePartition
    return request_class(
        group_id=GROUP,
        member_id=MEMBER,
        share_session_epoch=epoch,
        topics=[
            topic_class(
                topic_id=topic_id,
                partitions=[
                    partition_class(
                        partition_index=index,
                        acknowledgement_batches=[
                            partition_class.AcknowledgementBatch(
                                first_offset=0, last_offset=1, acknowledge_types=[ACCEPT]
                            )
                        ],
                    )
                    for index in partitions
                ],
            )
        ],
    )


def codes(response: Any) -> dict[int, ErrorCode]:
    """Return the error of each partition."""
    assert response.error_code == 0, ErrorCode(response.error_code)
    return {
        part.partition_index: ErrorCode(part.error_code)
        for topic in response.responses
        for part in topic.partitions
    }


# Every step -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("rule", "has_effect", "outcome"), STEPS)
def test_a_consumer_group_heartbeat(rule: dict[str, Any], has_effect: bool, outcome: Any) -> None:
    group = Group()
    group.add(api="ConsumerGroupHeartbeat", group=GROUP, **rule)
    response = group.ask(consumer_heartbeat(), within_ms=1000)
    assert seen(response) == outcome
    assert (GROUP in group.cluster.groups.table) is has_effect
    if "throttle_time_ms" in rule:
        assert response.throttle_time_ms == 700


@pytest.mark.parametrize(("rule", "has_effect", "outcome"), STEPS)
def test_a_share_fetch(rule: dict[str, Any], has_effect: bool, outcome: Any) -> None:
    group = Group()
    group.join_share_group()
    group.produce()
    group.add(api="ShareFetch", group=GROUP, **rule)
    response = group.ask(share_fetch(group.topic.topic_id, 0), within_ms=1000)
    assert seen(response) == outcome
    assert group.acquired() == (2 if has_effect else 0)


@pytest.mark.parametrize(("rule", "has_effect", "outcome"), STEPS)
def test_a_share_acknowledge(rule: dict[str, Any], has_effect: bool, outcome: Any) -> None:
    group = Group()
    group.join_share_group()
    group.produce()
    group.ask(share_fetch(group.topic.topic_id, 0))
    assert group.acquired() == 2
    group.add(api="ShareAcknowledge", **rule)
    response = group.ask(share_acknowledge(group.topic.topic_id, 1, 0), within_ms=1000)
    assert seen(response) == outcome
    assert group.acquired() == (0 if has_effect else 2)


# A part of a share session ----------------------------------------------------------------------


def test_a_rule_for_a_topic_matches_a_share_fetch_whose_session_has_it() -> None:
    group = Group()
    group.join_share_group()
    group.ask(share_fetch(group.topic.topic_id, 0))
    group.add(api="ShareFetch", topic=TOPIC, partition=1, delay_ms=0)
    assert group.ask(share_fetch(group.topic.topic_id, 1, partitions=())) is not None
    (state,) = group.clients.dispatcher.faults.rules()
    assert state.match_count == 1


@pytest.mark.parametrize("epoch", [0, 1])
@pytest.mark.parametrize("at", ["before_handling", "before_response"])
def test_one_partition_of_a_share_fetch_fails_and_the_session_goes_on(epoch: int, at: str) -> None:
    group = Group()
    group.join_share_group()
    topic_id = group.topic.topic_id
    if epoch:
        group.ask(share_fetch(topic_id, 0))
    group.produce(0)
    group.produce(1)
    error = {"error": "NOT_LEADER_OR_FOLLOWER", "at": at}
    group.add(api="ShareFetch", topic=TOPIC, partition=1, times=1, **error)

    named = (0, 1) if epoch == 0 else ()
    response = group.ask(share_fetch(topic_id, epoch, partitions=named))

    assert codes(response) == {0: ErrorCode.NONE, 1: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    is_late = at == "before_response"
    assert (group.acquired(0), group.acquired(1)) == (2, 2 if is_late else 0)
    response = group.ask(share_fetch(topic_id, epoch + 1, partitions=()))
    assert set(codes(response).values()) <= {ErrorCode.NONE}
    assert group.acquired(1) == 2


def test_an_error_for_all_partitions_of_a_session_does_not_wait_for_records() -> None:
    group = Group()
    group.join_share_group()
    topic_id = group.topic.topic_id
    group.ask(share_fetch(topic_id, 0))
    group.add(api="ShareFetch", topic=TOPIC, error="KAFKA_STORAGE_ERROR", times=1)

    response = group.ask(share_fetch(topic_id, 1, partitions=(), max_wait_ms=30_000))

    assert codes(response) == dict.fromkeys((0, 1), ErrorCode.KAFKA_STORAGE_ERROR)
    assert group.ask(share_fetch(topic_id, 2, partitions=())).error_code == 0


def test_a_fetch_that_closes_its_session_closes_the_part_that_fails_too() -> None:
    group = Group()
    group.join_share_group()
    group.produce()
    topic_id = group.topic.topic_id
    group.ask(share_fetch(topic_id, 0))
    group.add(api="ShareFetch", topic=TOPIC, partition=0, error="KAFKA_STORAGE_ERROR")

    group.ask(share_fetch(topic_id, -1, partitions=(0,)))

    assert group.acquired() == 0
    assert len(group.cluster.share.leaders[1].sessions) == 0


def test_one_partition_of_a_share_acknowledge_fails_and_the_other_is_acknowledged() -> None:
    group = Group()
    group.join_share_group()
    group.produce(0)
    group.produce(1)
    topic_id = group.topic.topic_id
    group.ask(share_fetch(topic_id, 0))
    error = ErrorCode.INVALID_RECORD_STATE
    group.add(api="ShareAcknowledge", topic=TOPIC, partition=0, times=1, error=error.name)

    response = group.ask(share_acknowledge(topic_id, 1, 0, 1))
    assert codes(response) == {0: error, 1: ErrorCode.NONE}
    assert (group.acquired(0), group.acquired(1)) == (2, 0)

    group.add(api="ShareAcknowledge", topic=TOPIC, times=1, error=error.name)
    assert codes(group.ask(share_acknowledge(topic_id, 2, 0))) == {0: error}
    assert codes(group.ask(share_acknowledge(topic_id, 3, 0))) == {0: ErrorCode.NONE}


# Time -------------------------------------------------------------------------------------------


def test_the_clock_moves_through_locks_and_then_through_the_session_of_the_member() -> None:
    group = Group()
    group.join_share_group()
    group.produce()
    group.ask(share_fetch(group.topic.topic_id, 0))
    group.clients.advance(29_999)
    assert group.acquired() == 2
    group.clients.advance(1)
    assert group.acquired() == 0

    share_group = group.cluster.share.groups.get(GROUP)
    assert share_group is not None
    group.clients.advance(14_999)
    assert len(share_group.members) == 1
    group.clients.advance(1)
    assert len(share_group.members) == 0
