"""The steps of workloads: commands for an adapter with their phase and time limit, and replies."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from atlas.experiment import Phase

PRODUCER_SETTINGS = frozenset(
    [
        "acks",
        "idempotent",
        "transactional_id",
        "transaction_timeout_ms",
        "delivery_timeout_ms",
        "request_timeout_ms",
        "linger_ms",
        "retries",
        "retry_backoff_ms",
        "max_in_flight",
        "compression",
        "metadata_max_age_ms",
        "security",
        "token_auth",
    ]
)
CONSUMER_SETTINGS = frozenset(
    [
        "group",
        "instance_id",
        "group_protocol",
        "isolation",
        "auto_offset_reset",
        "auto_commit",
        "session_timeout_ms",
        "heartbeat_interval_ms",
        "fetch_max_wait_ms",
        "request_timeout_ms",
        "retry_backoff_ms",
        "metadata_max_age_ms",
        "assignor",
        "security",
        "token_auth",
    ]
)
ADMIN_SETTINGS = frozenset({"request_timeout_ms", "retry_backoff_ms", "security", "token_auth"})

# Short, so that most experiments take less than a second.
PRODUCER_DEFAULTS: Mapping[str, Any] = {
    "delivery_timeout_ms": 3_000,
    "request_timeout_ms": 1_000,
    "linger_ms": 0,
    "retry_backoff_ms": 50,
}
CONSUMER_DEFAULTS: Mapping[str, Any] = {
    "auto_offset_reset": "earliest",
    "auto_commit": False,
    "session_timeout_ms": 6_000,
    "heartbeat_interval_ms": 300,
    "fetch_max_wait_ms": 200,
    "request_timeout_ms": 1_500,
    "retry_backoff_ms": 50,
}
ADMIN_DEFAULTS: Mapping[str, Any] = {"request_timeout_ms": 1_500, "retry_backoff_ms": 50}
POLL_MS = 500
CLOSE_MS = 2_000
GROUP = "billing"
"""The group of workloads that have one."""
HEAL = "heal"
"""A step of the lane: it removes all rules, starts stopped brokers, and writes a record."""
WRITE = "write"
"""A step of the lane: it writes a record with `value` to each partition of `topic`."""
LOOK = "look"
"""A step of the lane: its reply has the number of `members` of `group` and its `state`."""
LANE_STEPS = frozenset({HEAL, WRITE, LOOK})


class Step(NamedTuple):
    """A command; `timeout_ms` is how long the client may take, None for at once."""

    name: str
    arguments: Mapping[str, Any]
    phase: Phase = "main"
    timeout_ms: int | None = None


class Reply(NamedTuple):
    """The end of a command: its number, `done` or another outcome, and the fields of its event."""

    number: int
    outcome: str
    values: Mapping[str, Any]

    @property
    def is_done(self) -> bool:
        """Whether the command succeeded."""
        return self.outcome == "done"


Steps = Generator[Step, Reply, None]
Answer = Generator[Step, Reply, Reply]


@dataclass(slots=True)
class Session:
    """What a workload knows: its arguments, and what the client has reported so far.

    `stored` has the number of records of each topic before the client starts, `partitions` the
    number of partitions. `delivered` has, by the number of the `send`, whether it was a success.
    """

    arguments: Mapping[str, Any]
    partitions: Mapping[str, int] = field(default_factory=dict)
    stored: Mapping[str, int] = field(default_factory=dict)
    delivered: dict[int, bool] = field(default_factory=dict)
    is_usable: bool | None = None

    def get(self, name: str, default: Any) -> Any:
        """Return an argument, or the default."""
        value = self.arguments.get(name)
        return default if value is None else value

    def producer_settings(self) -> dict[str, Any]:
        """Return the settings of a producer; the timeouts never contradict each other."""
        settings = self._settings(PRODUCER_SETTINGS, PRODUCER_DEFAULTS)
        if settings.get("idempotent"):
            # An idempotent producer has no other; one of a library without any gets the same.
            settings.setdefault("acks", -1)
        if "request_timeout_ms" not in self.arguments:
            deadline_ms = settings["delivery_timeout_ms"] - settings["linger_ms"]
            settings["request_timeout_ms"] = min(settings["request_timeout_ms"], deadline_ms)
        elif "delivery_timeout_ms" not in self.arguments:
            least_ms = settings["request_timeout_ms"] + settings["linger_ms"]
            settings["delivery_timeout_ms"] = max(settings["delivery_timeout_ms"], least_ms)
        return settings

    def consumer_settings(self) -> dict[str, Any]:
        """Return the settings of a consumer."""
        return self._settings(CONSUMER_SETTINGS, CONSUMER_DEFAULTS)

    def admin_settings(self) -> dict[str, Any]:
        """Return the settings of an admin client."""
        return self._settings(ADMIN_SETTINGS, ADMIN_DEFAULTS)

    def _settings(self, names: frozenset[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: self.arguments[name] for name in names & self.arguments.keys()}
        return {**defaults, **given}

    @property
    def report_ms(self) -> int:
        """How long a producer may take to report, with a margin of a second."""
        deadline_ms: int = self.producer_settings()["delivery_timeout_ms"]
        return int(self.get("flush_timeout_ms", deadline_ms + 1_000))

    @property
    def call_ms(self) -> int:
        """How long a call of a consumer or an admin client may take."""
        return max(int(self.get("request_timeout_ms", 0)) + 1_500, 4_000)


def closing(handle: str) -> Answer:
    """Close a client."""
    arguments = {"id": handle, "timeout_ms": CLOSE_MS}
    return (yield Step("close", arguments, "close", CLOSE_MS))
