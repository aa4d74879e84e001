"""Fetch: v4-18.

Behaviour:
    - Returns complete batches, from the one that contains the fetch offset. At least one batch is
      returned, however large it is (KIP-74).
    - Waits for min_bytes or max_wait_ms, without polling. An error or a preferred replica in any
      partition completes the response at once. A topic that is unknown when the request comes does
      not, unless there is no other partition.
    - A topic needs READ, else its partitions get TOPIC_AUTHORIZATION_FAILED, also if there is no
      such topic. A topic id that is unknown gets UNKNOWN_TOPIC_ID. A follower needs CLUSTER_ACTION
      instead. Rules apply when a request comes: one that waits reads what it was allowed then.
    - An offset outside the log gets OFFSET_OUT_OF_RANGE. A wrong leader epoch gets
      FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH. A broker without a replica says
      NOT_LEADER_OR_FOLLOWER, from v16 with the leader's address.
    - From v12 a last_fetched_epoch that the log does not know gets a diverging epoch.
    - v13 and later name topics by id. A topic that was deleted and created again gets
      INCONSISTENT_TOPIC_ID in a session. A topic id of zeros gets UNKNOWN_TOPIC_ID as the last
      partition of a response without a session; else it fails the request with
      UNKNOWN_SERVER_ERROR, and an incremental one keeps its session's epoch. Before Kafka 4.0
      (broker.api.versions) partitions with zstd batches need v10.
    - Fetch sessions from v7 (KIP-227): an incremental response has the partitions with records,
      with an error, or with another high watermark or log start offset than before. A broker has
      max.incremental.fetch.session.cache.slots of them, in 8 shards. A session that is unused for
      2 minutes, or older than that and smaller, is evicted for a new one. They end when the broker
      stops.
    - With replica.selector.class a consumer with a rack gets the replica in its rack (KIP-392).
      From v11 followers serve consumers. Older versions and followers read from the leader.
    - A negative size fails the partitions that have records to read, and an unknown isolation level
      the request, with UNKNOWN_SERVER_ERROR.
    - READ_COMMITTED reads up to the last stable offset, the begin of the oldest open transaction,
      and returns the aborted transactions in what it read. Control batches are returned too.
    - fetch.max.bytes and response.bytes.max bound the records of the response.
    - A client beyond its consumer_byte_rate gets an empty response and is throttled; its session
      continues. One response carries no more than its quota allows in a burst.

Gaps:
    - Followers do not fetch, since replicas share one log. OFFSET_NOT_AVAILABLE does not occur.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias

from broker.authorization.checks import CLUSTER_ACTION_CLUSTER_BY_TOPIC, READ_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import (
    NO_SESSION_ID,
    CachedPartition,
    FetchPartitionData,
    SentPartition,
)
from broker.cluster.topics import Topic
from broker.fetch.fetch_context import open_fetch_context
from broker.fetch.fetch_params import ISOLATION_LEVELS, fetch_params
from broker.fetch.fetch_response import Fetch, partition_data
from broker.fetch.fetch_wait import read_or_wait
from broker.fetch.partition_read import unknown_error
from broker.fetch.read_authorization import denied_topics
from broker.fetch.session_logs import logs_of_session
from broker.request.context import RequestContext
from broker.routes import TAKES_TURNS, handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.fetch import (
    PARTITIONS_MAX,
    SESSION_VERSION_MIN,
    TOPIC_ID_VERSION_MIN,
    ShortFetch,
    ShortPartition,
    ShortTopic,
    read_fetch,
    read_long_fetch,
)
from protocol.pacing import may_pause, paced_elements

_Response = messages.FetchResponse
_Partition: TypeAlias = "messages.FetchRequest.FetchTopic.FetchPartition | ShortPartition"
_TopicResponse = _Response.FetchableTopicResponse


@handles(
    ApiKey.FETCH,
    read_short=read_fetch,
    read_long=read_long_fetch,
    checks=(READ_TOPIC, CLUSTER_ACTION_CLUSTER_BY_TOPIC),
)
@may_pause
def handle_fetch(
    context: RequestContext, request: "messages.FetchRequest | ShortFetch", cluster: Cluster
) -> object:
    """Kafka's `KafkaApis.handleFetchRequest` and `ReplicaManager.fetchMessages`."""
    if type(request) is ShortFetch and request.session_id != NO_SESSION_ID:
        resumed = cluster.fetch_sessions[context.broker_id].get(request.session_id)
        if resumed is not None and len(resumed.partitions) > PARTITIONS_MAX:
            return TAKES_TURNS
    session = open_fetch_context(context, request, cluster)
    if session.error_code == ErrorCode.UNKNOWN_SERVER_ERROR:
        return _failed(context.api_version, request)
    params = fetch_params(context, request, cluster)
    logs = logs_of_session(session.session, params, context, cluster)
    known = session.partitions
    to_check = known if logs is None else logs.others
    denied = denied_topics(context, cluster, to_check, is_from_follower=params.is_from_follower)
    unknown = [
        (cached, FetchPartitionData(_error_of(cached, denied), aborted_transactions=()))
        for cached in _unknown(to_check, denied, cluster)
    ]
    if unknown:
        if not params.is_from_follower:
            unknown = _unknown_ids_first(unknown)
        missing = {cached for cached, _data in unknown}
        known = [cached for cached in paced_elements(known) if cached not in missing]
    nameless = (cached.is_nameless for cached, _data in paced_elements(unknown[:-1]))
    if any(nameless) or (known and request.isolation_level not in ISOLATION_LEVELS):
        return _failed(context.api_version, request)
    return read_or_wait(
        Fetch(
            context,
            cluster,
            params,
            session,
            known,
            unknown,
            request.max_wait_ms,
            is_short=isinstance(request, ShortFetch)
            and len(known) + len(unknown) <= PARTITIONS_MAX,
            logs=logs,
        )
    )


@may_pause
def _unknown(
    requested: list[CachedPartition], denied: Collection[str | None], cluster: Cluster
) -> Iterator[CachedPartition]:
    """Yield the partitions that do not exist, and those that the client may not read."""
    name: str | None = None
    topic: Topic | None = None
    for cached in paced_elements(requested):
        if topic is None or cached.topic_name != name:
            name = cached.topic_name
            topic = None if name is None or name in denied else cluster.topics.get(name)
        if topic is None or topic.partition(cached.partition_index) is None:
            yield cached


@may_pause
def _unknown_ids_first(unknown: list[SentPartition]) -> list[SentPartition]:
    """Return partitions in the order in which Kafka finds what is wrong with them."""
    nameless = [sent for sent in paced_elements(unknown) if sent[0].topic_name is None]
    return nameless + [sent for sent in paced_elements(unknown) if sent[0].topic_name is not None]


def _error_of(cached: CachedPartition, denied: Collection[str | None]) -> ErrorCode:
    return READ_TOPIC.error_code if cached.topic_name in denied else unknown_error(cached)


@may_pause
def _failed(version: int, request: "messages.FetchRequest | ShortFetch") -> _Response:
    """Return Kafka's response to a request that it loses to an exception.

    From v13 the error of the response is enough; before, each partition of the request has it.
    """
    error_code = ErrorCode.UNKNOWN_SERVER_ERROR
    response = _Response(version=version, error_code=error_code, responses=[])
    if version >= SESSION_VERSION_MIN:
        response.session_id = request.session_id
    if version >= TOPIC_ID_VERSION_MIN:
        return response
    no_data = FetchPartitionData(error_code, aborted_transactions=())
    topics: Sequence[messages.FetchRequest.FetchTopic | ShortTopic] = request.topics
    response.responses = [
        _TopicResponse(
            version=version,
            topic=topic.topic,
            partitions=[
                partition_data(CachedPartition(topic.topic, None, index, 0, 0), no_data, version)
                for index in _indexes(topic)
            ],
        )
        for topic in paced_elements(topics)
    ]
    return response


@may_pause
def _indexes(topic: "messages.FetchRequest.FetchTopic | ShortTopic") -> Iterator[int]:
    partitions: Sequence[_Partition] = topic.partitions
    for partition in paced_elements(partitions):
        yield partition.partition
