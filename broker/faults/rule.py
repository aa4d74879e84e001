"""A fault rule: which requests it is for, when it fires, and what it then does. A frozen value.

In JSON a rule is one flat object of the same fields; `from_json` and `to_json` are each other's
inverse, and everything that is wrong with a rule is a ValueError that names the field.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import MISSING, dataclass, fields
from typing import Any

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages import API_NAMES, api_key_of
from protocol.response_patch import check_patch
from protocol.suggestions import did_you_mean

BEFORE_HANDLING = "before_handling"
BEFORE_RESPONSE = "before_response"
WITHIN_RESPONSE = "within_response"
NEXT = "next"
NONE = "none"
SELF = "self"

CONNECTION_ACTIONS = ("refuse_connection", "delay_connection_ms")
CLUSTER_ACTIONS = (
    "leader",
    "coordinator",
    "stop_broker",
    "isolate_broker",
    "fence_broker",
    "start_broker",
)
_DECIDING_ACTIONS = ("error", "response", "drop", "hang", "stale_metadata")
_OTHER_ACTIONS = (
    "throttle_time_ms",
    "delay_request_ms",
    "delay_ms",
    "bytes_per_second",
    "truncate_bytes",
    "corrupt_bytes",
    "oversize_bytes",
    "announce_bytes",
)
_FALSIFYING_ACTIONS = (
    "response",
    "truncate_bytes",
    "corrupt_bytes",
    "oversize_bytes",
    "announce_bytes",
)
APIS_OF_METADATA = frozenset(
    {
        ApiKey.METADATA,
        ApiKey.FIND_COORDINATOR,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    }
)
"""What can be answered from stale metadata: who leads, coordinates and is there."""
ACTIONS = (*_DECIDING_ACTIONS, *_OTHER_ACTIONS, *CLUSTER_ACTIONS, *CONNECTION_ACTIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """One rule. A matcher that is None matches everything; an action that is None isn't done.

    Times and delays are in milliseconds of the broker's clock.
    """

    name: str | None = None
    """What people call it; not used otherwise."""

    # Which requests ----------------------------------------------------------------------------
    api: str | None = None
    """As Kafka writes it: `Produce`, `InitProducerId`."""
    version_min: int | None = None
    version_max: int | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    transactional_id: str | None = None
    broker: int | None = None
    client_id: str | None = None
    user: str | None = None
    connection: int | None = None

    # When it fires, of the requests it matches -------------------------------------------------
    nth: int | None = None
    """On this one only, counted from 1."""
    skip: int = 0
    """Not on the first so many."""
    every: int | None = None
    """On every so-many-eth."""
    times: int | None = None
    """So often and no more."""
    after_ms: int | None = None
    """Not before so long after the rule was added; earlier requests do not match."""
    until_ms: int | None = None
    """And only before so long after the rule was added."""
    probability: float | None = None
    seed: int = 0
    """The same seed throws the same coins and jitter, request by request."""

    # What happens ------------------------------------------------------------------------------
    error: str | None = None
    """Name of the error code that the response carries for all that was asked for."""
    response: dict[str, Any] | None = None
    """Values in place of those of the response: of the real one, or of that of `error`."""
    throttle_time_ms: int | None = None
    mute: bool = True
    """Whether the connection is mute for as long as it is told to wait."""
    delay_request_ms: int | None = None
    """Wait so long before handling it."""
    delay_ms: int | None = None
    """Wait so long before answering it."""
    jitter_ms: int = 0
    """Up to so much longer, evenly spread; of every delay."""
    bytes_per_second: int | None = None
    """Answer when the last byte of request and response would be over, at this rate."""
    drop: str | None = None
    """Close the connection `before_handling`, `before_response` or `within_response`."""
    drop_after_bytes: int | None = None
    """How much of the response comes with `within_response`; half of it if not said."""
    hang: str | None = None
    """Never answer, with `before_handling` without having handled it; or `before_response`."""
    truncate_bytes: int | None = None
    """So many bytes are missing at the end of the response; its size says so."""
    corrupt_bytes: int | None = None
    """So many bytes of the response's body are changed."""
    oversize_bytes: int | None = None
    """So many zeros follow the response; its size says so."""
    announce_bytes: int | None = None
    """The size in front of the response says this, whatever follows."""
    stale_metadata: bool | None = None
    """Answer from what brokers knew when the rule was added; for APIs that tell of it alone."""
    leader: int | str | None = None
    """Move the leaders of the rule's topic: to a broker, to the `next` replica, or to `none`."""
    coordinator: int | str | None = None
    """Move the coordinator of the rule's group or transactional id, to a broker or the `next`."""
    stop_broker: int | str | None = None
    """A broker, or `self`: the one that was asked."""
    isolate_broker: int | str | None = None
    fence_broker: int | str | None = None
    """One that the others take for gone, and that serves its connections as before."""
    start_broker: int | None = None
    elect: bool | None = None
    """Whether the others notice: by default of a stopped broker, not of one that is cut off."""
    restart_after_ms: int | None = None
    """Start the stopped or cut off broker again so long afterwards."""
    at: str = BEFORE_HANDLING
    """When errors and what happens to brokers take effect; or `before_response`: handled by then."""
    at_once: bool = False
    """Do to the cluster what the rule says when it is added, without waiting for a request."""
    refuse_connection: bool | None = None
    """Close new connections at once."""
    delay_connection_ms: int | None = None
    """Wait so long before reading from a new connection."""

    def __post_init__(self) -> None:
        if self.api is not None:
            object.__setattr__(self, "api", _api_name(self.api))
        if self.error is not None:
            object.__setattr__(self, "error", _error_name(self.error))
        for name, check in _CHECKS.items():
            value = getattr(self, name)
            if value is not None:
                check(name, value)
        if self.response is not None:
            self._check_response()
        # It knows what rules are, so it can't be there before them.
        from broker.faults.validation import check_meaning  # noqa: PLC0415

        check_meaning(self)

    def _check_response(self) -> None:
        if self.api_key is None:
            raise ValueError("response: needs api")
        try:
            check_patch(self.api_key, self.response)
        except ValueError as error:
            raise ValueError(f"response: {error}") from None
        object.__setattr__(self, "response", deepcopy(self.response))

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the actions it has."""
        return tuple(
            name
            for name in ACTIONS
            if getattr(self, name) is not None and getattr(self, name) is not False
        )

    @property
    def is_of_connections(self) -> bool:
        """Whether it is about new connections, and not about requests."""
        return any(name in CONNECTION_ACTIONS for name in self.actions)

    @property
    def decides(self) -> bool:
        """Whether it says what becomes of a request, which only one rule can."""
        return any(name in _DECIDING_ACTIONS for name in self.actions)

    @property
    def falsifies(self) -> bool:
        """Whether a response may say what is not so.

        An error claims no success, and a response that is late or lost stays true.
        """
        return any(name in _FALSIFYING_ACTIONS for name in self.actions)

    @property
    def api_key(self) -> ApiKey | None:
        """The API it is for, or None for all."""
        return None if self.api is None else _KEYS_BY_NAME[self.api]

    @property
    def error_code(self) -> ErrorCode | None:
        """The error it answers with, or None."""
        return None if self.error is None else ErrorCode[self.error]

    @staticmethod
    def default_of(name: str) -> Any:
        """What a field is that nobody has said."""
        return _DEFAULTS[name]

    def describe(self) -> str:
        """Its actions in a few words."""
        told = {name: getattr(self, name) for name in self.actions}
        if self.response is not None:
            told["response"] = " ".join(self.response)
        return ", ".join(
            name if value is True else f"{name} {value}" for name, value in told.items()
        )

    def to_json(self) -> dict[str, Any]:
        """The fields that say something, as a JSON object."""
        return {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if getattr(self, each.name) != each.default
        }

    @classmethod
    def from_json(cls, rule: Any) -> "FaultRule":
        """A rule from a parsed JSON object.

        Raises:
            ValueError: it names the field, and the nearest word that would do.
        """
        if not isinstance(rule, Mapping):
            raise ValueError(f"a rule is an object, not {type(rule).__name__}")  # noqa: TRY004
        for name in rule:
            if name not in _FIELD_NAMES:
                raise ValueError(
                    f"{name}: there is no such field{did_you_mean(str(name), _FIELD_NAMES)}"
                )
        return cls(**{name: value for name, value in rule.items() if value is not None})


def rules_from_json(document: Any) -> list[FaultRule]:
    """Rules from a parsed JSON document: a list of rules, or one rule.

    Raises:
        ValueError: it says what is wrong, and with which rule of a list.
    """
    if not isinstance(document, list):
        return [FaultRule.from_json(document)]
    rules = []
    for number, each in enumerate(document, 1):
        try:
            rules.append(FaultRule.from_json(each))
        except ValueError as error:
            raise ValueError(f"rule {number}: {error}") from error
    return rules


_KEYS_BY_NAME = {name: key for key, name in API_NAMES.items()}


def _api_name(api: Any) -> str:
    """Kafka's name of an API; PRODUCE, a key and an ApiKey will do too."""
    if isinstance(api, int) and not isinstance(api, bool) and api in API_NAMES:
        return API_NAMES[ApiKey(api)]
    try:
        return API_NAMES[api_key_of(str(api))]
    except ValueError as error:
        raise ValueError(f"api: {error}") from None


def _error_name(error: Any) -> str:
    if isinstance(error, int) and not isinstance(error, bool):
        try:
            error = ErrorCode(error).name
        except ValueError:
            raise ValueError(f"error: there is no error code {error}") from None
    if not isinstance(error, str) or error not in ErrorCode.__members__:
        known = ErrorCode.__members__
        raise ValueError(f"error: there is no {error}{did_you_mean(str(error).upper(), known)}")
    return error


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _whole(low: int, high: int = (1 << 31) - 1) -> Any:
    def check(name: str, value: Any) -> None:
        if not _is_whole(value) or not low <= value <= high:
            raise ValueError(f"{name}: must be a whole number from {low} to {high}, not {value!r}")

    return check


def _text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{name}: must be a text, not {value!r}")  # noqa: TRY004


def _flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{name}: must be true or false, not {value!r}")  # noqa: TRY004


def _one_of(*words: str) -> Any:
    def check(name: str, value: Any) -> None:
        if value not in words:
            hint = did_you_mean(str(value), words)
            raise ValueError(f"{name}: must be one of {', '.join(words)}, not {value!r}{hint}")

    return check


def _broker_or(*words: str) -> Any:
    def check(name: str, value: Any) -> None:
        if value not in words and not (_is_whole(value) and value >= 0):
            raise ValueError(f"{name}: must be a node id or {' or '.join(words)}, not {value!r}")

    return check


def _probability(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{name}: must be a number from 0 to 1, not {value!r}")


_LONGEST_MS = 1 << 53
_DURATION = _whole(0, _LONGEST_MS)
_VERSION = _whole(0, (1 << 15) - 1)
_CHECKS: dict[str, Any] = {
    "name": _text,
    "version_min": _VERSION,
    "version_max": _VERSION,
    "topic": _text,
    "partition": _whole(0),
    "group": _text,
    "transactional_id": _text,
    "broker": _whole(0),
    "client_id": _text,
    "user": _text,
    "connection": _whole(0),
    "nth": _whole(1),
    "skip": _whole(0),
    "every": _whole(1),
    "times": _whole(1),
    "after_ms": _DURATION,
    "until_ms": _whole(1, _LONGEST_MS),
    "probability": _probability,
    "seed": _whole(-(1 << 63), (1 << 63) - 1),
    "throttle_time_ms": _whole(1),
    "mute": _flag,
    "delay_request_ms": _DURATION,
    "delay_ms": _DURATION,
    "jitter_ms": _DURATION,
    "bytes_per_second": _whole(1),
    "drop": _one_of(BEFORE_HANDLING, BEFORE_RESPONSE, WITHIN_RESPONSE),
    "drop_after_bytes": _whole(0),
    "hang": _one_of(BEFORE_HANDLING, BEFORE_RESPONSE),
    "truncate_bytes": _whole(1),
    "corrupt_bytes": _whole(1),
    "oversize_bytes": _whole(1, 1 << 28),
    "announce_bytes": _whole(-(1 << 31)),
    "stale_metadata": _flag,
    "leader": _broker_or(NEXT, NONE),
    "coordinator": _broker_or(NEXT),
    "stop_broker": _broker_or(SELF),
    "isolate_broker": _broker_or(SELF),
    "fence_broker": _broker_or(SELF),
    "start_broker": _whole(0),
    "elect": _flag,
    "restart_after_ms": _DURATION,
    "at": _one_of(BEFORE_HANDLING, BEFORE_RESPONSE),
    "at_once": _flag,
    "refuse_connection": _flag,
    "delay_connection_ms": _DURATION,
}
_FIELD_NAMES = tuple(each.name for each in fields(FaultRule))
assert all(each.default is not MISSING for each in fields(FaultRule))
_DEFAULTS = {each.name: each.default for each in fields(FaultRule)}
