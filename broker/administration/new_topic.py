"""Check a new topic of CreateTopics, and plan it.

Source: Kafka's `ReplicationControlManager.createTopics`; checks are made in its order.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from broker.administration.placement import (
    PARTITIONS_MAX,
    Assignments,
    check_new_replicas,
    place_new_topic,
)
from broker.cluster.cluster import Cluster
from broker.cluster.made_partitions import make_in_turns
from broker.cluster.topics import Topic, topic_name_problem
from broker.config.api_versions import release_of
from broker.config.key_warnings import warn_of_keys
from broker.config.topic_config import validate_topic_overrides
from broker.config.topic_keys import TOPIC_KEYS
from broker.errors import Refusal
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced_stream

BY_DEFAULT = -1
"""Number of partitions or replicas that stands for the broker's default."""

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
NO_CLUSTER_METADATA = Refusal(
    ErrorCode.INVALID_REQUEST,
    f"Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited.",
)
"""The refusal of the topic that is the controller's log, whatever the client may do."""


@dataclass(frozen=True, slots=True)
class NewTopic:
    """One topic of a CreateTopics request.

    `assignments` are pairs of partition index and replicas, in the order they were sent; empty
    when the client leaves the placement to the cluster.
    """

    name: str
    partition_count: int = BY_DEFAULT
    replication_factor: int = BY_DEFAULT
    assignments: tuple[tuple[int, tuple[int, ...]], ...] = ()
    overrides: Mapping[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic that may be created: replicas by partition index, and its own configuration."""

    name: str
    assignments: Assignments
    overrides: Mapping[str, str]


@may_pause
def check_size(cluster: Cluster, topics: Iterable[NewTopic]) -> Refusal | None:
    """Refuse a request that would create more partitions than the limit of a request."""
    partition_count = 0
    for topic in paced_stream(topics):
        if topic.assignments:
            partition_count += len(topic.assignments)
        elif topic.partition_count == BY_DEFAULT:
            partition_count += cluster.shared_config["num.partitions"]
        else:
            partition_count += max(0, topic.partition_count)
    if partition_count > PARTITIONS_MAX:
        message = "Excessively large number of partitions per request."
        return Refusal(ErrorCode.POLICY_VIOLATION, message)
    return None


@may_pause
def check_new_topic(
    cluster: Cluster, topic: NewTopic, names_of_request: Collection[str] = ()
) -> TopicPlan | Refusal:
    """Return the plan of a new topic, or its first error; change nothing.

    A name may collide with `names_of_request`, those that the same request creates: Kafka compares
    it with the topics from before the request.
    """
    overrides = topic.overrides or {}
    # This may pause, and another request may create the topic then: its name comes after it.
    config_problem = validate_topic_overrides(overrides, release_of(cluster.shared_config))
    refusal = _name_problem(cluster, topic.name, names_of_request)
    if refusal is not None:
        return refusal
    if config_problem is not None:
        return Refusal(ErrorCode.INVALID_CONFIG, config_problem)
    assignments = _manual(cluster, topic) if topic.assignments else _automatic(cluster, topic)
    if isinstance(assignments, Refusal):
        return assignments
    texts = {name: text for name, text in overrides.items() if text is not None}
    return TopicPlan(topic.name, assignments, texts)


@may_pause
def create_planned(
    cluster: Cluster,
    new_topic: NewTopic,
    plan: TopicPlan,
    names_of_request: Collection[str] = (),
    topic_id: UUID | None = None,
) -> Topic | Refusal:
    """Create a topic by its plan, with a new id or this one.

    Many partitions are made with pauses. Another request may create the topic then, or stop a
    broker, so the topic is checked and planned again.
    """
    made = make_in_turns(plan.name, 0, plan.assignments, cluster.alive_broker_ids(), cluster.config)
    if made is not None:
        checked_again = check_new_topic(cluster, new_topic, names_of_request)
        if isinstance(checked_again, Refusal):
            return checked_again
        plan = checked_again
    warn_of_keys(TOPIC_KEYS, plan.overrides, release_of(cluster.shared_config))
    return cluster.create_topic(plan.name, plan.assignments, plan.overrides, made, topic_id)


def _name_problem(cluster: Cluster, name: str, names_of_request: Collection[str]) -> Refusal | None:
    if name == CLUSTER_METADATA_TOPIC:
        return NO_CLUSTER_METADATA
    problem = topic_name_problem(name)
    if problem is not None:
        return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    if cluster.topics.get(name) is not None:
        return Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    other_name = cluster.topics.colliding_name(name, names_of_request)
    if other_name is not None:
        message = f"Topic '{name}' collides with existing topic: {other_name}"
        return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
    return None


def _manual(cluster: Cluster, topic: NewTopic) -> Assignments | Refusal:
    counts = (
        ("replication factor", topic.replication_factor),
        ("numPartitions", topic.partition_count),
    )
    for what, count in counts:
        if count != BY_DEFAULT:
            message = f"A manual partition assignment was specified, but {what} was not set to -1."
            return Refusal(ErrorCode.INVALID_REQUEST, message)
    by_index: dict[int, tuple[int, ...]] = {}
    replication_factor: int | None = None
    for partition_index, replicas in topic.assignments:
        if partition_index in by_index:
            return Refusal(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {partition_index}",
            )
        refusal = check_new_replicas(cluster, replicas, partition_index, replication_factor)
        if refusal is not None:
            return refusal
        by_index[partition_index] = replicas
        replication_factor = len(replicas)
    if set(by_index) != set(range(len(by_index))):
        message = "partitions should be a consecutive 0-based integer sequence"
        return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    return [by_index[partition_index] for partition_index in range(len(by_index))]


def _automatic(cluster: Cluster, topic: NewTopic) -> Assignments | Refusal:
    partition_count, replication_factor = topic.partition_count, topic.replication_factor
    if replication_factor == 0 or replication_factor < BY_DEFAULT:
        message = "Replication factor must be larger than 0, or -1 to use the default value."
        return Refusal(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    if partition_count == 0 or partition_count < BY_DEFAULT:
        message = "Number of partitions was set to an invalid non-positive value."
        return Refusal(ErrorCode.INVALID_PARTITIONS, message)
    if partition_count == BY_DEFAULT:
        partition_count = cluster.shared_config["num.partitions"]
    if replication_factor == BY_DEFAULT:
        replication_factor = cluster.shared_config["default.replication.factor"]
    placed = place_new_topic(cluster, partition_count, replication_factor)
    if isinstance(placed, Refusal):
        message = f"Unable to replicate the partition {replication_factor} time(s): "
        return Refusal(placed.error_code, message + (placed.message or ""))
    return placed
