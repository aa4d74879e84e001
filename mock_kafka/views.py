"""What a cluster shows: topics, records, requests, measured values. Frozen values."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Record:
    """One record as it is stored; `timestamp_ms` is since the epoch."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition; `leader` is None while there is none."""

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    log_start_offset: int
    log_end_offset: int


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic; `config` is what it has of its own."""

    name: str
    topic_id: str
    config: Mapping[str, str]
    partitions: tuple[Partition, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """One request that the cluster received, and what became of it.

    `outcome` is `waiting`, `responded`, `no_response` (acks=0) or `closed`; `close_reason` says why
    the connection was closed instead. `errors` are the names of all error codes in the response.
    `request` and `response` are the decoded messages: dictionaries with the names
    of Kafka's schemas, record batches summed up, None where there is none. `fault` says in words
    what a rule did to it. `shadow_throttle_times_ms` has the throttle times that quotas in shadow
    mode would have given it, by quota key. Times are in milliseconds of the cluster's clock,
    `duration_us` in microseconds of the machine's.

    The `kind` `connection` is a new connection that a rule refused or delayed: `outcome` is
    `refused` or `delayed`, and `peer` is the client's `HOST:PORT`. The `kind` `disconnect` is the
    end of a connection: `outcome` is `closed`, and `close_reason` says why. Both have none of the
    attributes of a request.
    """

    number: int
    received_ms: int
    broker: int
    client_host: str
    outcome: str
    kind: str = "request"
    connection: int | None = None
    client_id: str | None = None
    user: str | None = None
    listener: str | None = None
    api: str = ""
    version: int = 0
    correlation_id: int = 0
    close_reason: str | None = None
    duration_us: int | None = None
    throttle_time_ms: int = 0
    muted: bool = False
    shadow_throttle_times_ms: Mapping[str, int] = field(default_factory=dict, hash=False)
    fault: str | None = None
    request_bytes: int = 0
    response_bytes: int = 0
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    request: Any = None
    response: Any = None
    peer: str | None = None
    delay_ms: int | None = None

    def __str__(self) -> str:
        """In one line, for people."""
        who = f"{self.client_id or '(no client id)'} as {self.user}"
        what = f"{self.api} v{self.version}"
        if self.kind == "connection":
            who, what = str(self.peer), "new connection"
        elif self.kind == "disconnect":
            who, what = f"{self.client_host} as {self.user}", "disconnect"
        targets = " ".join((*self.topics, *self.groups, *self.transactional_ids))
        parts = [f"#{self.number}", f"broker {self.broker}", who, what]
        parts += [targets] if targets else []
        parts.append(f"-> {self.close_reason or self.outcome} {' '.join(self.errors)}".rstrip())
        parts += [f"throttled {self.throttle_time_ms} ms"] if self.throttle_time_ms else []
        parts += [
            f"would be throttled {ms} ms by {quota}"
            for quota, ms in self.shadow_throttle_times_ms.items()
        ]
        parts += [f"[{self.fault}]"] if self.fault else []
        return "  ".join(parts)


@dataclass(frozen=True, slots=True)
class Metric:
    """One measured value under Kafka's names; None where nothing was measured lately."""

    group: str
    name: str
    tags: Mapping[str, str]
    value: float | None


@dataclass(frozen=True, slots=True)
class ShadowEvent:
    """A request that would have been throttled; times are of the cluster's clock."""

    time_ms: int
    throttle_time_ms: int
    user: str
    client_id: str | None


@dataclass(frozen=True, slots=True)
class ShadowCount:
    """What a quota in shadow mode would have done to the clients that share it.

    `broker` is None for a quota of the whole cluster; `user` or `client_id` is None where the quota
    does not distinguish by it. `throttled` requests would have been answered with a
    `throttle_time_ms`, refused ones included; `held` ones came while their connection would have
    been mute. `over_quota` is what would not have passed when it came: bytes, ms of handlers' time,
    partitions, or distinct producer ids. `events` are the newest throttled requests, oldest first.
    """

    quota: str
    user: str | None
    client_id: str | None
    broker: int | None
    throttled: int
    held: int
    over_quota: int
    first_ms: int
    last_ms: int
    throttle_time_max_ms: int
    throttle_time_total_ms: int
    events: tuple[ShadowEvent, ...]


def record_of(topic: str, plain: Mapping[str, Any]) -> Record:
    """A record of the admin port's JSON, whose bytes are base64."""
    return Record(
        topic,
        plain["partition"],
        plain["offset"],
        plain["timestamp"],
        _bytes_of(plain["key"]),
        _bytes_of(plain["value"]),
        tuple((each["key"], _bytes_of(each["value"])) for each in plain["headers"]),
    )


def partition_of(plain: Mapping[str, Any]) -> Partition:
    """A partition of the admin port's JSON."""
    return Partition(**{name: _frozen(plain[name]) for name in _PARTITION_FIELDS})


def topic_of(plain: Mapping[str, Any]) -> Topic:
    """A topic of the admin port's JSON."""
    partitions = tuple(map(partition_of, plain["partitions"]))
    return Topic(plain["name"], plain["topic_id"], plain["config"], partitions)


def request_of(plain: Mapping[str, Any]) -> Request:
    """Return a line of the admin port's JSON; fields that `Request` lacks are left out."""
    if plain.get("kind") == "disconnect":
        plain = {**plain, "outcome": "closed", "close_reason": plain["reason"]}
    return Request(**{name: _frozen(plain[name]) for name in _REQUEST_FIELDS if name in plain})


def metric_of(plain: Mapping[str, Any]) -> Metric:
    """A measured value of the admin port's JSON."""
    return Metric(plain["group"], plain["name"], plain["tags"], plain["value"])


def shadow_count_of(plain: Mapping[str, Any]) -> ShadowCount:
    """One entry of the shadow report of the admin port's JSON."""
    events = tuple(ShadowEvent(**each) for each in plain["events"])
    return ShadowCount(**{**plain, "events": events})


_REQUEST_FIELDS = tuple(each.name for each in fields(Request))
_PARTITION_FIELDS = tuple(each.name for each in fields(Partition))


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _bytes_of(plain: Mapping[str, str] | None) -> bytes | None:
    return None if plain is None else b64decode(plain["base64"])
