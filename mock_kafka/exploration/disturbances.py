"""What can disturb a client, as fault rules: which rules each profile draws, and how often.

All rules are counted in requests, not in time, so that a client that sends the same requests meets
the same disturbances.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Rule = dict[str, Any]
"""A fault rule in its flat JSON form (docs/faults.md)."""


@dataclass(frozen=True)
class Between:
    """A whole number from `first` to `last`; the first is the simplest."""

    first: int
    last: int


@dataclass(frozen=True)
class OneOf:
    """One of some values; the first is the simplest."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Disturbance:
    """A kind of rule.

    Attributes:
        name: for people.
        apis: the names of the APIs whose requests trigger it; empty for any.
        fields: the fields of the rule but for `api`, `nth` and `times`; values may be `Between` or
            `OneOf`.
        weight: how often it is drawn, beside the others of its profile.
        times_max: the largest number of requests in a row that it disturbs.
        needs: what the cluster or the client must have: `brokers` (several), `group`,
            `transactional_id` or `topic`. A name is set as the field of the rule.
        unless: the names of APIs without which a client could not go on.
    """

    name: str
    apis: tuple[str, ...]
    fields: Mapping[str, Any]
    weight: int = 1
    times_max: int = 1
    needs: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


def _errors(apis: tuple[str, ...], codes: tuple[str, ...], weight: int = 2) -> Disturbance:
    return Disturbance("error", apis, {"error": OneOf(codes)}, weight, times_max=3)


def _lost(apis: tuple[str, ...], weight: int = 3) -> Disturbance:
    lost = OneOf(("before_response", "before_handling", "within_response"))
    return Disturbance("lost response or request", apis, {"drop": lost}, weight)


def _cut(apis: tuple[str, ...]) -> Disturbance:
    """Return a connection that ends as with a firewall or a crash, which a client notices."""
    fields = {
        "drop": OneOf(("before_response", "before_handling")),
        "drop_by": OneOf(("half_close", "reset")),
    }
    return Disturbance("connection that ends in one direction, or is reset", apis, fields)


def _slow(apis: tuple[str, ...]) -> tuple[Disturbance, ...]:
    """Return requests that take their time, and responses, whole or in pieces; all come."""
    rates = OneOf((2_000, 500))
    return (
        Disturbance("late response", apis, {"delay_ms": Between(1, 300)}, times_max=3),
        Disturbance("late request", apis, {"delay_request_ms": Between(1, 300)}, times_max=3),
        Disturbance("slow link to a client", apis, {"response_bytes_per_second": rates}),
        Disturbance(
            "response in pieces", apis, {"trickle_bytes": OneOf((25, 5)), "trickle_ms": 10}
        ),
    )


def _throttled(apis: tuple[str, ...], weight: int = 1) -> Disturbance:
    fields = {"throttle_time_ms": Between(100, 1000)}
    return Disturbance("throttle", apis, fields, weight, times_max=3)


_PRODUCE = ("Produce",)
_FETCH = ("Fetch",)
_JOINS = ("JoinGroup", "SyncGroup", "ConsumerGroupHeartbeat")
_COMMITS = ("OffsetCommit",)
_HEARTBEATS = ("Heartbeat", "ConsumerGroupHeartbeat")
_TRANSACTIONS = ("AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")
_LOOKUPS = ("Metadata", "FindCoordinator")
_ADMIN = (
    "CreateTopics",
    "DeleteTopics",
    "CreatePartitions",
    "IncrementalAlterConfigs",
    "DeleteRecords",
)

_BROKERS = (
    Disturbance(
        "broker that stops and returns",
        (),
        {"stop_broker": "self", "at": "before_response", "restart_after_ms": Between(0, 500)},
        needs=("brokers",),
    ),
    Disturbance(
        "leader that moves",
        ("Produce", "Fetch", "ListOffsets"),
        {"leader": "next"},
        2,
        needs=("topic", "brokers"),
    ),
    Disturbance(
        "broker that hangs and returns",
        (),
        {"isolate_broker": "self", "restart_after_ms": Between(0, 500)},
        needs=("brokers",),
    ),
    Disturbance(
        "broker that is cut off, while others lead",
        (),
        {"isolate_broker": "self", "elect": True, "restart_after_ms": Between(0, 500)},
        needs=("brokers",),
    ),
    Disturbance(
        "broker that is fenced, and returns",
        (),
        {"fence_broker": "self", "restart_after_ms": Between(0, 500)},
        needs=("brokers",),
    ),
)
_CLOCK = Disturbance(
    "clock that jumps", (), {"advance_ms": OneOf((1_000, 10_000, 60_000, 600_000))}
)
_OLDER = Disturbance(
    "broker that returns as an older release",
    (),
    {
        "api_versions": OneOf(("3.9", "3.5", "2.8")),
        "stop_broker": "self",
        "at": "before_response",
        "restart_after_ms": Between(0, 500),
    },
    needs=("brokers",),
    unless=("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"),
)
_MEMBERS = Disturbance(
    "rebalance or lost members",
    (*_HEARTBEATS, *_COMMITS),
    {"members": OneOf(("rebalance", "fence"))},
    2,
    needs=("group",),
)
_STALE = Disturbance("stale metadata", _LOOKUPS, {"stale_metadata": True}, times_max=3)

PRODUCER = (
    _lost(_PRODUCE, 4),
    _errors(
        _PRODUCE,
        (
            "NOT_LEADER_OR_FOLLOWER",
            "NOT_ENOUGH_REPLICAS",
            "UNKNOWN_TOPIC_OR_PARTITION",
            "KAFKA_STORAGE_ERROR",
        ),
    ),
    Disturbance(
        "stored, and an error",
        _PRODUCE,
        {
            "error": OneOf(("REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS_AFTER_APPEND")),
            "at": "before_response",
        },
        2,
    ),
    _cut(_PRODUCE),
    *_slow(_PRODUCE),
    _throttled(_PRODUCE),
    # The only error of a broker that has no producer ids; it needs no coordinator.
    _errors(("InitProducerId",), ("COORDINATOR_LOAD_IN_PROGRESS",), 1),
    _STALE,
    _OLDER,
    *_BROKERS,
)
CONSUMER = (
    _lost((*_FETCH, *_COMMITS, "OffsetFetch", "ListOffsets")),
    _errors(
        _FETCH,
        (
            "NOT_LEADER_OR_FOLLOWER",
            "UNKNOWN_TOPIC_OR_PARTITION",
            "FETCH_SESSION_ID_NOT_FOUND",
            "KAFKA_STORAGE_ERROR",
        ),
    ),
    _errors(_COMMITS, ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"), 1),
    _cut(_FETCH),
    *_slow(_FETCH),
    _throttled(_FETCH),
    _STALE,
    _OLDER,
    *_BROKERS,
)
GROUPS = (
    _lost((*_JOINS, *_COMMITS, "Heartbeat", "LeaveGroup")),
    _errors(_HEARTBEATS, ("REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "NOT_COORDINATOR")),
    _errors((*_JOINS, *_COMMITS), ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"), 1),
    Disturbance(
        "coordinator that moves",
        (*_JOINS, *_HEARTBEATS, *_COMMITS),
        {"coordinator": "next"},
        2,
        needs=("group", "brokers"),
    ),
    _MEMBERS,
    _CLOCK,
    _cut((*_JOINS, *_COMMITS)),
    *_slow((*_JOINS, *_HEARTBEATS)),
    _throttled(_COMMITS),
    *_BROKERS,
)
TRANSACTIONS = (
    _lost((*_TRANSACTIONS, "InitProducerId", *_PRODUCE)),
    _errors(
        _TRANSACTIONS,
        ("CONCURRENT_TRANSACTIONS", "NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"),
    ),
    Disturbance(
        "error",
        ("InitProducerId",),
        {"error": OneOf(("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"))},
        times_max=3,
        needs=("transactional_id",),
    ),
    _errors((*_TRANSACTIONS, *_PRODUCE), ("INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE"), weight=1),
    _errors(_TRANSACTIONS, ("PRODUCER_FENCED",), weight=1),
    Disturbance(
        "coordinator that moves",
        _TRANSACTIONS,
        {"coordinator": "next"},
        needs=("transactional_id", "brokers"),
    ),
    _CLOCK,
    _cut(_TRANSACTIONS),
    *_slow(_TRANSACTIONS),
    *_BROKERS,
)
ADMIN = (
    _lost(_ADMIN),
    _errors(_ADMIN, ("NOT_CONTROLLER", "REQUEST_TIMED_OUT", "THROTTLING_QUOTA_EXCEEDED")),
    Disturbance(
        "done, and an error", _ADMIN, {"error": "REQUEST_TIMED_OUT", "at": "before_response"}
    ),
    _throttled(_ADMIN),
    _cut(_ADMIN),
    *_slow(_ADMIN),
    _STALE,
)
QUOTAS = (
    _throttled(_PRODUCE, 3),
    _throttled(_FETCH, 3),
    _throttled((*_ADMIN, *_COMMITS, *_TRANSACTIONS), 2),
    Disturbance(
        "throttle without a mute",
        (*_PRODUCE, *_FETCH),
        {"throttle_time_ms": Between(100, 1000), "mute": False},
        2,
        times_max=3,
    ),
    _errors(("CreateTopics", "DeleteTopics", "CreatePartitions"), ("THROTTLING_QUOTA_EXCEEDED",)),
)

PROFILES: Mapping[str, tuple[Disturbance, ...]] = {
    "producer": PRODUCER,
    "consumer": CONSUMER,
    "transactions": TRANSACTIONS,
    "groups": GROUPS,
    "admin": ADMIN,
    "quotas": QUOTAS,
}

PROFILE_APIS: Mapping[str, tuple[str, ...]] = {
    "producer": _PRODUCE,
    "consumer": _FETCH,
    "transactions": _TRANSACTIONS,
    "groups": (*_JOINS, *_COMMITS),
    "admin": _ADMIN,
}
"""The APIs that show that a client needs a profile.

Nothing shows that it needs `quotas`: many clients do not wait for a throttle time, as brokers mute.
"""
