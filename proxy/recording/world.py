"""A recorded world: the document of a cluster, which `MockKafka(snapshot="world.mk")` loads."""

import gzip
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import msgspec

from broker.http_admin.acls import AclBody
from broker.http_admin.quotas import QuotaView
from broker.http_admin.recorded_parts import AskedRequest, RecordedBroker, RecordedCluster
from broker.http_admin.snapshot_document import (
    SavedConfig,
    SavedOffset,
    SavedPartition,
    SavedRecord,
    SavedTopic,
    Snapshot,
)
from broker.produce.restore_records import OFFSETS_MAX
from client.resources import PartitionKey, TopicDescription
from proxy.recording.cluster_reader import ClusterReader
from proxy.recording.kept_records import KeptRecords
from proxy.recording.log_reader import LogEnds

_GZIP_SUFFIX = ".gz"


@dataclass(frozen=True, slots=True)
class ClusterParts:
    """What a cluster has beside records."""

    topics: Sequence[TopicDescription]
    configs: Mapping[str, dict[str, str]]
    """The configuration that is set on each topic."""
    ends: Mapping[PartitionKey, LogEnds]
    offsets: list[SavedOffset]
    other_configs: list[SavedConfig]
    """What is set on groups and client metrics."""
    quotas: list[QuotaView]
    acls: list[AclBody]
    cluster: RecordedCluster


def read_parts(reader: ClusterReader) -> ClusterParts:
    """Read a cluster; this blocks.

    Raises:
        ClientError: it cannot be reached, or refuses to name its topics.
    """
    topics = reader.topics()
    groups = reader.groups()
    # Before the ends of the logs: what is committed later may be past these ends.
    offsets = reader.offsets(groups, topics)
    return ClusterParts(
        topics,
        reader.configs(topics),
        reader.log_ends(topics),
        offsets,
        reader.other_configs(),
        reader.quotas(),
        reader.acls(),
        reader.cluster(groups),
    )


def world_of(
    parts: ClusterParts,
    kept: KeptRecords,
    requests: Sequence[AskedRequest] = (),
    *,
    has_leader_epochs: bool = False,
) -> Snapshot:
    """Return the document of a cluster, with the records that are kept.

    Committed offsets have no leader epochs, because the topics of the cluster that loads them begin
    with other ones; with `has_leader_epochs` they have.
    """
    node_ids = _node_ids(parts.cluster.brokers)
    brokers = [
        RecordedBroker(node_ids[broker.node_id], broker.rack) for broker in parts.cluster.brokers
    ]
    world = _World(kept, parts.ends, node_ids)
    return Snapshot(
        topics=[world.topic(topic, parts.configs.get(topic.name, {})) for topic in parts.topics],
        offsets=[
            offset if has_leader_epochs else msgspec.structs.replace(offset, leader_epoch=-1)
            for offset in parts.offsets
        ],
        configs=parts.other_configs,
        quotas=parts.quotas,
        acls=parts.acls,
        cluster=msgspec.structs.replace(parts.cluster, brokers=brokers),
        requests=list(requests),
    )


def write_world(path: Path, world: Snapshot) -> None:
    """Write a document at once: readers see the one before it, or all of it.

    It is compressed if the name ends with `.gz`.

    Raises:
        OSError: the file cannot be written.
    """
    data = msgspec.json.format(msgspec.json.encode(world), indent=1) + b"\n"
    if path.suffix == _GZIP_SUFFIX:
        data = gzip.compress(data, mtime=0)
    written = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        written.write_bytes(data)
        written.replace(path)
    finally:
        written.unlink(missing_ok=True)


def _node_ids(brokers: Sequence[RecordedBroker]) -> dict[int, int]:
    """Return the node ids of the document, which count on from the first one."""
    node_ids = [broker.node_id for broker in brokers]
    is_consecutive = node_ids == list(range(node_ids[0], node_ids[0] + len(node_ids)))
    return dict(zip(node_ids, node_ids if is_consecutive else count(1), strict=False))


@dataclass(frozen=True, slots=True)
class _World:
    """Makes the topics of a document."""

    kept: KeptRecords
    ends: Mapping[PartitionKey, LogEnds]
    node_ids: Mapping[int, int]

    def topic(self, topic: TopicDescription, config: dict[str, str]) -> SavedTopic:
        """Return a topic with its configuration and records."""
        partitions = [
            self._partition((topic.name, partition.index), partition.replica_ids)
            for partition in topic.partitions
        ]
        return SavedTopic(topic.name, partitions, config, topic.topic_id)

    def _partition(self, key: PartitionKey, replica_ids: Sequence[int]) -> SavedPartition:
        records = self.kept.records(key)
        first = records[0].offset if records else None
        next_offset = records[-1].offset + 1 if records else 0
        ends = self.ends.get(key, LogEnds(first or 0, next_offset))
        # Retention and DeleteRecords may have removed what was seen before.
        start = ends.log_start_offset if first is None else min(ends.log_start_offset, first)
        end = max(ends.log_end_offset, next_offset)
        before = (end if first is None else first) - start
        if before > OFFSETS_MAX:  # more offsets without a record than can be loaded
            start += before
        return SavedPartition(
            [self.node_ids[node_id] for node_id in replica_ids if node_id in self.node_ids],
            log_start_offset=start,
            log_end_offset=end,
            records=[SavedRecord.of(record) for record in records],
        )
