"""Where the errors of a response are: in it itself, and in the parts that its request names.

Source: Kafka's `AbstractRequest.getErrorResponse`, API by API, and the schemas of the responses.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.message_schema import schema_of

TOP, PART = "top", "part"
"""The levels of errors: that of the response itself, and those of what its request names."""


@dataclass(frozen=True, slots=True)
class ErrorArray:
    """A response array with one entry for each entry of an array of the request.

    `source` and `target` are the names of the array in the request and in the response. Without
    `target` the response has the entries of `inner` only. `copied` are the fields that an entry
    copies, by their names in the response and in the request. A request entry that is a string or
    number is copied to the first field. `inner` is an array inside the entries. `carries_error`:
    the entries have an error code.
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

_LOG_DIRS = ErrorArray(
    "dirs",
    "",
    (),
    ErrorArray(
        "topics",
        "results",
        (("topic_name", "name"),),
        ErrorArray("partitions", "partitions", _same("partition_index")),
    ),
    carries_error=False,
)

_BESIDE_TOP: dict[ApiKey, ErrorArray] = {
    **dict.fromkeys(
        (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE),
        ErrorArray("topics", "responses", _same("topic_id"), _partitions()),
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: ErrorArray("topics", "responses", _NAMED, _partitions()),
    ApiKey.OFFSET_DELETE: ErrorArray("topics", "topics", _NAMED, _partitions()),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: ErrorArray("users", "results", (("user", "name"),)),
    ApiKey.DESCRIBE_QUORUM: ErrorArray("topics", "topics", _same("topic_name"), _partitions()),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: ErrorArray(
        "topics", "responses", _same("topic_name"), _partitions()
    ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: ErrorArray("topics", "responses", _same("topic_name")),
}
"""APIs whose response has one error for all of the request, and others for its parts."""

_OF_GROUPS: dict[ApiKey, ErrorArray] = {
    ApiKey.OFFSET_FETCH: ErrorArray(
        "groups",
        "groups",
        _same("group_id"),
        ErrorArray("topics", "topics", _BY_ID, _INDEXES),
        carries_error=False,
    ),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: ErrorArray(
        "groups",
        "groups",
        _same("group_id"),
        ErrorArray(
            "topics",
            "topics",
            _same("topic_name"),
            ErrorArray("partitions", "partitions", _same("partition_index")),
        ),
        carries_error=False,
    ),
}
"""APIs whose groups have an error each, and partitions with others."""

_OFFSETS = ErrorArray("topics", "topics", _NAMED, _INDEXES)
_MEMBERS = ErrorArray("members", "members", _same("member_id", "group_instance_id"))
_FEATURES = ErrorArray("feature_updates", "results", _same("feature"))
_TRANSACTIONS = ErrorArray(
    "transactions",
    "results_by_transaction",
    _same("transactional_id"),
    ErrorArray(
        "topics", "topic_results", _NAMED, _partitions("partitions", "results_by_partition")
    ),
    carries_error=False,
)


def error_arrays(api_key: ApiKey, version: int) -> Iterator[ErrorArray]:
    """Yield the arrays of a response that carry errors; none if one error code covers all of it."""
    if api_key in _ARRAYS:
        yield _ARRAYS[api_key]
    elif api_key is ApiKey.OFFSET_FETCH and version >= 8:
        yield ErrorArray("groups", "groups", _same("group_id"))
    elif api_key is ApiKey.OFFSET_FETCH and version < 2:
        yield _OFFSETS
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
    elif api_key is ApiKey.ALTER_REPLICA_LOG_DIRS:
        yield _LOG_DIRS


def part_arrays(
    api_key: ApiKey, version: int, *, is_of_partitions: bool = False
) -> Iterator[ErrorArray]:
    """Yield the arrays of a response that carry errors if only a part of a request fails.

    `is_of_partitions`: the parts are partitions, also of an API whose groups have an error, too.
    """
    beside_top = _beside_top(api_key, version)
    if beside_top is not None:
        yield beside_top
    elif is_of_partitions and has_partitions_of_groups(api_key, version):
        yield _OF_GROUPS[api_key]
    else:
        yield from error_arrays(api_key, version)


def _beside_top(api_key: ApiKey, version: int) -> ErrorArray | None:
    if api_key is ApiKey.OFFSET_FETCH and 2 <= version < 8:
        return _OFFSETS
    if api_key is ApiKey.LEAVE_GROUP and version >= 3:
        return _MEMBERS
    if api_key is ApiKey.UPDATE_FEATURES and version < 2:
        return _FEATURES
    if api_key is ApiKey.ADD_PARTITIONS_TO_TXN and version >= 4:
        return _TRANSACTIONS
    return _BESIDE_TOP.get(api_key)


def has_partitions_of_groups(api_key: ApiKey, version: int) -> bool:
    """Return whether a response has errors for groups, and others for the partitions of them."""
    return api_key in _OF_GROUPS and (api_key is not ApiKey.OFFSET_FETCH or version >= 8)


def fails_beside_parts(api_key: ApiKey, version: int) -> bool:
    """Return whether an error for all of a request is not that of its parts."""
    return _beside_top(api_key, version) is not None


def has_level(api_key: ApiKey, version: int, level: str) -> bool:
    """Return whether a response has errors at this level: in it itself, or in its parts."""
    if level == PART:
        return any(True for _ in part_arrays(api_key, version))
    field = schema_of(messages.response_class(api_key)).fields.get("error_code")
    return field is not None and bool(field.for_version_q(version))


def has_parts(request: "messages.Message", api_key: ApiKey, version: int) -> bool:
    """Return whether a request names parts, so that its response can have errors for them."""
    return any(getattr(request, array.source) for array in part_arrays(api_key, version))
