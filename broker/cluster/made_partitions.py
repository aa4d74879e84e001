"""Make the partitions of a topic. Ten thousand take long, so requests make them in turns."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from broker.cluster.compaction import Compaction
from broker.cluster.producer_rules import new_producers
from broker.cluster.topics import (
    GROUP_METADATA_TOPIC,
    NO_LEADER,
    TRANSACTION_STATE_TOPIC,
    Partition,
    Topic,
)
from broker.config.broker_config import BrokerConfig
from broker.config.synthetic_keys import STORED
from broker.timers import Timers
from protocol.pacing import LOOK_EVERY, current_turn, may_pause, paced_elements

Assignments = Sequence[tuple[int, ...]]
"""Replicas of consecutive partitions; the first replica of each is its preferred leader."""


class MadePartitions(NamedTuple):
    """New partitions that no topic has yet, and what they were made of."""

    partitions: list[Partition]
    first_index: int
    assignments: Assignments
    alive_ids: Sequence[int]
    config: BrokerConfig

    def fits(
        self,
        first_index: int,
        assignments: Assignments,
        alive_ids: Sequence[int],
        config: BrokerConfig,
    ) -> bool:
        """Return whether nothing they were made of has changed."""
        return (
            self.config is config
            and self.first_index == first_index
            and self.alive_ids == alive_ids
            and self.assignments == assignments
        )


@may_pause
def make_partitions(
    topic_name: str,
    first_index: int,
    assignments: Iterable[tuple[int, ...]],
    alive_ids: Sequence[int],
    config: BrokerConfig,
) -> list[Partition]:
    """Return a new partition for each assignment: its replicas, the preferred leader first."""
    is_compacted = topic_name in (GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC)
    in_sync_by_replicas: dict[tuple[int, ...], tuple[int, ...]] = {}
    partitions = []
    for index, assignment in enumerate(assignments, first_index):
        replicas = tuple(assignment)
        in_sync = in_sync_by_replicas.get(replicas)
        if in_sync is None:
            in_sync = tuple(node_id for node_id in replicas if node_id in alive_ids)
            in_sync_by_replicas[replicas] = in_sync
        leader_id = in_sync[0] if in_sync else NO_LEADER
        producers = new_producers(config, leader_id)
        partition = Partition(topic_name, index, replicas, in_sync, leader_id, producers)
        partition.compaction = Compaction() if is_compacted else None
        partitions.append(partition)
    return partitions


@may_pause
def make_in_turns(
    topic_name: str,
    first_index: int,
    assignments: Assignments,
    alive_ids: Sequence[int],
    config: BrokerConfig,
) -> MadePartitions | None:
    """Make many partitions with pauses for other requests; return None for few."""
    if len(assignments) <= LOOK_EVERY or current_turn() is None:
        return None
    paced_assignments = paced_elements(assignments)
    partitions = make_partitions(topic_name, first_index, paced_assignments, alive_ids, config)
    return MadePartitions(partitions, first_index, assignments, alive_ids, config)


def new_partitions(
    topic: Topic,
    assignments: Assignments,
    made: MadePartitions | None,
    alive_ids: Sequence[int],
    config: BrokerConfig,
    timers: Timers,
    freed: Callable[[Partition, int], None],
) -> list[Partition]:
    """Return the next partitions of a topic: those that were made before, if they still fit.

    `timers` are for the compaction of internal topics. `freed` is called with the bytes of batches
    that a partition drops at once.
    """
    made_of = len(topic.partitions), assignments, alive_ids, config
    fits = made is not None and made.fits(*made_of)
    partitions = made.partitions if made and fits else make_partitions(topic.name, *made_of)
    if topic.config["log.records"] != STORED:
        _replace_logs(topic, partitions, freed)
    for partition in partitions:
        if len(partition.isr) < len(partition.replicas):
            partition.replica_ends = {n: 0 for n in partition.replicas if n not in partition.isr}
            topic.hold_or_release(partition)
    if topic.is_internal:
        for partition in partitions:
            if partition.compaction is not None:
                partition.compaction.timers = timers
    return partitions


def _replace_logs(
    topic: Topic, partitions: Iterable[Partition], freed: Callable[[Partition, int], None]
) -> None:
    """Give new partitions the logs of a topic that stores nothing."""
    # Few clusters have such a topic, and none at its start.
    from broker.cluster.discarding_log import DiscardingLog  # noqa: PLC0415
    from broker.cluster.synthetic_log import SyntheticLog  # noqa: PLC0415
    from broker.cluster.synthetic_records import SyntheticRecords  # noqa: PLC0415

    if not topic.is_synthetic:
        for partition in partitions:
            partition.log = DiscardingLog(partial(freed, partition))
        return
    first = topic.partitions[0].log if topic.partitions else None
    if isinstance(first, SyntheticLog):
        records = first.records
    else:
        records = SyntheticRecords(topic.name, topic.config)
    for partition in partitions:
        partition.log = SyntheticLog(records, partition.partition_index)
