"""The batches of a Produce request that is not plain, checked before any of them is appended.

Some errors fail the request: then no batch is stored, and each partition gets the error.

Source: Kafka's `KafkaApis.handleProduceRequest` and `ReplicaManager.handleProduceAppend`.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

from broker.authorization.checks import WRITE_TOPIC, WRITE_TRANSACTIONAL_ID
from broker.cluster.cluster import Cluster
from broker.produce.batch_check import ReadBatch, batch_end, is_transactional, read_batch
from broker.produce.batch_refusal import BatchRefusal
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced_elements
from protocol.produce import ZSTD_VERSION_MIN
from protocol.produce_decoder import TopicBatches
from protocol.records import TRANSACTIONAL_FLAG, HeaderFields

PartitionKey: TypeAlias = tuple[str | UUID, int]
"""Name or id of a topic, and the index of a partition."""

_NO_TRANSACTIONAL_ID = BatchRefusal(WRITE_TRANSACTIONAL_ID.error_code, fails_request=True)
_SEVERAL_PRODUCERS = BatchRefusal(
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    "Transactional records contained more than one producer ID",
    fails_request=True,
)

ReadTopic: TypeAlias = tuple[str, UUID | None, Sequence[ReadBatch]]
NOTHING_REFUSED: Mapping[PartitionKey, BatchRefusal] = {}
CheckedBatches: TypeAlias = tuple[Sequence[ReadTopic], Mapping[PartitionKey, BatchRefusal]]
"""Each topic and partition once; topics without partitions are left out.

The second are the partitions that occurred several times and have a batch that is refused: that is
their result, also if another of their batches is appended.
"""


@may_pause
def read_batches(
    context: RequestContext,
    topics: Sequence[TopicBatches],
    transactional_id: str | None,
    cluster: Cluster,
    frame: bytes | bytearray,
) -> CheckedBatches | BatchRefusal:
    """Check the batches of a request together, or return why all of it is refused."""
    api_version = context.api_version
    is_old = api_version < ZSTD_VERSION_MIN
    needs_id = transactional_id is None or not is_allowed(
        context, cluster, WRITE_TRANSACTIONAL_ID, transactional_id, is_noted=False
    )
    has_failures = has_several = False
    read: list[ReadTopic] = []
    for name, topic_id, parts in paced_elements(topics):
        batches: list[ReadBatch] = []
        for index, start, records_end, known in paced_elements(parts):
            end = records_end
            header: HeaderFields | BatchRefusal = (
                read_batch(frame, start, end, api_version) if known is None or is_old else known
            )
            if isinstance(header, BatchRefusal):
                if header.error_code is ErrorCode.CORRUPT_MESSAGE and header.fails_request:
                    return header
                if needs_id and is_transactional(frame, start, end):
                    return _refuse_id(context, cluster, transactional_id)
                has_failures = has_failures or header.fails_request
            elif needs_id and header[5] & TRANSACTIONAL_FLAG:
                return _refuse_id(context, cluster, transactional_id)
            else:  # a few bytes behind the batch are ignored
                end = batch_end(header, start)
            batches.append((index, start, end, header))
        if batches:
            read.append((name, topic_id, batches))
            has_several = has_several or len(batches) > 1
    if has_failures or not needs_id:
        refusal = _request_refusal(context, read, cluster)
        if refusal is not None:
            return refusal
    if (has_several or len(read) > 1) and not _is_unique(read):
        return _merge(read)
    return read, NOTHING_REFUSED


def _refuse_id(
    context: RequestContext, cluster: Cluster, transactional_id: str | None
) -> BatchRefusal:
    """Return the error of transactional batches without a transactional id, or the right to it."""
    if transactional_id is not None:  # note the denial
        is_allowed(context, cluster, WRITE_TRANSACTIONAL_ID, transactional_id)
    return _NO_TRANSACTIONAL_ID


@may_pause
def _request_refusal(
    context: RequestContext, topics: Sequence[ReadTopic], cluster: Cluster
) -> BatchRefusal | None:
    """Return the error of the request for batches of partitions that exist and may be written."""
    producers = set()
    has_authorizer = cluster.authorizer is not None
    for name, topic_id, batches in paced_elements(topics):
        topic = cluster.topics.find(name, topic_id)
        if topic is None:
            continue
        if has_authorizer and not is_allowed(
            context, cluster, WRITE_TOPIC, topic.name, is_noted=False
        ):
            continue
        for index, _start, _end, header in paced_elements(batches):
            if topic.partition(index) is None:
                continue
            if isinstance(header, BatchRefusal):
                if header.fails_request:
                    return header
            elif header is not None and header[5] & TRANSACTIONAL_FLAG and header[9] >= 0:
                producers.add(header[9:11])
    return _SEVERAL_PRODUCERS if len(producers) > 1 else None


@may_pause
def _is_unique(topics: Sequence[ReadTopic]) -> bool:
    """Whether no topic and no partition occurs twice."""
    if len(topics) > 1 and len({topic_id or name for name, topic_id, _ in topics}) < len(topics):
        return False
    for _name, _topic_id, batches in paced_elements(topics):
        if len(batches) > 1 and len({batch[0] for batch in batches}) < len(batches):
            return False
    return True


@may_pause
def _merge(topics: Sequence[ReadTopic]) -> CheckedBatches:
    """Merge the topics that occur several times; of a partition's valid batches the last counts."""
    merged: dict[str | UUID, tuple[str, UUID | None, list[ReadBatch]]] = {}
    chosen: dict[PartitionKey, ReadBatch] = {}
    refused: dict[PartitionKey, BatchRefusal] = {}
    for name, topic_id, batches in paced_elements(topics):
        topic_key = topic_id or name
        merged.setdefault(topic_key, (name, topic_id, []))
        for batch in paced_elements(batches):
            header = batch[3]
            key = (topic_key, batch[0])
            if isinstance(header, BatchRefusal):
                if batch[1] >= 0:  # null is not looked at, and another batch takes its place
                    refused[key] = header
                chosen.setdefault(key, batch)
            else:
                chosen[key] = batch
    for (topic_key, _index), batch in chosen.items():
        merged[topic_key][2].append(batch)
    return list(merged.values()), refused
