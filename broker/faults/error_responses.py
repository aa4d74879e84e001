"""Build an API's error response: its own response with an error code for every requested item.

Source: Kafka's `AbstractRequest.getErrorResponse`, API by API. There are two differences: Fetch has
the error for each partition, and Metadata still lists the brokers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from broker.authorization.checks import DESCRIBE_TOPIC
from broker.cluster.cluster import Cluster
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.responses import Close
from broker.routes import ROUTES, unsupported_version_response
from protocol import messages, produce
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause
from protocol.produce import PartitionResult, TopicResult
from protocol.produce_decoder import ProduceRequest

LOG_DIRS_ERROR_VERSION_MIN = 3
ERROR_MESSAGE = "Injected by a fault rule."

Failure = tuple[ErrorCode, str]
"""Error code and message."""


@dataclass(frozen=True, slots=True)
class ErrorArray:
    """A response array with one entry for each entry of an array of the request.

    `source` and `target` are the names of the array in the request and in the response. `copied`
    are the fields that an entry copies, by their names in the response and in the request. A
    request entry that is a string or number is copied to the first field. `inner` is an array
    inside the entries. `carries_error`: the entries have an error code.
    """

    source: str
    target: str
    copied: tuple[tuple[str, str], ...]
    inner: "ErrorArray | None" = None
    carries_error: bool = True


def _same(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in names)


def _partitions(
    source: str = "partitions", target: str = "partitions", index: str = "partition_index"
) -> ErrorArray:
    return ErrorArray(source, target, ((index, index),))


_INDEXES = ErrorArray("partition_indexes", "partitions", _same("partition_index"))
_NAMED = _same("name")
_RESOURCES = _same("resource_type", "resource_name")
_BY_ID = _same("name", "topic_id")

_ARRAYS: dict[ApiKey, ErrorArray] = {
    ApiKey.PRODUCE: ErrorArray(
        "topic_data",
        "responses",
        _BY_ID,
        _partitions("partition_data", "partition_responses", "index"),
    ),
    ApiKey.METADATA: ErrorArray("topics", "topics", _BY_ID),
    ApiKey.FETCH: ErrorArray(
        "topics",
        "responses",
        _same("topic", "topic_id"),
        ErrorArray("partitions", "partitions", (("partition_index", "partition"),)),
    ),
    ApiKey.LIST_OFFSETS: ErrorArray("topics", "topics", _NAMED, _partitions()),
    ApiKey.OFFSET_COMMIT: ErrorArray("topics", "topics", _BY_ID, _partitions()),
    ApiKey.DESCRIBE_GROUPS: ErrorArray("groups", "groups", _same("group_id")),
    ApiKey.CREATE_TOPICS: ErrorArray("topics", "topics", _NAMED),
    ApiKey.DELETE_RECORDS: ErrorArray("topics", "topics", _NAMED, _partitions()),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: ErrorArray(
        "topics", "topics", _same("topic"), _partitions(index="partition")
    ),
    ApiKey.DESCRIBE_CONFIGS: ErrorArray("resources", "results", _RESOURCES),
    ApiKey.ALTER_CONFIGS: ErrorArray("resources", "responses", _RESOURCES),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: ErrorArray("resources", "responses", _RESOURCES),
    ApiKey.CREATE_ACLS: ErrorArray("creations", "results", ()),
    ApiKey.DELETE_ACLS: ErrorArray("filters", "filter_results", ()),
    ApiKey.CREATE_PARTITIONS: ErrorArray("topics", "results", _NAMED),
    ApiKey.DELETE_GROUPS: ErrorArray("groups_names", "results", _same("group_id")),
    ApiKey.ELECT_LEADERS: ErrorArray(
        "topic_partitions",
        "replica_election_results",
        _same("topic"),
        _partitions(target="partition_result", index="partition_id"),
    ),
    ApiKey.DESCRIBE_PRODUCERS: ErrorArray("topics", "topics", _NAMED, _INDEXES),
    ApiKey.WRITE_TXN_MARKERS: ErrorArray(
        "markers",
        "markers",
        _same("producer_id"),
        ErrorArray("topics", "topics", _NAMED, _INDEXES),
    ),
    ApiKey.TXN_OFFSET_COMMIT: ErrorArray("topics", "topics", _BY_ID, _partitions()),
    ApiKey.DESCRIBE_TRANSACTIONS: ErrorArray(
        "transactional_ids", "transaction_states", _same("transactional_id")
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: ErrorArray("group_ids", "groups", _same("group_id")),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: ErrorArray("topics", "topics", _NAMED),
    ApiKey.SHARE_GROUP_DESCRIBE: ErrorArray("group_ids", "groups", _same("group_id")),
    ApiKey.STREAMS_GROUP_DESCRIBE: ErrorArray("group_ids", "groups", _same("group_id")),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: ErrorArray("groups", "groups", _same("group_id")),
    **dict.fromkeys(
        (
            ApiKey.INITIALIZE_SHARE_GROUP_STATE,
            ApiKey.READ_SHARE_GROUP_STATE,
            ApiKey.WRITE_SHARE_GROUP_STATE,
            ApiKey.DELETE_SHARE_GROUP_STATE,
            ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
        ),
        ErrorArray("topics", "results", _same("topic_id"), _partitions(index="partition")),
    ),
}
"""APIs whose response has an error for each entry of the request, in every version."""

_OF_SESSIONS: dict[ApiKey, ErrorArray] = dict.fromkeys(
    (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE),
    ErrorArray("topics", "responses", _same("topic_id"), _partitions()),
)
"""APIs whose response has an error for its session, and another one for each partition."""

_LOG_DIR_TOPICS = ErrorArray(
    "topics",
    "results",
    (("topic_name", "name"),),
    ErrorArray("partitions", "partitions", _same("partition_index")),
)
"""The topics of one directory of AlterReplicaLogDirs."""

_UNKNOWN = {
    "base_offset": -1,
    "committed_offset": -1,
    "end_offset": -1,
    "generation_id": -1,
    "high_watermark": -1,
    "last_stable_offset": -1,
    "leader_epoch": -1,
    "low_watermark": -1,
    "node_id": -1,
    "num_partitions": -1,
    "offset": -1,
    "port": -1,
    "producer_epoch": -1,
    "producer_id": -1,
    "replication_factor": -1,
    "timestamp": -1,
}
"""Values of other fields in Kafka's error responses that differ from the schema's defaults."""


@dataclass(frozen=True, slots=True)
class Framed:
    """A response that is encoded as a frame already."""

    frame: bytes


@may_pause
def error_response(
    context: RequestContext,
    request: Any,
    error_code: ErrorCode,
    cluster: Cluster,
    *,
    is_partial: bool = False,
) -> Any:
    """Return an error response, as a handler would; for Produce with acks=0 a `Close`.

    `is_partial`: the request is a part of another one, and the error is not that of its session.
    """
    api_key = ApiKey(context.api_key)
    if api_key is ApiKey.PRODUCE:
        return _produce_response(context, request, error_code)
    if api_key is ApiKey.API_VERSIONS and error_code is ErrorCode.UNSUPPORTED_VERSION:
        route = cluster.routes[context.broker_id][api_key]
        return Framed(unsupported_version_response(context.correlation_id, route))
    if api_key is ApiKey.METADATA:
        response = _metadata_response(context, request, error_code, cluster)
        if not is_partial or not response.topics:
            response.error_code = error_code  # from v13 on
        return response
    response = response_without_data(context, request, error_code, ERROR_MESSAGE)
    if is_partial and api_key in _OF_SESSIONS:
        failure = (error_code, ERROR_MESSAGE)
        _fill(response, request, _OF_SESSIONS[api_key], context.api_version, failure)
    return response


def response_without_data(
    context: RequestContext, request: Any, error_code: ErrorCode, error_message: str
) -> Any:
    """Return a response of any API but Produce that has nothing but the error, also in Metadata."""
    api_key, version = ApiKey(context.api_key), context.api_version
    response = messages.response_class(api_key)(version=version)
    if api_key is ApiKey.JOIN_GROUP:
        response.member_id = request.member_id
    failure = (error_code, error_message)
    for array in error_arrays(api_key, version):
        _fill(response, request, array, version, failure)
    if api_key is ApiKey.ALTER_REPLICA_LOG_DIRS:
        for directory in request.dirs:
            _fill(response, directory, _LOG_DIR_TOPICS, version, failure)
    if api_key is not ApiKey.FETCH or not response.responses:  # else its partitions carry it
        _with_error(response, failure)
    if api_key is ApiKey.DESCRIBE_LOG_DIRS and version < LOG_DIRS_ERROR_VERSION_MIN:
        response.results = [_with_error(_new_entry(response, "results", version), failure)]
    return response


def error_arrays(api_key: ApiKey, version: int) -> Iterator[ErrorArray]:
    """Yield the arrays of a response that carry errors; none if one error code covers all of it."""
    if api_key in _ARRAYS:
        yield _ARRAYS[api_key]
    elif api_key is ApiKey.OFFSET_FETCH and version >= 8:
        yield ErrorArray("groups", "groups", _same("group_id"))
    elif api_key is ApiKey.OFFSET_FETCH and version < 2:
        yield ErrorArray("topics", "topics", _NAMED, _INDEXES)
    elif api_key is ApiKey.ADD_PARTITIONS_TO_TXN and version < 4:
        source, target = "v3_and_below_topics", "results_by_topic_v3_and_below"
        yield ErrorArray(source, target, _NAMED, _partitions("partitions", "results_by_partition"))
    elif api_key is ApiKey.FIND_COORDINATOR and version >= 4:
        yield ErrorArray("coordinator_keys", "coordinators", _same("key"))
    elif api_key is ApiKey.DELETE_TOPICS:
        source = "topics" if version >= 6 else "topic_names"
        yield ErrorArray(source, "responses", _BY_ID)
    elif api_key is ApiKey.ALTER_CLIENT_QUOTAS:
        entity = ErrorArray(
            "entity", "entity", _same("entity_type", "entity_name"), carries_error=False
        )
        yield ErrorArray("entries", "entries", (), entity)
    elif api_key is ApiKey.ALTER_USER_SCRAM_CREDENTIALS:
        for source in ("deletions", "upsertions"):
            yield ErrorArray(source, "results", (("user", "name"),))


def part_arrays(api_key: ApiKey, version: int) -> Iterator[ErrorArray]:
    """Yield the arrays of a response that carry errors if only a part of a request fails."""
    if api_key in _OF_SESSIONS:
        yield _OF_SESSIONS[api_key]
    else:
        yield from error_arrays(api_key, version)


def has_session_error(api_key: ApiKey) -> bool:
    """Return whether the response of an API has an error for its session, beside partitions."""
    return api_key in _OF_SESSIONS


def _fill(
    response: "messages.Struct",
    request: "messages.Struct",
    array: ErrorArray,
    version: int,
    failure: Failure,
) -> None:
    """Add to an array of `response` the entries for those of `request`.

    Entries that copy fields of the request occur once.
    """
    entries = list(getattr(response, array.target) or ())
    for element in getattr(request, array.source) or ():
        entry = _new_entry(response, array.target, version)
        for target, source in array.copied:
            if not isinstance(element, str | int):
                setattr(entry, target, getattr(element, source))
            elif target == array.copied[0][0]:
                setattr(entry, target, element)
        if array.inner is not None:
            _fill(entry, element, array.inner, version, failure)
        if array.carries_error:
            _with_error(entry, failure)
        is_anonymous = not array.copied and array.inner is None
        if is_anonymous or entry not in entries:
            entries.append(entry)
    setattr(response, array.target, entries)


@cache
def _with_leader() -> frozenset[Any]:
    return frozenset(
        {
            messages.ShareFetchResponse.ShareFetchableTopicResponse.PartitionData,
            messages.ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse.PartitionData,
        }
    )


def _new_entry(response: "messages.Struct", field_name: str, version: int) -> Any:
    entry_class = messages.entry_class(response, field_name)
    if entry_class in _with_leader():
        # kafka-python has no default value for a struct that is not tagged.
        return entry_class(version=version, current_leader=entry_class.LeaderIdAndEpoch())
    return entry_class(version=version)


def _with_error(entry: Any, failure: Failure) -> Any:
    error_code, error_message = failure
    if hasattr(entry, "partition_error_code"):  # the field of AddPartitionsToTxn
        entry.partition_error_code = error_code
    if hasattr(entry, "error_code"):
        entry.error_code = error_code
        for name, value in _UNKNOWN.items():
            if hasattr(entry, name):
                setattr(entry, name, value)
        if hasattr(entry, "error_message") and error_code:
            entry.error_message = error_message
    return entry


@may_pause
def _produce_response(
    context: RequestContext, request: ProduceRequest, error_code: ErrorCode
) -> bytes | bytearray | Close | None:
    if request.acks == 0:
        return Close("Produce with acks=0 failed by a fault rule") if error_code else None
    results = [
        TopicResult(
            topic.name,
            topic.topic_id,
            [
                PartitionResult(part.partition_index, error_code, error_message=ERROR_MESSAGE)
                for part in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return produce.encode_response(context.api_version, results, context.throttle_time_ms, ())


@may_pause
def _metadata_response(
    context: RequestContext,
    request: "messages.MetadataRequest",
    error_code: ErrorCode,
    cluster: Cluster,
) -> "messages.MetadataResponse":
    """Return the brokers as they are, and each topic with the error and without partitions."""
    version = context.api_version
    nothing = messages.MetadataRequest(version=version, topics=[])
    response: messages.MetadataResponse
    response = ROUTES[ApiKey.METADATA].handler(context, nothing, cluster)
    wants_all = request.topics is None or (version == 0 and not request.topics)
    requested = request.topics or []
    names = {topic.name: topic.topic_id for topic in requested}
    if wants_all:
        names = {
            topic.name: topic.topic_id
            for topic in cluster.topics.all()
            if is_allowed(context, cluster, DESCRIBE_TOPIC, topic.name, is_noted=False)
        }
    response.topics = []
    for name, topic_id in names.items():
        entry = _new_entry(response, "topics", version)
        entry.name = "" if name is None and version < 12 else name
        entry.topic_id, entry.error_code = topic_id, error_code
        response.topics.append(entry)
    return response
