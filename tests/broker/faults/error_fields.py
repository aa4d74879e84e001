"""Find the error codes of a response."""

from typing import Any

import broker.handlers  # noqa: F401 - registers every API
from protocol.api_keys import ApiKey

WHERE: dict[ApiKey, tuple[str, ...]] = {
    ApiKey.PRODUCE: ("responses", "partition_responses"),
    ApiKey.FETCH: ("responses", "partitions"),
    ApiKey.LIST_OFFSETS: ("topics", "partitions"),
    ApiKey.METADATA: ("topics",),
    ApiKey.OFFSET_COMMIT: ("topics", "partitions"),
    ApiKey.DESCRIBE_GROUPS: ("groups",),
    ApiKey.CREATE_TOPICS: ("topics",),
    ApiKey.DELETE_TOPICS: ("responses",),
    ApiKey.DELETE_RECORDS: ("topics", "partitions"),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: ("topics", "partitions"),
    ApiKey.CREATE_ACLS: ("results",),
    ApiKey.DELETE_ACLS: ("filter_results",),
    ApiKey.ALTER_REPLICA_LOG_DIRS: ("results", "partitions"),
    ApiKey.DESCRIBE_CONFIGS: ("results",),
    ApiKey.ALTER_CONFIGS: ("responses",),
    ApiKey.CREATE_PARTITIONS: ("results",),
    ApiKey.DELETE_GROUPS: ("results",),
    ApiKey.ELECT_LEADERS: ("replica_election_results", "partition_result"),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: ("responses",),
    ApiKey.ALTER_CLIENT_QUOTAS: ("entries",),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: ("results",),
    ApiKey.DESCRIBE_PRODUCERS: ("topics", "partitions"),
    ApiKey.CONSUMER_GROUP_DESCRIBE: ("groups",),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: ("topics",),
    ApiKey.WRITE_TXN_MARKERS: ("markers", "topics", "partitions"),
    ApiKey.TXN_OFFSET_COMMIT: ("topics", "partitions"),
    ApiKey.DESCRIBE_TRANSACTIONS: ("transaction_states",),
    ApiKey.SHARE_GROUP_DESCRIBE: ("groups",),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: ("groups",),
    ApiKey.STREAMS_GROUP_DESCRIBE: ("groups",),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: ("results", "partitions"),
    ApiKey.READ_SHARE_GROUP_STATE: ("results", "partitions"),
    ApiKey.WRITE_SHARE_GROUP_STATE: ("results", "partitions"),
    ApiKey.DELETE_SHARE_GROUP_STATE: ("results", "partitions"),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: ("results", "partitions"),
}
"""APIs with an error for each item; all others have one for the complete request."""


def place_of_error(api_key: ApiKey, version: int) -> tuple[str, ...]:
    if api_key is ApiKey.OFFSET_FETCH and version < 2:
        return ("topics", "partitions")
    if api_key is ApiKey.OFFSET_FETCH and version >= 8:
        return ("groups",)
    if api_key is ApiKey.FIND_COORDINATOR and version >= 4:
        return ("coordinators",)
    if api_key is ApiKey.ADD_PARTITIONS_TO_TXN and version < 4:
        return ("results_by_topic_v3_and_below", "results_by_partition")
    if api_key is ApiKey.DESCRIBE_LOG_DIRS and version < 3:
        return ("results",)
    return WHERE.get(api_key, ())


def codes_at(response: Any, place: tuple[str, ...]) -> list[int]:
    if not place:
        is_partition = hasattr(response, "partition_error_code")
        return [response.partition_error_code if is_partition else response.error_code]
    inner = [codes_at(entry, place[1:]) for entry in getattr(response, place[0])]
    return [code for codes in inner for code in codes]
