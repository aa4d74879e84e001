from typing import Any

import pytest
from structlog.testing import capture_logs

from broker.administration.new_topic import (
    NewTopic,
    TopicPlan,
    check_new_topic,
    check_size,
    create_planned,
)
from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.errors import Refusal
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.interleaving import once, run_with_pauses
from tests.protocol.counting_turn import pauses_of

REFUSED: list[tuple[NewTopic, ErrorCode, str]] = [
    (NewTopic(""), ErrorCode.INVALID_TOPIC_EXCEPTION, "empty string"),
    (NewTopic(".."), ErrorCode.INVALID_TOPIC_EXCEPTION, "'..' is not allowed"),
    (NewTopic("x" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION, "249"),
    (NewTopic("a/b"), ErrorCode.INVALID_TOPIC_EXCEPTION, "ASCII alphanumerics"),
    (NewTopic("old_topic"), ErrorCode.INVALID_TOPIC_EXCEPTION, "collides with existing topic"),
    (
        NewTopic("__cluster_metadata"),
        ErrorCode.INVALID_REQUEST,
        "Creation of internal topic __cluster_metadata is prohibited.",
    ),
    (NewTopic("old.topic"), ErrorCode.TOPIC_ALREADY_EXISTS, "'old.topic' already exists"),
    (NewTopic("a", 0), ErrorCode.INVALID_PARTITIONS, "non-positive"),
    (NewTopic("a", -2), ErrorCode.INVALID_PARTITIONS, "non-positive"),
    (NewTopic("a", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR, "larger than 0"),
    (NewTopic("a", 1, -2), ErrorCode.INVALID_REPLICATION_FACTOR, "larger than 0"),
    (
        NewTopic("a", 1, 4),
        ErrorCode.INVALID_REPLICATION_FACTOR,
        (
            "Unable to replicate the partition 4 time(s): The target replication factor of 4 "
            "cannot be reached because only 3 broker(s) are registered or some brokers have all "
            "their log directories cordoned."
        ),
    ),
    (NewTopic("a", overrides={"no.such.key": "1"}), ErrorCode.INVALID_CONFIG, "no.such.key"),
    (NewTopic("a", overrides={"retention.ms": "soon"}), ErrorCode.INVALID_CONFIG, "retention.ms"),
    (NewTopic("a", overrides={"retention.ms": None}), ErrorCode.INVALID_CONFIG, "Null value"),
    # Of several errors, the first in Kafka's order is returned.
    (NewTopic("a", 0, overrides={"no.such.key": "1"}), ErrorCode.INVALID_CONFIG, "no.such.key"),
    (NewTopic("a", 0, 0), ErrorCode.INVALID_REPLICATION_FACTOR, "larger than 0"),
    (NewTopic("a", 1, -1, ((0, (1,)),)), ErrorCode.INVALID_REQUEST, "numPartitions"),
    (NewTopic("a", -1, 1, ((0, (1,)),)), ErrorCode.INVALID_REQUEST, "replication factor"),
    (NewTopic("a", 1, 1, ((0, (1,)),)), ErrorCode.INVALID_REQUEST, "replication factor"),
]
BAD_ASSIGNMENTS: list[tuple[tuple[tuple[int, tuple[int, ...]], ...], str]] = [
    (((0, ()),), "empty replica list"),
    (((0, (9,)),), "broker 9, but no such broker"),
    (((0, (1, 1)),), "broker 1 more than once"),
    (((0, (1,)), (0, (2,))), "multiple manual partition assignments for partition 0"),
    (((0, (1,)), (1, (1, 2))), "2 replica(s), but this is not consistent"),
    (((1, (1,)),), "consecutive 0-based"),
    (((0, (1,)), (2, (1,))), "consecutive 0-based"),
    (((-1, (1,)), (0, (1,))), "consecutive 0-based"),
    (((0, (3,)),), "partition 0 are fenced"),
]


def cluster_with_a_topic() -> Any:
    cluster = make_cluster()
    cluster.create_topic("old.topic", [(1,)], {})
    return cluster


@pytest.mark.parametrize(("topic", "error_code", "words"), REFUSED)
def test_an_invalid_topic_is_refused_with_a_message(
    topic: NewTopic, error_code: ErrorCode, words: str
) -> None:
    refusal = check_new_topic(cluster_with_a_topic(), topic)

    assert isinstance(refusal, Refusal)
    assert refusal.error_code is error_code
    assert words in (refusal.error_message or "")


@pytest.mark.parametrize(("assignments", "words"), BAD_ASSIGNMENTS)
def test_an_invalid_assignment_is_refused_with_a_message(
    assignments: tuple[tuple[int, tuple[int, ...]], ...], words: str
) -> None:
    cluster = make_cluster()
    failover.stop_broker(cluster, 3, NOW_MS)

    refusal = check_new_topic(cluster, NewTopic("a", assignments=assignments))

    assert isinstance(refusal, Refusal)
    assert refusal.error_code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert words in (refusal.error_message or "")


def test_the_longest_name_and_every_valid_character_are_accepted() -> None:
    cluster = make_cluster()

    for name in ("x" * 249, "aZ09._-"):
        assert isinstance(check_new_topic(cluster, NewTopic(name)), TopicPlan)


def test_checking_changes_nothing() -> None:
    cluster = make_cluster()

    plans = [check_new_topic(cluster, NewTopic("a", 3, 2)) for _ in range(2)]

    assert plans[0] == plans[1]
    assert len(cluster.topics) == 0


def test_without_brokers_that_are_up_no_topic_can_be_placed() -> None:
    cluster = make_cluster(1)
    failover.stop_broker(cluster, 1, NOW_MS)

    refusal = check_new_topic(cluster, NewTopic("a", 1, 1))

    assert isinstance(refusal, Refusal)
    assert refusal.error_code is ErrorCode.INVALID_REPLICATION_FACTOR


def test_the_bound_on_partitions_counts_defaults_assignments_and_numbers() -> None:
    cluster = make_cluster(**{"num.partitions": "6000"})
    by_hand = NewTopic("b", assignments=tuple((index, (1,)) for index in range(4000)))

    assert check_size(cluster, [NewTopic("a"), by_hand]) is None
    assert check_size(cluster, [NewTopic("a"), by_hand, NewTopic("c", -7)]) is None
    refusal = check_size(cluster, [NewTopic("a"), by_hand, NewTopic("c", 1)])
    assert refusal is not None
    assert refusal.error_code is ErrorCode.POLICY_VIOLATION


def test_a_topic_that_another_request_creates_during_a_pause_exists() -> None:
    cluster = make_cluster()
    outcome = run_with_pauses(
        lambda: check_new_topic(cluster, NewTopic("t", overrides={"retention.ms": "1"})),
        once(lambda: cluster.create_topic("t", [(1,)], {})),
    )
    assert outcome == Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 't' already exists.")


def create_large(cluster: Cluster) -> Topic | Refusal:
    """Create a topic of 1,000 partitions by its plan."""
    new_topic = NewTopic("large", 1000, 2)
    plan = check_new_topic(cluster, new_topic)
    assert isinstance(plan, TopicPlan)
    return create_planned(cluster, new_topic, plan)


def test_many_partitions_are_made_with_pauses_as_they_are_without() -> None:
    clusters = make_cluster(), make_cluster()
    assert pauses_of(lambda: create_large(clusters[0])) >= 1000 // 64
    create_large(clusters[1])
    paced, unpaced = (cluster.topics.get("large") for cluster in clusters)
    assert paced is not None
    assert unpaced is not None
    assert [
        (part.topic_name, part.partition_index, part.replicas, part.isr, part.leader_id)
        for part in paced.partitions
    ] == [
        (part.topic_name, part.partition_index, part.replicas, part.isr, part.leader_id)
        for part in unpaced.partitions
    ]
    # The next topic begins at the same broker.
    assert clusters[0].place(3, 1) == clusters[1].place(3, 1)


def test_a_large_topic_that_another_request_creates_during_a_pause_exists() -> None:
    cluster = make_cluster()
    outcome = run_with_pauses(
        lambda: create_large(cluster), once(lambda: cluster.create_topic("large", [(1,)], {}))
    )
    assert outcome == Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'large' already exists.")
    topic = cluster.topics.get("large")
    assert topic is not None
    assert len(topic.partitions) == 1


def test_no_partition_of_a_large_topic_is_on_a_broker_that_stopped_during_a_pause() -> None:
    cluster = make_cluster()
    outcome = run_with_pauses(
        lambda: create_large(cluster), once(lambda: failover.stop_broker(cluster, 2, NOW_MS))
    )
    assert isinstance(outcome, Topic)
    assert len(outcome.partitions) == 1000
    assert {part.leader_id for part in outcome.partitions} == {1, 3}
    assert not any(2 in part.isr for part in outcome.partitions)


def test_a_new_topic_with_a_list_that_repeats_elements_is_told() -> None:
    cluster = make_cluster(**{"broker.api.versions": "4.2"})
    new_topic = NewTopic("a", overrides={"cleanup.policy": "compact,compact"})
    plan = check_new_topic(cluster, new_topic)
    assert isinstance(plan, TopicPlan)

    with capture_logs() as lines:
        created = create_planned(cluster, new_topic, plan)

    assert isinstance(created, Topic)
    assert [line["key"] for line in lines] == ["cleanup.policy"]
