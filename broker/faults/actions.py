"""What a fault rule does: one dataclass for each action.

The first attribute of an action is its field in the flat JSON form; the others are its options.
Some options belong to several actions (`at`, `jitter_ms`, `elect`, `restart_after_ms`); within one
rule they have one value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

from broker.faults.error_arrays import PART, TOP
from broker.faults.fields import (
    API_VERSIONS,
    ERROR,
    FLAG,
    NODE_ID,
    OBJECT,
    ONLY_TRUE,
    Declared,
    broker_or,
    declare,
    declare_required,
    duration_ms,
    one_of,
    whole,
)
from broker.faults.transfer_actions import (
    AnnounceSize,
    Corrupt,
    LimitBandwidth,
    LimitRequestBandwidth,
    LimitResponseBandwidth,
    Oversize,
    Trickle,
    Truncate,
)
from broker.request.acknowledgement import FETCH_CHANGES, SCHEMA_ID, SWAP_BATCHES
from broker.responses import CloseManner
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

BEFORE_HANDLING = "before_handling"
BEFORE_RESPONSE = "before_response"
WITHIN_RESPONSE = "within_response"
NEXT = "next"
NONE = "none"
SELF = "self"
FENCE = "fence"
REBALANCE = "rebalance"

METADATA_APIS = frozenset(
    {
        ApiKey.METADATA,
        ApiKey.FIND_COORDINATOR,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    }
)
"""APIs that can respond from stale metadata: brokers, leaders and coordinators."""


LATE_ERRORS: Mapping[ApiKey, frozenset[ErrorCode]] = {
    **dict.fromkeys(
        (ApiKey.PRODUCE, ApiKey.WRITE_TXN_MARKERS),
        frozenset({ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND}),
    ),
    ApiKey.DELETE_RECORDS: frozenset({ErrorCode.REQUEST_TIMED_OUT}),
}
"""Errors that Kafka responds with only after it has done the work.

Sources: `DelayedProduce`, `Partition.appendRecordsToLeader` and `DelayedDeleteRecords`. Other APIs
may time out before the work as well.
"""


def _at() -> Any:
    return declare(
        one_of(BEFORE_HANDLING, BEFORE_RESPONSE),
        "when an error or an action on the cluster takes effect: before the request is handled, or "
        "after it was handled and before its response. By default before, but after the append "
        "for the errors `REQUEST_TIMED_OUT` and `NOT_ENOUGH_REPLICAS_AFTER_APPEND` of Produce and "
        "WriteTxnMarkers, and after the deletion for `REQUEST_TIMED_OUT` of DeleteRecords",
    )


def _jitter_ms() -> Any:
    return declare(
        duration_ms(), "added to every delay: a random time up to this, evenly distributed", 0
    )


def _elect() -> Any:
    return declare(
        FLAG,
        "whether leaders and coordinators move to other brokers. By default yes for a stopped "
        "broker, no for an isolated one. With `controller.mutation.time.us` they move when the "
        "controller gets to it",
    )


def _restart_after_ms() -> Any:
    return declare(
        duration_ms(), "the broker starts again this long after it was stopped, isolated or fenced"
    )


@dataclass(frozen=True, slots=True)
class Error(Declared):
    """Respond with an error code for every requested item."""

    error: str = declare_required(
        ERROR,
        "the API's own response in the request's version, with this error code for everything "
        "that was asked for; any of Kafka 4.4's 138 codes, by its number or its name in any case",
    )
    at: str | None = _at()

    level: str | None = declare(
        one_of(TOP, PART),
        "where an error is: in the response itself, or in the parts that the request names; by "
        "default where the API has an error for the whole request, and in the parts if the rule "
        "is for some of them",
    )

    @property
    def error_code(self) -> ErrorCode:
        """The error code itself."""
        return ErrorCode[self.error]

    def stage(self, api_key: int) -> str:
        """Return when it takes effect: `BEFORE_HANDLING` or `BEFORE_RESPONSE`."""
        if self.at is not None:
            return self.at
        is_late = self.error_code in LATE_ERRORS.get(ApiKey(api_key), ())
        return BEFORE_RESPONSE if is_late else BEFORE_HANDLING


@dataclass(frozen=True, slots=True)
class PatchResponse(Declared):
    """Replace values of the response."""

    response: Mapping[str, Any] = declare_required(
        OBJECT,
        "the response with these values in it; together with `error`, the error response with them",
    )


@dataclass(frozen=True, slots=True)
class Drop(Declared):
    """Close the connection."""

    drop: str = declare_required(
        one_of(BEFORE_HANDLING, BEFORE_RESPONSE, WITHIN_RESPONSE),
        "a closed connection: before the request is handled, after it was handled and before its "
        "response, or within the response",
    )
    drop_after_bytes: int | None = declare(
        whole(0),
        "so many bytes of the response before the end, with `within_response`; half by default",
    )
    drop_by: str = declare(
        one_of(*(manner.value for manner in CloseManner)),
        "how the connection ends with `drop`: it closes; it is reset (RST); only the direction to "
        "the client closes (FIN), and what the client sends is read and ignored; or it stays open "
        "and nothing is read from it any more. `connections.max.idle.ms` ends the last two",
        CloseManner.CLOSE.value,
    )


@dataclass(frozen=True, slots=True)
class Hang(Declared):
    """Never respond."""

    hang: str = declare_required(
        one_of(BEFORE_HANDLING, BEFORE_RESPONSE),
        "no response, ever; the request is not handled, or it is",
    )


@dataclass(frozen=True, slots=True)
class Hold(Declared):
    """Keep a request until it is released."""

    hold: str = declare_required(
        one_of(BEFORE_HANDLING, BEFORE_RESPONSE),
        "nothing until the request is released; then it goes on: before it is handled, or after "
        "it was handled and before its response. No clock releases it",
    )


@dataclass(frozen=True, slots=True)
class StaleMetadata(Declared):
    """Respond from the state of the cluster when the rule was added."""

    stale_metadata: bool = declare_required(
        ONLY_TRUE, "brokers, leaders and coordinators as they were when the rule was added"
    )


@dataclass(frozen=True, slots=True)
class Throttle(Declared):
    """Respond with a throttle time, and mute the connection."""

    throttle_time_ms: int = declare_required(
        whole(1), "this throttle time in the response, and a connection that is muted for it"
    )
    mute: bool = declare(FLAG, "whether the connection is muted for the throttle time", True)


@dataclass(frozen=True, slots=True)
class DelayRequest(Declared):
    """Wait before handling the request."""

    delay_request_ms: int = declare_required(
        duration_ms(), "nothing for this time; then the request is handled"
    )
    jitter_ms: int = _jitter_ms()


@dataclass(frozen=True, slots=True)
class DelayResponse(Declared):
    """Wait before sending the response."""

    delay_ms: int = declare_required(
        duration_ms(), "the response this much later; the request is handled at once"
    )
    jitter_ms: int = _jitter_ms()


@dataclass(frozen=True, slots=True)
class ChangeRecords(Declared):
    """Change the records of a batch, with a CRC that is right again."""

    change_records: str = declare_required(
        one_of(*FETCH_CHANGES, SWAP_BATCHES),
        "a batch of each partition with other records and a valid CRC: for Produce in the log, for "
        "Fetch in this response alone. The batch twice, a value with one byte changed, one record "
        "missing, the records in reverse order, values with another schema id, or, for Produce, "
        "the batch behind the next one of its partition",
    )
    record_index: int | None = declare(
        whole(0),
        "the record of the batch to change or drop, from 0; by default `seed` chooses one that can "
        "be changed, and `replace_schema_id` changes all that have a schema id",
    )
    schema_id: int | None = declare(
        whole(-(1 << 31)),
        f"the schema id of `replace_schema_id`, {SCHEMA_ID} by default: in a value that begins "
        "with a byte 0 the four bytes behind it",
    )


@dataclass(frozen=True, slots=True)
class MoveLeader(Declared):
    """Move the leaders of the rule's topic."""

    leader: int | str = declare_required(
        broker_or(NEXT, NONE),
        "the leaders of `topic` (of `partition`) on this broker, on the `next` replica, or gone",
    )
    at: str | None = _at()


@dataclass(frozen=True, slots=True)
class MoveCoordinator(Declared):
    """Move the coordinator of the rule's group or transactional id."""

    coordinator: int | str = declare_required(
        broker_or(NEXT),
        "the coordinator of `group` (with all groups of its partition of `__consumer_offsets`) or "
        "`transactional_id` on this or the `next` broker; requests "
        "that wait at the old one get NOT_COORDINATOR",
    )
    at: str | None = _at()


@dataclass(frozen=True, slots=True)
class StopBroker(Declared):
    """Stop a broker."""

    stop_broker: int | str = declare_required(
        broker_or(SELF),
        "a broker that is down: closed connections, new ones refused, until it is started on the "
        "same port; `self` is the broker that received the request",
    )
    elect: bool | None = _elect()
    restart_after_ms: int | None = _restart_after_ms()
    at: str | None = _at()


@dataclass(frozen=True, slots=True)
class IsolateBroker(Declared):
    """Stop all traffic on the connections of a broker."""

    isolate_broker: int | str = declare_required(
        broker_or(SELF),
        "connections that stay open, without traffic until the broker is started",
    )
    elect: bool | None = _elect()
    restart_after_ms: int | None = _restart_after_ms()
    at: str | None = _at()


@dataclass(frozen=True, slots=True)
class FenceBroker(Declared):
    """Fence a broker."""

    fence_broker: int | str = declare_required(
        broker_or(SELF),
        "a broker that Metadata does not list and that leads nothing, while its connections stay",
    )
    restart_after_ms: int | None = _restart_after_ms()
    at: str | None = _at()


@dataclass(frozen=True, slots=True)
class StartBroker(Declared):
    """Start a broker."""

    start_broker: int = declare_required(NODE_ID, "the broker again, in sync, with all its records")
    at: str | None = _at()


@dataclass(frozen=True, slots=True)
class SetApiVersions(Declared):
    """Have a broker serve the versions of another release."""

    api_versions: str = declare_required(
        API_VERSIONS,
        "the versions that `broker`, or the broker that received the request, serves from now on, "
        "as `broker.api.versions` has them",
    )
    at: str | None = _at()


@dataclass(frozen=True, slots=True)
class DisturbMembers(Declared):
    """Begin a rebalance of the rule's group, or remove its members."""

    members: str = declare_required(
        one_of(REBALANCE, FENCE),
        "the members of `group` begin a rebalance, or are removed from it as when their sessions "
        "have expired",
    )
    at: str | None = _at()


@dataclass(frozen=True, slots=True)
class MoveClock(Declared):
    """Move the clock."""

    advance_ms: int = declare_required(
        whole(1),
        "the clock this much later, as soon as the request was handled or began to wait; "
        "everything that becomes due happens in order",
    )
    at: str | None = _at()


@dataclass(frozen=True, slots=True)
class RefuseConnection(Declared):
    """Close new connections at once."""

    refuse_connection: bool = declare_required(ONLY_TRUE, "new connections that are closed at once")


@dataclass(frozen=True, slots=True)
class DelayConnection(Declared):
    """Wait before reading from a new connection."""

    delay_connection_ms: int = declare_required(
        duration_ms(), "new connections that are read only after this time"
    )
    jitter_ms: int = _jitter_ms()


ConnectionAction = RefuseConnection | DelayConnection
BrokerAction = StopBroker | IsolateBroker | FenceBroker | StartBroker
ClusterAction = (
    MoveLeader | MoveCoordinator | BrokerAction | SetApiVersions | DisturbMembers | MoveClock
)
DecidingAction = Error | PatchResponse | Drop | Hang | StaleMetadata
"""Actions that decide the outcome of a request; only one rule can do so."""
FalsifyingAction = PatchResponse | Trickle | Truncate | Corrupt | Oversize | AnnounceSize
"""Actions that may make a response false.

An error reports no success, and a late or lost response is not false. One that trickles may be lost
within.
"""
Action = (
    DecidingAction
    | Hold
    | Throttle
    | DelayRequest
    | DelayResponse
    | LimitBandwidth
    | LimitRequestBandwidth
    | LimitResponseBandwidth
    | Trickle
    | Truncate
    | Corrupt
    | Oversize
    | AnnounceSize
    | ChangeRecords
    | ClusterAction
    | ConnectionAction
)

ACTION_TYPES: tuple[type[Action], ...] = get_args(Action)


def field_name_of(action: Action | type[Action]) -> str:
    """Return the field of the flat JSON form that stands for an action."""
    return fields(action)[0].name


ACTION_NAMES: tuple[str, ...] = tuple(map(field_name_of, ACTION_TYPES))
"""The field names of all actions, in the order in which rules list them."""
CLUSTER_ACTION_NAMES: tuple[str, ...] = tuple(map(field_name_of, get_args(ClusterAction)))


def stage_of(action: ClusterAction) -> str:
    """Return when an action on the cluster takes effect."""
    return action.at or BEFORE_HANDLING
