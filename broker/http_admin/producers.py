"""The producer state of partitions."""

from typing import Annotated

import msgspec

from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.operation import Input, PartitionIndex, operation
from broker.http_admin.state import Admin
from producer_state.counts import count
from protocol.pacing import may_pause, paced, paced_elements


class ProducersQuery(Input):
    """The partitions, and the number of producers of each."""

    topic: str | None = None
    partition: PartitionIndex | None = None
    limit: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 100


class ProducerView(msgspec.Struct):
    """One idempotent producer in a partition; `last_sequence` is -1 before its first batch."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int


class PartitionProducersView(msgspec.Struct):
    """The producer state of a partition; `producers` are the first by id."""

    topic: str
    partition: int
    count: int
    bytes: int
    producers: list[ProducerView]


class ProducersView(msgspec.Struct):
    """The size of all producer state, and the state by partition."""

    count: int
    bytes: int
    partitions: list[PartitionProducersView]


@operation("GET", "/v1/producers", tag="producers", turn_kind=TurnKind.READING)
@may_pause
def list_producers(admin: Admin, query: ProducersQuery) -> ProducersView:
    """Return the state of idempotent producers by partition, and its memory."""
    all_topics = admin.cluster.topics.all()
    topics = all_topics if query.topic is None else [admin.topic(query.topic)]
    partitions = [
        partition
        for topic in paced(topics)
        for partition in topic.partitions
        if query.partition in {None, partition.partition_index}
    ]
    total = count(partition.producers for partition in paced(partitions))
    views = [
        PartitionProducersView(
            partition.topic_name,
            partition.partition_index,
            len(partition.producers),
            partition.producers.bytes_held(),
            [
                ProducerView(*producer[:4])
                for producer in paced_elements(partition.producers.describe(query.limit))
            ],
        )
        for partition in paced(partitions)
        if len(partition.producers)
    ]
    return ProducersView(total.producer_ids, total.bytes_held, views)
