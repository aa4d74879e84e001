"""Results of the methods of a cluster: topics, records, requests, metrics. Frozen values."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from mock_kafka.acl_views import Denial, denial_of

TransactionOutcome = Literal["open", "committed", "aborted"]


@dataclass(frozen=True, slots=True)
class Record:
    """One stored record; `timestamp_ms` is since the epoch.

    `transaction` is the state of the transaction it was written in, None if it was in none.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    transaction: TransactionOutcome | None = None


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition; `leader` is None while it has none.

    Consumers read the records before `high_watermark`. It is `log_end_offset`, except while fewer
    replicas are in sync than min.insync.replicas asks for. `replica_ends` has the log end offset of
    each replica that is behind; all others have the whole log. Those in `paused_followers` do not
    fetch.
    """

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    replica_ends: Mapping[int, int] = field(default_factory=dict)
    paused_followers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CompactedPartition:
    """What a compaction removed from a partition.

    `removed_records` counts neither markers of transactions nor batches that stay without records.
    It looked at the offsets before `cleaned_until`; None if it looked at none.
    """

    topic: str
    partition: int
    removed_records: int
    freed_bytes: int
    cleaned_until: int | None


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic; `config` has the keys that were set for this topic.

    `is_internal`: coordinators keep their state in it, as in `__consumer_offsets`.
    """

    name: str
    topic_id: str
    config: Mapping[str, str]
    partitions: tuple[Partition, ...]
    is_internal: bool = False


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transactional id and its latest transaction.

    `state` is Kafka's name: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit or
    CompleteAbort. `start_ms` and `age_ms` are None without a transaction. `partitions` are topics
    with partition numbers that have no commit or abort marker yet; those of `__consumer_offsets`
    stand for the offsets of groups. `coordinator` is None while no broker is up.
    """

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    coordinator: int | None
    timeout_ms: int
    start_ms: int | None
    age_ms: int | None
    partitions: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """One request that the cluster received, and its outcome.

    `outcome` is `waiting`, `held` (by a rule, until it is released), `responded`, `no_response`
    (acks=0) or `closed`, with the reason in `close_reason`. `errors` are the names of all error
    codes in the response. `request` and `response` are the decoded messages: dictionaries with the
    names of Kafka's schemas, with summaries of record batches, or None. `fault` describes what a
    rule did to the request, and `denials` what it was not allowed to do. `shadow_throttle_times_ms`
    has, by quota key, the throttle times of quotas in shadow mode. Times are in milliseconds of the
    cluster's clock, `duration_us` in microseconds of real time.

    The kind `connection` is a new connection that a rule refused or delayed: `outcome` is
    `refused` or `delayed`, and `peer` is the client's `HOST:PORT`. The kind `disconnect` is the end
    of a connection: `outcome` is `closed`, and `close_reason` has the reason. Both lack the
    attributes of a request.

    `request_hex` and `response_hex` are the frames with their sizes, of the method `request` only.
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
    denials: tuple[Denial, ...] = ()
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
    request_hex: str | None = None
    response_hex: str | None = None

    def __str__(self) -> str:
        """Return one readable line."""
        client = f"{self.client_id or '(no client id)'} as {self.user}"
        action = f"{self.api} v{self.version}"
        if self.kind == "connection":
            client, action = str(self.peer), "new connection"
        elif self.kind == "disconnect":
            client, action = f"{self.client_host} as {self.user}", "disconnect"
        targets = " ".join((*self.topics, *self.groups, *self.transactional_ids))
        parts = [f"#{self.number}", f"broker {self.broker}", client, action]
        parts += [targets] if targets else []
        parts.append(f"-> {self.close_reason or self.outcome} {' '.join(self.errors)}".rstrip())
        parts += [f"throttled {self.throttle_time_ms} ms"] if self.throttle_time_ms else []
        parts += [
            f"would be throttled {ms} ms by {quota}"
            for quota, ms in self.shadow_throttle_times_ms.items()
        ]
        parts += [f"denied {denial}" for denial in self.denials]
        parts += [f"[{self.fault}]"] if self.fault else []
        return "  ".join(parts)


class SelectedRequest(Request):
    """A request with the attributes that `requests(fields=...)` asked for, and no other."""

    __slots__ = ()

    def __init__(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)  # it is frozen

    def __getattr__(self, name: str) -> Any:
        if name in _REQUEST_FIELDS:
            raise AttributeError(f"requests() was not asked for {name!r}; add it to fields=")
        return super().__getattribute__(name)

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _REQUEST_FIELDS if hasattr(self, name)}

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self._values().items())
        return f"Request({values})"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SelectedRequest) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(tuple(self._values()))

    def __reduce__(self) -> tuple[type["SelectedRequest"], tuple[dict[str, Any]]]:
        return SelectedRequest, (self._values(),)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric under Kafka's names; the value is None if there was no recent measurement."""

    group: str
    name: str
    tags: Mapping[str, str]
    value: float | None


@dataclass(frozen=True, slots=True)
class ShadowEvent:
    """A request that would have been throttled; times are those of the cluster's clock."""

    time_ms: int
    throttle_time_ms: int
    user: str
    client_id: str | None


@dataclass(frozen=True, slots=True)
class ShadowCount:
    """What a quota in shadow mode would have done to the clients that share it.

    `broker` is None for a quota of the whole cluster. `user` or `client_id` is None if the quota
    does not depend on it. `throttled` counts requests whose response would have had a
    `throttle_time_ms`, including refused ones; `held` counts those that arrived while their
    connection would have been muted. `over_quota` is the amount that would have been refused or
    delayed on arrival: bytes, ms of handlers' time, partitions, or distinct producer ids. `events`
    are the newest throttled requests, oldest first.
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


def record_of(topic: str, data: Mapping[str, Any]) -> Record:
    """Return a record from the admin port's JSON, in which bytes are base64."""
    return Record(
        topic,
        data["partition"],
        data["offset"],
        data["timestamp"],
        _bytes_of(data["key"]),
        _bytes_of(data["value"]),
        tuple((header["key"], _bytes_of(header["value"])) for header in data["headers"]),
        data["transaction"],
    )


def partition_of(data: Mapping[str, Any]) -> Partition:
    """Return a partition from the admin port's JSON."""
    values = {name: _frozen(data[name]) for name in _PARTITION_FIELDS}
    ends = {int(node_id): end for node_id, end in data["replica_ends"].items()}
    return Partition(**{**values, "replica_ends": ends})


def topic_of(data: Mapping[str, Any]) -> Topic:
    """Return a topic from the admin port's JSON."""
    partitions = tuple(map(partition_of, data["partitions"]))
    return Topic(data["name"], data["topic_id"], data["config"], partitions, data["is_internal"])


def transaction_of(data: Mapping[str, Any]) -> Transaction:
    """Return a transaction from the admin port's JSON."""
    partitions = tuple(
        (partition["topic"], partition["partition"]) for partition in data["partitions"]
    )
    return Transaction(**{**data, "partitions": partitions})


def request_of(data: Mapping[str, Any]) -> Request:
    """Return an entry of the journal from the admin port's JSON; ignore unknown fields."""
    if data.get("kind") == "disconnect":
        data = {**data, "outcome": "closed", "close_reason": data["reason"]}
    return Request(**{name: _value(name, data[name]) for name in _REQUEST_FIELDS if name in data})


def selected_request_of(data: Mapping[str, Any]) -> Request:
    """Return an entry of the journal that has some fields of a request, from JSON.

    The ends of connections and refused connections have all of theirs.
    """
    if data.get("kind", "request") != "request":
        return request_of(data)
    return SelectedRequest({name: _value(name, value) for name, value in data.items()})


def metric_of(data: Mapping[str, Any]) -> Metric:
    """Return a metric from the admin port's JSON."""
    return Metric(data["group"], data["name"], data["tags"], data["value"])


def shadow_count_of(data: Mapping[str, Any]) -> ShadowCount:
    """Return an entry of the shadow report from the admin port's JSON."""
    events = tuple(ShadowEvent(**event) for event in data["events"])
    return ShadowCount(**{**data, "events": events})


_REQUEST_FIELDS = tuple(attribute.name for attribute in fields(Request))
_PARTITION_FIELDS = tuple(attribute.name for attribute in fields(Partition))


def _value(name: str, value: Any) -> Any:
    """Return the attribute of a request from JSON."""
    return tuple(map(denial_of, value)) if name == "denials" else _frozen(value)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _bytes_of(data: Mapping[str, str] | None) -> bytes | None:
    return None if data is None else b64decode(data["base64"])
