"""The batches of a Produce request, read and checked before any of them is appended.

Some errors fail the request: then no batch is stored, and each partition gets the error.

Source: Kafka's `KafkaApis.handleProduceRequest` and `ReplicaManager.handleProduceAppend`.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.produce.batch_check import BatchRefusal, is_transactional, read_batch
from protocol.errors import ErrorCode
from protocol.pacing import LOOK_EVERY, paced_elements
from protocol.produce import PartitionData, ProduceRequest, TopicData
from protocol.records import TRANSACTIONAL_FLAG, BatchHeader

PartitionKey: TypeAlias = tuple[str | UUID, int]
"""Name or id of a topic, and the index of a partition."""
PartitionBatch: TypeAlias = tuple[PartitionData, BatchHeader | BatchRefusal]

_NO_TRANSACTIONAL_ID = BatchRefusal(
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, fails_request=True
)
_SEVERAL_PRODUCERS = BatchRefusal(
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    "Transactional records contained more than one producer ID",
    fails_request=True,
)


TopicBatches: TypeAlias = tuple[TopicData, Topic | None, list[PartitionBatch]]
"""The partitions of a topic; the topic is None if it does not exist."""
NOTHING_REFUSED: Mapping[PartitionKey, BatchRefusal] = {}


RequestBatches: TypeAlias = tuple[list[TopicBatches], Mapping[PartitionKey, BatchRefusal]]
"""Each topic and partition once; topics without partitions are left out.

The second are the partitions that occurred several times and have a batch that is refused: that is
their result, also if another of their batches is appended. Plain tuples, for the hot path.
"""


def topic_key(topic_data: TopicData) -> str | UUID:
    """Return what names a topic in its request."""
    return topic_data.name if topic_data.topic_id is None else topic_data.topic_id


def read_batches(
    request: ProduceRequest,
    broker_id: int,
    cluster: Cluster,
    frame: bytes | bytearray,
    api_version: int,
) -> RequestBatches | BatchRefusal:
    """Read the batches of a request, or return why all of it is refused."""
    needs_id = request.transactional_id is None
    has_failures = has_several = False
    topics: list[TopicBatches] = []
    requested = request.topics
    for topic_data in requested if len(requested) <= LOOK_EVERY else paced_elements(requested):
        if topic_data.topic_id is None:
            topic = cluster.topics.get(topic_data.name)
        else:
            topic = cluster.topics.get_by_id(topic_data.topic_id)
        if topic is not None and topic.by_broker:
            topic = topic.on_broker(broker_id)
        batches: list[PartitionBatch] = []
        parts = topic_data.partitions
        for part in parts if len(parts) <= LOOK_EVERY else paced_elements(parts):
            _index, start, end = part
            header = read_batch(frame, start, end, api_version)
            if isinstance(header, BatchRefusal):
                refusal = _unreadable(header, frame, start, end, needs_id=needs_id)
                if refusal is not None:
                    return refusal
                has_failures = has_failures or header.fails_request
            elif needs_id and header.attributes & TRANSACTIONAL_FLAG:
                return _NO_TRANSACTIONAL_ID
            batches.append((part, header))
        if batches:
            topics.append((topic_data, topic, batches))
            has_several = has_several or len(batches) > 1
    if has_failures or not needs_id:
        refusal = _request_refusal(topics)
        if refusal is not None:
            return refusal
    if (has_several or len(topics) > 1) and not _is_unique(topics):
        return _merge(topics)
    return topics, NOTHING_REFUSED


def _unreadable(
    refusal: BatchRefusal, frame: bytes | bytearray, start: int, end: int, *, needs_id: bool
) -> BatchRefusal | None:
    """Return the error of the request for a batch that is refused, wherever it should go."""
    if refusal.error_code is ErrorCode.CORRUPT_MESSAGE and refusal.fails_request:
        return refusal
    return _NO_TRANSACTIONAL_ID if needs_id and is_transactional(frame, start, end) else None


def _request_refusal(topics: Sequence[TopicBatches]) -> BatchRefusal | None:
    """Return the error of the request for batches of partitions that exist."""
    producers = set()
    for _topic_data, topic, batches in paced_elements(topics):
        for part, header in paced_elements(batches):
            if topic is None or topic.partition(part.partition_index) is None:
                continue
            if isinstance(header, BatchRefusal):
                if header.fails_request:
                    return header
            elif header.attributes & TRANSACTIONAL_FLAG and header.producer_id >= 0:
                producers.add((header.producer_id, header.producer_epoch))
    return _SEVERAL_PRODUCERS if len(producers) > 1 else None


def _is_unique(topics: Sequence[TopicBatches]) -> bool:
    """Whether no topic and no partition occurs twice."""
    if len(topics) > 1 and len({topic_key(topic_data) for topic_data, _, _ in topics}) < len(
        topics
    ):
        return False
    for _topic_data, _topic, batches in paced_elements(topics):
        if len(batches) > 1 and len({part.partition_index for part, _ in batches}) < len(batches):
            return False
    return True


def _merge(topics: Sequence[TopicBatches]) -> RequestBatches:
    """Merge the topics that occur several times; of a partition's valid batches the last counts."""
    merged: dict[str | UUID, TopicBatches] = {}
    chosen: dict[PartitionKey, PartitionBatch] = {}
    refused: dict[PartitionKey, BatchRefusal] = {}
    for topic_data, topic, batches in paced_elements(topics):
        name = topic_key(topic_data)
        merged.setdefault(name, (topic_data, topic, []))
        for part, header in paced_elements(batches):
            key = (name, part.partition_index)
            if isinstance(header, BatchRefusal):
                refused[key] = header
                chosen.setdefault(key, (part, header))
            else:
                chosen[key] = (part, header)
    for (name, _index), batch in chosen.items():
        merged[name][2].append(batch)
    return list(merged.values()), refused
