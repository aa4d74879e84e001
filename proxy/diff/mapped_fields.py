"""Fields whose values each cluster chooses: ids, times, hosts, ports."""

from collections.abc import Mapping

MAPPED_FIELDS: Mapping[str, str] = {
    "topic_id": "a random id of the topic",
    "member_id": "a random id of the group member",
    "producer_id": "from a block of ids that the controller hands out",
    "session_id": "a random id of the fetch session",
    "cluster_id": "a random id of the cluster",
    "host": "where the broker listens",
    "port": "where the broker listens",
    "log_dir": "a folder of the machine",
    "incarnation_id": "a random id of a broker's start",
    "token_id": "a random id of the delegation token",
    "hmac": "from the random id of the delegation token",
}
"""Fields whose values have other names in each cluster, and why."""

SYNONYMS: Mapping[tuple[str, str], str] = {("JoinGroup", "leader"): "member_id"}
"""(API, field) with another field's values."""

TIME_FIELDS = frozenset(
    {
        "log_append_time_ms",
        "timestamp",
        "base_timestamp",
        "max_timestamp",
        "last_timestamp",
        "last_caught_up_timestamp",
        "last_fetch_timestamp",
        "issue_timestamp",
        "expiry_timestamp",
        "issue_timestamp_ms",
        "expiry_timestamp_ms",
        "max_timestamp_ms",
        "transaction_start_time_ms",
    }
)
"""Fields in ms since the epoch: `now` if the broker's clock gave the value."""
