"""Requests and outages with `controller.mutation.time.us`, on a clock moved by the test."""

from typing import Any

import pytest

from broker.cluster import failover
from broker.cluster.broker_membership import add_broker, decommission_broker, new_broker
from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.connection_driver import Client, request_frame

OK, TIMED_OUT = ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT
EXISTS = ErrorCode.TOPIC_ALREADY_EXISTS
EXCEEDED = ErrorCode.THROTTLING_QUOTA_EXCEEDED


class Asker:
    """One connection; `response(at_ms)` is the response written by NOW_MS + at_ms, if any."""

    def __init__(self, cluster: Cluster, request: Any, version: int, at_ms: int = 0) -> None:
        self._request, self._version = request, version
        self._client = Client(cluster)
        self._client.send(request_frame(request, version, 7), NOW_MS + at_ms)

    def response(self, at_ms: int) -> Any | None:
        timers = self._client.cluster.timers
        while (due_ms := timers.next_due_ms()) is not None and due_ms <= NOW_MS + at_ms:
            self._client.settle(due_ms)
        self._client.settle(NOW_MS + at_ms)
        assert self._client.bugs == []
        body = self._client.written[
            9 if type(self._request).flexible_version_q(self._version) else 8 :
        ]
        if not body:
            return None
        return messages.response_class(self._request.API_KEY).decode(body, version=self._version)

    def codes(self, at_ms: int) -> list[int] | None:
        response = self.response(at_ms)
        if response is None:
            return None
        results = next(
            getattr(response, name)
            for name in ("topics", "responses", "results")
            if hasattr(response, name)
        )
        return [result.error_code for result in results]


def costly(broker_count: int = 3, /, **config: str) -> Cluster:
    """A cluster whose controller takes 10 ms for a partition."""
    return make_cluster(broker_count, **{"controller.mutation.time.us": "10000", **config})


def create(
    cluster: Cluster, counts: dict[str, int], timeout_ms: int = 60_000, at_ms: int = 0, **rest: Any
) -> Asker:
    topics = [
        messages.CreateTopicsRequest.CreatableTopic(
            name=name, num_partitions=count, replication_factor=1, assignments=[], configs=[]
        )
        for name, count in counts.items()
    ]
    request = messages.CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms, **rest)
    return Asker(cluster, request, 7, at_ms)


def delete(cluster: Cluster, *names: str, timeout_ms: int = 60_000, at_ms: int = 0) -> Asker:
    state = messages.DeleteTopicsRequest.DeleteTopicState
    request = messages.DeleteTopicsRequest(
        topics=[state(name=name) for name in names], timeout_ms=timeout_ms
    )
    return Asker(cluster, request, 6, at_ms)


def grow(cluster: Cluster, name: str, count: int, timeout_ms: int = 60_000) -> Asker:
    topic = messages.CreatePartitionsRequest.CreatePartitionsTopic
    request = messages.CreatePartitionsRequest(
        topics=[topic(name=name, count=count, assignments=None)], timeout_ms=timeout_ms
    )
    return Asker(cluster, request, 3)


def names(cluster: Cluster) -> list[str]:
    return [topic.name for topic in cluster.topics.all()]


def test_topics_appear_together_with_the_response_when_their_time_is_over() -> None:
    cluster = costly()
    asker = create(cluster, {"a": 3, "b": 2})

    assert (asker.codes(49), names(cluster)) == (None, [])
    assert (asker.codes(50), names(cluster)) == ([OK, OK], ["a", "b"])
    # Leaders are spread over the brokers, as without a mutation time.
    assert [part.leader_id for topic in cluster.topics.all() for part in topic.partitions] == [
        1,
        2,
        3,
        1,
        2,
    ]


def test_a_short_timeout_is_timed_out_and_the_topic_appears_later() -> None:
    cluster = costly()
    asker = create(cluster, {"a": 10, "..": 1}, timeout_ms=99)

    assert asker.codes(98) is None
    assert asker.codes(99) == [TIMED_OUT, ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert names(cluster) == []
    assert create(cluster, {"a": 10}, at_ms=99).codes(99) == [EXISTS], "its creation is pending"
    asker.response(100)
    assert names(cluster) == ["a"]
    assert not cluster.controller_queue.pending_topics


def test_requests_are_processed_in_order_of_arrival() -> None:
    cluster = costly()
    first, second = create(cluster, {"a": 10}), create(cluster, {"b": 10})
    assert (first.codes(100), second.codes(100)) == ([OK], None)
    deletion, growth = delete(cluster, "a", at_ms=100), grow(cluster, "a", 15)

    assert second.codes(200) == [OK]
    assert (deletion.codes(299), deletion.codes(300)) == (None, [OK])
    # The topic is deleted before the controller adds its partitions, so they take no time.
    assert growth.codes(300) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert names(cluster) == ["b"]


def test_new_partitions_appear_when_their_time_is_over() -> None:
    cluster = costly()
    topic = cluster.create_topic("a", [(1,)], {})
    asker = grow(cluster, "a", 4, timeout_ms=20)

    assert (asker.codes(20), len(topic.partitions)) == ([TIMED_OUT], 1)
    asker.response(30)
    assert len(topic.partitions) == 4


def test_a_repeated_deletion_takes_time_once() -> None:
    cluster = costly()
    cluster.create_topic("a", [(1,)] * 10, {})
    first = delete(cluster, "a", timeout_ms=50)
    assert (first.codes(50), names(cluster)) == ([TIMED_OUT], ["a"])
    again = delete(cluster, "a", at_ms=50)
    assert again.codes(99) is None

    assert again.codes(100) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert names(cluster) == []


def test_validation_does_not_wait() -> None:
    cluster = costly()
    create(cluster, {"a": 10})
    assert create(cluster, {"b": 10}, validate_only=True).codes(0) == [OK]


def test_a_request_whose_topics_are_all_refused_does_not_wait() -> None:
    cluster = costly()
    create(cluster, {"a": 10})
    assert create(cluster, {"..": 1}).codes(0) == [ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert delete(cluster, "missing").codes(0) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_accepted_topics_are_checked_again_when_they_are_processed() -> None:
    cluster = costly()
    asker = create(cluster, {"a": 10, "b": 1})
    cluster.create_topic("a", [(1,)], {})
    assert asker.codes(110) == [EXISTS, OK]


def test_the_quota_is_charged_before_the_queue_and_its_wait_is_part_of_the_throttle() -> None:
    cluster = costly(
        **{
            "client.quotas": "user=ANONYMOUS,controller_mutation_rate=10",
            "controller.quota.window.num": "1",
        }
    )
    # 20 of a burst of 10 leaves -10 tokens, which take a second to refill; the event takes 200 ms.
    asker = create(cluster, {"a": 20, "b": 1})
    assert create(cluster, {"c": 1}).codes(0) == [EXCEEDED]

    assert asker.codes(199) is None
    assert asker.codes(200) == [OK, EXCEEDED]
    response = asker.response(200)
    assert response is not None
    assert response.throttle_time_ms == 800


def test_auto_creation_waits_too_and_is_charged_once() -> None:
    cluster = costly(
        **{
            "num.partitions": "5",
            "client.quotas": "user=ANONYMOUS,controller_mutation_rate=1",
        }
    )
    create(cluster, {"first": 2})
    topic = messages.MetadataRequest.MetadataRequestTopic(name="a")
    request = messages.MetadataRequest(topics=[topic], allow_auto_topic_creation=True)
    for _ in range(3):
        missing = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert Asker(cluster, request, 12).codes(0) == missing
    (tokens,) = [
        measurement.value
        for measurement in cluster.quotas.metrics.measure(NOW_MS)
        if (measurement.group, measurement.name) == ("ControllerMutation", "tokens")
    ]
    assert tokens == 11 - 2 - 5

    assert Asker(cluster, request, 12, 69).codes(69) == missing
    cluster.timers.run_due(NOW_MS + 70)
    assert Asker(cluster, request, 12, 70).codes(70) == [OK]


def test_leaders_of_a_stopped_broker_move_when_the_controller_processes_the_election() -> None:
    cluster = costly()
    partition = cluster.create_topic("p", [(2, 3)], {}).partitions[0]
    waiting = create(cluster, {"a": 10})

    failover.stop_broker(cluster, 2, NOW_MS)
    assert cluster.brokers[2].availability is Availability.DOWN
    assert waiting.codes(99) is None
    assert (partition.leader_id, partition.isr, cluster.alive_broker_ids()) == (
        2,
        (2, 3),
        [1, 2, 3],
    )

    assert waiting.codes(100) == [OK]
    assert (partition.leader_id, partition.isr, cluster.alive_broker_ids()) == (3, (3,), [1, 3])


def test_a_broker_started_before_its_election_is_fenced_and_unfenced_in_order() -> None:
    cluster = costly()
    partition = cluster.create_topic("p", [(2, 3)], {}).partitions[0]
    waiting = create(cluster, {"a": 10})
    failover.stop_broker(cluster, 2, NOW_MS)
    failover.stop_broker(cluster, 2, NOW_MS)
    failover.start_broker(cluster, 2, NOW_MS)
    assert cluster.brokers[2].availability is Availability.UP

    waiting.response(100)
    assert (partition.leader_id, partition.isr) == (3, (2, 3))
    assert cluster.alive_broker_ids() == [1, 2, 3]


def test_a_broker_that_is_stopped_again_before_it_is_unfenced_stays_down() -> None:
    cluster = costly()
    partition = cluster.create_topic("p", [(2, 3)], {}).partitions[0]
    failover.stop_broker(cluster, 2, NOW_MS)
    waiting = create(cluster, {"a": 10})
    failover.start_broker(cluster, 2, NOW_MS)
    failover.stop_broker(cluster, 2, NOW_MS)

    waiting.response(100)
    assert (partition.leader_id, partition.isr, cluster.alive_broker_ids()) == (3, (3,), [1, 3])


def test_a_broker_is_decommissioned_after_its_leaders_moved() -> None:
    cluster = costly()
    partition = cluster.create_topic("p", [(2, 3)], {}).partitions[0]
    waiting = create(cluster, {"a": 10})
    decommission_broker(cluster, 2, NOW_MS)
    decommission_broker(cluster, 2, NOW_MS)
    assert 2 in cluster.brokers

    waiting.response(100)
    assert (partition.leader_id, sorted(cluster.brokers)) == (3, [1, 3])
    add_broker(cluster, new_broker(cluster, 2), NOW_MS + 100)
    assert cluster.alive_broker_ids() == [1, 2, 3]


def test_two_queued_decommissions_do_not_remove_the_last_broker() -> None:
    cluster = costly(2)
    waiting = create(cluster, {"a": 10})
    decommission_broker(cluster, 1, NOW_MS)
    decommission_broker(cluster, 2, NOW_MS)
    waiting.response(100)
    assert sorted(cluster.brokers) == [2]


def elect(timeout_ms: int, *, everything: bool = False) -> Any:
    topic = messages.ElectLeadersRequest.TopicPartitions
    return messages.ElectLeadersRequest(
        election_type=0,
        topic_partitions=None if everything else [topic(topic="p", partitions=[0])],
        timeout_ms=timeout_ms,
    )


@pytest.mark.parametrize("everything", [False, True])
def test_a_requested_election_waits_or_times_out(*, everything: bool) -> None:
    cluster = costly()
    partition = cluster.create_topic("p", [(2, 3)], {}).partitions[0]
    cluster.move_leader(partition, 3, NOW_MS)
    create(cluster, {"a": 10})
    quick = Asker(cluster, elect(50, everything=everything), 2)
    slow = Asker(cluster, elect(200, everything=everything), 2)

    timed_out = quick.response(50)
    assert timed_out is not None
    assert timed_out.error_code == TIMED_OUT
    results = [
        part.error_code
        for topic in timed_out.replica_election_results
        for part in topic.partition_result
    ]
    assert results == ([] if everything else [TIMED_OUT])
    assert (slow.response(99), partition.leader_id) == (None, 3)
    done = slow.response(100)
    assert done is not None
    assert (done.error_code, partition.leader_id) == (OK, 2)


def test_a_reassignment_waits_or_times_out() -> None:
    cluster = costly()
    partition = cluster.create_topic("p", [(2, 3)], {}).partitions[0]
    create(cluster, {"a": 10})
    topic = messages.AlterPartitionReassignmentsRequest.ReassignableTopic
    request = messages.AlterPartitionReassignmentsRequest(
        timeout_ms=50,
        topics=[
            topic(
                name="p",
                partitions=[topic.ReassignablePartition(partition_index=0, replicas=[1, 2])],
            )
        ],
    )
    asker = Asker(cluster, request, 0)

    response = asker.response(50)
    assert response is not None
    assert response.responses[0].partitions[0].error_code == TIMED_OUT
    assert partition.replicas == (2, 3)
    asker.response(100)
    assert (partition.replicas, partition.leader_id) == ((1, 2), 2)


def test_the_mutation_time_can_be_changed_while_the_cluster_runs() -> None:
    cluster = make_cluster(1)
    resource = messages.IncrementalAlterConfigsRequest.AlterConfigsResource
    request = messages.IncrementalAlterConfigsRequest(
        resources=[
            resource(
                resource_type=4,
                resource_name="",
                configs=[
                    resource.AlterableConfig(
                        name="controller.mutation.time.us", config_operation=0, value="2500"
                    )
                ],
            )
        ],
        validate_only=False,
    )
    assert Asker(cluster, request, 1).codes(0) == [OK]
    asker = create(cluster, {"a": 2})
    assert (asker.codes(4), asker.codes(5)) == (None, [OK])


def test_a_reset_drops_waiting_events() -> None:
    cluster = costly()
    create(cluster, {"a": 10})
    cluster.reset()
    assert len(cluster.controller_queue) == 0
    assert create(cluster, {"a": 1}).codes(10) == [OK]
