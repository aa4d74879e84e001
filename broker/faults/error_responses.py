"""An API's own answer with an error code for everything that was asked.

Kafka's `AbstractRequest.getErrorResponse`, API by API, except that Fetch says it for each partition
and that Metadata still names the brokers, as answers of a broker in trouble do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.responses import Close
from broker.routes import ROUTES, unsupported_version_response
from protocol import messages, produce
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.produce import PartitionResult, TopicResult

LOG_DIRS_ERROR_VERSION_MIN = 3
ERROR_MESSAGE = "Injected by a fault rule."


@dataclass(frozen=True, slots=True)
class Each:
    """An array of the answer with one entry for each of an array of the request.

    `copied` are fields that an entry takes over, as names in the response and in the request;
    entries that are plain strings or numbers fill the first. `inner` is an array within, which then
    carries the errors where the entries have no room for one.
    """

    source: str
    target: str
    copied: tuple[tuple[str, str], ...]
    inner: "Each | None" = None
    carries_error: bool = True


def _same(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in names)


def _partitions(
    source: str = "partitions", target: str = "partitions", index: str = "partition_index"
) -> Each:
    return Each(source, target, ((index, index),))


_INDEXES = Each("partition_indexes", "partitions", _same("partition_index"))
_NAMED = _same("name")
_RESOURCES = _same("resource_type", "resource_name")
_BY_ID = _same("name", "topic_id")

_ARRAYS: dict[ApiKey, Each] = {
    ApiKey.PRODUCE: Each(
        "topic_data",
        "responses",
        _BY_ID,
        _partitions("partition_data", "partition_responses", "index"),
    ),
    ApiKey.METADATA: Each("topics", "topics", _BY_ID),
    ApiKey.FETCH: Each(
        "topics",
        "responses",
        _same("topic", "topic_id"),
        Each("partitions", "partitions", (("partition_index", "partition"),)),
    ),
    ApiKey.LIST_OFFSETS: Each("topics", "topics", _NAMED, _partitions()),
    ApiKey.OFFSET_COMMIT: Each("topics", "topics", _BY_ID, _partitions()),
    ApiKey.DESCRIBE_GROUPS: Each("groups", "groups", _same("group_id")),
    ApiKey.CREATE_TOPICS: Each("topics", "topics", _NAMED),
    ApiKey.DELETE_RECORDS: Each("topics", "topics", _NAMED, _partitions()),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Each(
        "topics", "topics", _same("topic"), _partitions(index="partition")
    ),
    ApiKey.DESCRIBE_CONFIGS: Each("resources", "results", _RESOURCES),
    ApiKey.ALTER_CONFIGS: Each("resources", "responses", _RESOURCES),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Each("resources", "responses", _RESOURCES),
    ApiKey.CREATE_PARTITIONS: Each("topics", "results", _NAMED),
    ApiKey.DELETE_GROUPS: Each("groups_names", "results", _same("group_id")),
    ApiKey.ELECT_LEADERS: Each(
        "topic_partitions",
        "replica_election_results",
        _same("topic"),
        _partitions(target="partition_result", index="partition_id"),
    ),
    ApiKey.DESCRIBE_PRODUCERS: Each("topics", "topics", _NAMED, _INDEXES),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Each("topics", "topics", _NAMED),
}
"""APIs whose response says an error for each thing asked for, in every version."""


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
"""What Kafka says beside an error, where the schema's own default is another."""


@dataclass(frozen=True, slots=True)
class Framed:
    """A response that is a frame already."""

    frame: bytes


def error_response(
    context: RequestContext, request: Any, error_code: ErrorCode, cluster: Cluster
) -> Any:
    """What a handler would return instead; for Produce with acks=0 the end of the connection."""
    api_key = ApiKey(context.api_key)
    if api_key is ApiKey.PRODUCE:
        return _produce_response(context, request, error_code)
    if api_key is ApiKey.API_VERSIONS and error_code is ErrorCode.UNSUPPORTED_VERSION:
        route = cluster.routes[context.broker_id][api_key]
        return Framed(unsupported_version_response(context.correlation_id, route))
    if api_key is ApiKey.METADATA:
        return _metadata_response(context, request, error_code, cluster)
    version = context.api_version
    response = messages.response_class(api_key)(version=version)
    if api_key is ApiKey.JOIN_GROUP:
        response.member_id = request.member_id
    for each in error_arrays(api_key, version):
        _fill(response, request, each, version, error_code)
    _set_error(response, error_code)
    if api_key is ApiKey.DESCRIBE_LOG_DIRS and version < LOG_DIRS_ERROR_VERSION_MIN:
        response.results = [_with_error(_new_entry(response, "results", version), error_code)]
    return response


def error_arrays(api_key: ApiKey, version: int) -> Iterator[Each]:
    """The arrays of an API's response that tell errors; none where one code is for all of it."""
    if api_key in _ARRAYS:
        yield _ARRAYS[api_key]
    elif api_key is ApiKey.OFFSET_FETCH and version >= 8:
        yield Each("groups", "groups", _same("group_id"))
    elif api_key is ApiKey.OFFSET_FETCH and version < 2:
        yield Each("topics", "topics", _NAMED, _INDEXES)
    elif api_key is ApiKey.FIND_COORDINATOR and version >= 4:
        yield Each("coordinator_keys", "coordinators", _same("key"))
    elif api_key is ApiKey.DELETE_TOPICS:
        source = "topics" if version >= 6 else "topic_names"
        yield Each(source, "responses", _BY_ID)
    elif api_key is ApiKey.ALTER_CLIENT_QUOTAS:
        entity = Each("entity", "entity", _same("entity_type", "entity_name"), carries_error=False)
        yield Each("entries", "entries", (), entity)
    elif api_key is ApiKey.ALTER_USER_SCRAM_CREDENTIALS:
        for source in ("deletions", "upsertions"):
            yield Each(source, "results", (("user", "name"),))


def _fill(response: Any, asked: Any, each: Each, version: int, error_code: ErrorCode) -> None:
    """Add to an array of `response` what `asked` asks for; an entry that is there already counts."""
    entries = list(getattr(response, each.target) or ())
    for element in getattr(asked, each.source) or ():
        entry = _new_entry(response, each.target, version)
        for target, source in each.copied:
            if not isinstance(element, str | int):
                setattr(entry, target, getattr(element, source))
            elif target == each.copied[0][0]:
                setattr(entry, target, element)
        if each.inner is not None:
            _fill(entry, element, each.inner, version, error_code)
        if each.carries_error:
            _with_error(entry, error_code)
        if entry not in entries:
            entries.append(entry)
    setattr(response, each.target, entries)


def _new_entry(response: Any, field_name: str, version: int) -> Any:
    return messages.entry_class(response, field_name)(version=version)


def _set_error(response: Any, error_code: ErrorCode) -> None:
    """The code of the whole response, unless its parts carry it: one place is enough."""
    if response.API_KEY == ApiKey.FETCH and response.responses:
        return
    _with_error(response, error_code)


def _with_error(entry: Any, error_code: ErrorCode) -> Any:
    if hasattr(entry, "error_code"):
        entry.error_code = error_code
        for name, value in _UNKNOWN.items():
            if hasattr(entry, name):
                setattr(entry, name, value)
        if hasattr(entry, "error_message") and error_code:
            entry.error_message = ERROR_MESSAGE
    return entry


def _produce_response(
    context: RequestContext, request: produce.ProduceRequest, error_code: ErrorCode
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


def _metadata_response(
    context: RequestContext, request: Any, error_code: ErrorCode, cluster: Cluster
) -> Any:
    """The brokers as they are, and each topic with the error and without partitions."""
    version = context.api_version
    nothing = messages.MetadataRequest(version=version, topics=[])
    response = ROUTES[ApiKey.METADATA].handler(context, nothing, cluster)
    wants_all = request.topics is None or (version == 0 and not request.topics)
    asked = [] if wants_all else request.topics
    names = {each.name: each.topic_id for each in asked}
    if wants_all:
        names = {topic.name: topic.topic_id for topic in cluster.topics.all()}
    response.topics = []
    for name, topic_id in names.items():
        entry = _new_entry(response, "topics", version)
        entry.name = "" if name is None and version < 12 else name
        entry.topic_id, entry.error_code = topic_id, error_code
        response.topics.append(entry)
    if not names:
        response.error_code = error_code
    return response
