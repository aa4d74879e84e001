"""Build an API's error response: its own response with an error code for every requested item.

Source: Kafka's `AbstractRequest.getErrorResponse`, API by API. There are two differences: Fetch has
the error for each partition, and Metadata still lists the brokers.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from broker.authorization.checks import DESCRIBE_TOPIC
from broker.cluster.cluster import Cluster
from broker.faults.error_arrays import PART, TOP, ErrorArray, error_arrays, part_arrays
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
    level: str | None = None,
    *,
    is_of_partitions: bool = False,
) -> Any:
    """Return an error response, as a handler would; for Produce with acks=0 a `Close`.

    `level` is where the error is: at the top of the response, in its parts, or by default where the
    API has an error for the whole request. `is_of_partitions`: the parts are partitions of groups.
    """
    api_key = ApiKey(context.api_key)
    if api_key is ApiKey.PRODUCE:
        return _produce_response(context, request, error_code)
    if (
        api_key is ApiKey.API_VERSIONS
        and error_code is ErrorCode.UNSUPPORTED_VERSION
        and level is None
    ):
        route = cluster.routes[context.broker_id][api_key]
        return Framed(unsupported_version_response(context.correlation_id, route))
    if api_key is ApiKey.METADATA:
        return _metadata_response(context, request, error_code, cluster, level)
    return response_without_data(
        context,
        request,
        error_code,
        ERROR_MESSAGE,
        level,
        is_of_partitions=is_of_partitions,
    )


def response_without_data(
    context: RequestContext,
    request: Any,
    error_code: ErrorCode,
    error_message: str,
    level: str | None = None,
    *,
    is_of_partitions: bool = False,
) -> Any:
    """Return a response of any API but Produce that has nothing but the error, also in Metadata."""
    api_key, version = ApiKey(context.api_key), context.api_version
    response = messages.response_class(api_key)(version=version)
    if api_key is ApiKey.JOIN_GROUP:
        response.member_id = request.member_id
    failure = (error_code, error_message)
    arrays: list[ErrorArray] = []
    if level == PART:
        arrays += part_arrays(api_key, version, is_of_partitions=is_of_partitions)
    elif level is None:
        arrays += error_arrays(api_key, version)
    for array in arrays:
        _fill(response, request, array, version, failure)
    is_in_parts = api_key is ApiKey.FETCH and bool(response.responses)
    if level != PART and not is_in_parts:
        _with_error(response, failure)
    if api_key is ApiKey.DESCRIBE_LOG_DIRS and version < LOG_DIRS_ERROR_VERSION_MIN:
        response.results = [_with_error(_new_entry(response, "results", version), failure)]
    return response


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
    if not array.target:
        assert array.inner is not None
        for element in getattr(request, array.source):
            _fill(response, element, array.inner, version, failure)
        return
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
    level: str | None,
) -> "messages.MetadataResponse":
    """Return the brokers as they are, and each topic with the error and without partitions."""
    version = context.api_version
    nothing = messages.MetadataRequest(version=version, topics=[])
    response: messages.MetadataResponse
    response = ROUTES[ApiKey.METADATA].handler(context, nothing, cluster)
    wants_all = request.topics is None or (version == 0 and not request.topics)
    topics: list[Any] = request.topics or []
    if wants_all:
        topics = [
            topic
            for topic in cluster.topics.all()
            if is_allowed(context, cluster, DESCRIBE_TOPIC, topic.name, is_noted=False)
        ]
    response.topics = []
    if level == TOP:
        topics = []
    for name, topic_id in dict.fromkeys((topic.name, topic.topic_id) for topic in topics):
        entry = _new_entry(response, "topics", version)
        entry.name = "" if name is None and version < 12 else name
        entry.topic_id, entry.error_code = topic_id, error_code
        response.topics.append(entry)
    if level != PART or not response.topics:
        response.error_code = error_code  # from v13 on
    return response
