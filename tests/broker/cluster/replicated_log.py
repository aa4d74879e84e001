"""A topic `t` with one partition of several replicas, and its log."""

from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition, Topic
from broker.produce.append import append_batch
from protocol.api_keys import ApiKey
from protocol.records import read_records
from tests.batches import make_batch
from tests.broker.cluster_builder import make_cluster, make_context

UNCLEAN = {"unclean.leader.election.enable": "true"}
ALL_BYTES = 2**40


def replicated(
    replicas: tuple[int, ...] = (1, 2), **overrides: str
) -> tuple[Cluster, Topic, Partition]:
    """A cluster of three brokers; the topic elects unclean leaders."""
    cluster = make_cluster(3, **overrides)
    topic = cluster.create_topic("t", [replicas], UNCLEAN)
    return cluster, topic, topic.partitions[0]


def append(cluster: Cluster, *values: bytes, acks: int = 1, **batch: Any) -> Any:
    """Append a batch at the leader; `batch` are arguments of `make_batch`."""
    topic = cluster.topics.get("t")
    assert topic is not None
    partition = topic.partitions[0]
    data = make_batch(*values, **batch)
    context = make_context(ApiKey.PRODUCE, 9, broker_id=partition.leader_id)
    return append_batch(context, cluster, topic, partition, data, 0, len(data), acks=acks)


def values_of(partition: Partition) -> list[bytes | None]:
    """The values of all records in the log."""
    log = partition.log
    batches = log.read(log.log_start_offset, ALL_BYTES, at_least_one=True)
    return [record.value for batch in batches for record in read_records(batch)]


def ends(partition: Partition) -> tuple[int, int]:
    """High watermark and log end offset."""
    return partition.log.high_watermark, partition.log.log_end_offset
