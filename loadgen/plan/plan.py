"""A load plan as frozen values; `plan_file` reads them from YAML.

`docs/load.md` describes every field. Times are seconds from the beginning of the measured part; the
warm-up before it has negative times. The types declare each field's default and its valid range.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr, replace

from client.sasl import MECHANISMS
from loadgen.plan.faults import Fault, FaultEntry, faults_until
from loadgen.plan.pauses import Pause
from loadgen.plan.rates import Rate, RatePiece, pieces_of, scaled_rate
from loadgen.plan.yaml_reader import PlanError
from protocol.client_quotas import quota_levels
from protocol.records import COMPRESSION_NAMES

SHADOW_KEY = "client.quota.shadow"
"""The broker key that puts all quotas of mock-kafka into shadow mode."""
_PRODUCER = {"topic", "records", "record_bytes", "acks", "request_timeout_ms"}
_TRANSACTIONS = {
    *(_PRODUCER - {"acks"}),
    "transactions",
    "transaction_timeout_ms",
    "abort_every",
    "crash_every",
}
_GROUP = {"topic", "group", "request_timeout_ms"}
_TOPICS = {"topics_per_request", "partitions", "retries", "request_timeout_ms"}
BEHAVIOURS: Mapping[str, set[str]] = {
    "steady": {*_PRODUCER, "window", "idempotent", "retries"},
    "keyed": {*_PRODUCER, "idempotent", "retries", "keys", "key_skew", "headers", "compression"},
    "restart-loop": {*_PRODUCER, "batches"},
    "new-producer-per-error": {*_PRODUCER, "error_every", "retries"},
    "new-producer-per-batch": _PRODUCER,
    "retries-lost-responses": {*_PRODUCER, "batches", "kinds", "retries"},
    "delivery-timeout": {*_PRODUCER, "delivery_timeout_ms"},
    "transactional": {*_TRANSACTIONS, "batches"},
    "consume-transform-produce": {*_TRANSACTIONS, "source", "group"},
    "replay": {"topic", "request_timeout_ms", "idempotent", "retries"},
    "topic-creator": _TOPICS,
    "topic-expander": _TOPICS,
    "topic-deleter": _TOPICS,
    "consumer-group": {
        *_GROUP,
        "group_protocol",
        "fetch_bytes",
        "lag_s",
        "lag_every_s",
        "pauses",
    },
    "share-group": _GROUP,
    "admin": {"topic", "requests", "request_timeout_ms"},
    "connection-storm": {"request_timeout_ms"},
}
"""The fields that each behaviour uses, besides those of every tenant."""
REPLAYED = "replay"
"""The behaviour, and `trace` the arrival, that only `load replay` gives to tenants."""
OPTIONS = sorted(set().union(*BEHAVIOURS.values()))

if TYPE_CHECKING:
    Behaviour = str
    Mechanism = str
    Compression = str
else:  # literals made of the words that are declared elsewhere
    Behaviour = Literal[tuple(BEHAVIOURS)]
    Mechanism = Literal[tuple(MECHANISMS)]
    Compression = Literal[COMPRESSION_NAMES]
Arrival = Literal["poisson", "constant", "burst", "closed", "trace"]
DuplicateKind = Literal["latest", "old", "wraparound"]
AdminRequest = Literal[
    "describe-cluster", "describe-topics", "describe-configs", "alter-configs", "list-groups"
]
ADMIN_REQUESTS: tuple[AdminRequest, ...] = get_args(AdminRequest)
Record = Literal["schedule", "results", "receipts", "read-back"]
RECORDS: tuple[Record, ...] = get_args(Record)

_INT_MAX = 2**31 - 1
Count = Annotated[int, Meta(ge=1, le=_INT_MAX)]
Every = Annotated[int, Meta(ge=0, le=_INT_MAX)]
Thousands = Annotated[int, Meta(ge=1, le=10_000)]
HundredThousands = Annotated[int, Meta(ge=1, le=100_000)]
Replicas = Annotated[int, Meta(ge=1, le=100)]
Seconds = Annotated[float, Meta(gt=0, le=1e9)]
StartSeconds = Annotated[float, Meta(ge=0, le=86_400)]
RecordBytes = Annotated[int, Meta(ge=8, le=1_000_000)]
LagSeconds = Annotated[float, Meta(ge=0, le=86_400)]
QuotaValue = Annotated[float, Meta(gt=0, le=1e15)]


class Tenant(Struct, frozen=True, forbid_unknown_fields=True):
    """Some clients of one user with the same behaviour."""

    name: str
    behaviour: Behaviour
    client_id: str = ""
    """By default the name."""
    user: str | None = None
    password: str | None = None
    mechanism: Mechanism = "SCRAM-SHA-256"
    clients: HundredThousands = 1
    arrival: Arrival = "poisson"
    rate: Rate = 1.0
    """Events per second of all its clients together; unused in a closed loop."""
    burst_every_s: Seconds = 1.0
    start_s: StartSeconds | None = None
    """None: the beginning of the warm-up."""
    stop_s: StartSeconds | None = None
    """None: the end of the run."""
    obeys_throttle: bool = True
    topic: str = "load"
    records: Thousands = 1
    record_bytes: RecordBytes | Annotated[tuple[RecordBytes, ...], Meta(min_length=1)] = 100
    """Of several sizes each batch has one at random."""
    acks: Literal["all", "1", 1] = "all"
    keys: HundredThousands = 1000
    key_skew: Annotated[float, Meta(ge=0, le=10)] = 0.0
    """The exponent of Zipf's law; 0: all keys are as frequent."""
    headers: Annotated[int, Meta(ge=0, le=1000)] = 0
    """Headers of each record."""
    compression: Compression = "none"
    window: Annotated[int, Meta(ge=1, le=1000)] = 5
    idempotent: bool = True
    retries: Annotated[int, Meta(ge=0, le=_INT_MAX)] = 5
    request_timeout_ms: Count = 10_000
    delivery_timeout_ms: Count = 30_000
    transactions: bool = True
    """False: without transactions, as a comparison; then aborts and crashes leave duplicates."""
    transaction_timeout_ms: Count = 10_000
    abort_every: Every = 10
    """How many events there are for each one whose first transaction is aborted; 0: none."""
    crash_every: Every = 50
    """How many events there are for each one in which the producer crashes; 0: none."""
    source: str = ""
    """The topic that is consumed."""
    batches: Annotated[int, Meta(ge=1, le=1000)] = 3
    error_every: Count = 100
    kinds: Annotated[tuple[DuplicateKind, ...], Meta(min_length=1)] = (
        "latest",
        "old",
        "wraparound",
    )
    requests: Annotated[tuple[AdminRequest, ...], Meta(min_length=1)] = ADMIN_REQUESTS
    topics_per_request: Thousands = 50
    partitions: Thousands = 4
    group: str = ""
    """By default the name."""
    group_protocol: Literal["classic", "consumer"] = "classic"
    fetch_bytes: Count = 1_048_576
    """The maximum that a Fetch asks for of a partition."""
    lag_s: LagSeconds = 0.0
    """How long a member does not read at the end of each `lag_every_s`."""
    lag_every_s: Seconds = 10.0
    pauses: tuple[Pause, ...] = ()
    """When all members stop to read, in the order of time."""

    def __post_init__(self) -> None:
        """Fill in the defaults that depend on the name."""
        force_setattr(self, "client_id", self.client_id or self.name)
        force_setattr(self, "group", self.group or self.name)

    @property
    def required_acks(self) -> int:
        """`acks` as in a Produce request: -1 for all replicas."""
        return -1 if self.acks == "all" else 1

    @property
    def record_sizes(self) -> tuple[int, ...]:
        """The sizes in `record_bytes`; only `steady` may have several."""
        return (self.record_bytes,) if isinstance(self.record_bytes, int) else self.record_bytes

    @property
    def is_idempotent(self) -> bool:
        """Whether the broker must store each batch at most once."""
        return self.idempotent and (self.acks == "all" or self.behaviour != "delivery-timeout")

    @property
    def is_judged_by_record(self) -> bool:
        """Whether each record has to be stored exactly once, end to end."""
        return "transactions" in BEHAVIOURS[self.behaviour]

    @property
    def is_received(self) -> bool:
        """Whether the receipts of its members are recorded, and make end-to-end latencies."""
        return self.behaviour == "consumer-group"

    @property
    def cuts_events(self) -> bool:
        """Whether `client.Producer` makes its batches, so that an event may lie in several."""
        return self.behaviour == "delivery-timeout"

    @property
    def principal(self) -> str:
        """The user that quotas apply to."""
        return self.user or "ANONYMOUS"


class Topic(Struct, frozen=True, forbid_unknown_fields=True):
    """A topic that exists before the load starts."""

    name: str
    partitions: HundredThousands = 1
    replication_factor: Replicas = 1


class Quota(Struct, frozen=True):
    """One client quota, as AlterClientQuotas sets it; the name "" stands for the default."""

    entity: Mapping[str, str]
    key: str
    value: float
    shadow: bool = False
    """Whether the broker evaluates it without enforcing it."""


class QuotaEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """The quotas of one entity, as a plan file lists them."""

    user: str | None = None
    client_id: str | None = None
    shadow: bool = False
    producer_byte_rate: QuotaValue | None = None
    consumer_byte_rate: QuotaValue | None = None
    request_percentage: QuotaValue | None = None
    controller_mutation_rate: QuotaValue | None = None
    producer_ids_rate: QuotaValue | None = None

    @property
    def quotas(self) -> list[Quota]:
        """One quota per key that has a value."""
        names = {"user": self.user, "client-id": self.client_id}
        entity = {kind: name for kind, name in names.items() if name is not None}
        values = {key: getattr(self, key) for key in QUOTA_KEYS}
        return [
            Quota(entity, key, value, self.shadow)
            for key, value in values.items()
            if value is not None
        ]


QUOTA_KEYS = tuple(
    key for key in QuotaEntry.__struct_fields__ if key not in {"user", "client_id", "shadow"}
)


class Target(Struct, frozen=True, forbid_unknown_fields=True):
    """The cluster: the addresses of a running one, or the configuration of one to start."""

    bootstrap_servers: str | None = None
    security: dict[str, str] = field(default_factory=dict)
    brokers: Annotated[int, Meta(ge=1, le=100)] = 1
    config: dict[str, str] = field(default_factory=dict)


class PlanFields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields that a plan and its file have in common."""

    name: str = ""
    duration_s: Annotated[float, Meta(gt=0, le=86_400)]
    tenants: Annotated[tuple[Tenant, ...], Meta(min_length=1)]
    topics: tuple[Topic, ...] = ()
    target: Target = field(default_factory=Target)
    warm_up_s: Annotated[float, Meta(ge=0, le=3600)] = 0.0
    drain_s: Annotated[float, Meta(gt=0, le=600)] = 5.0
    seed: Annotated[int, Meta(ge=0, le=_INT_MAX)] = 1
    read_back: bool = True
    record: Annotated[tuple[Record, ...], Meta(min_length=1)] = RECORDS
    """The Parquet folders to keep after the summary."""
    lateness_p99_ms: Seconds = 5.0
    abort_behind_s: Seconds = 5.0
    abort_unreachable_s: Seconds = 30.0


class PlanFile(PlanFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a plan file."""

    quotas: tuple[QuotaEntry, ...] = ()
    faults: tuple[FaultEntry, ...] = ()


class Plan(PlanFields, frozen=True, kw_only=True):
    """Everything that a run depends on, except the machines."""

    quotas: tuple[Quota, ...] = ()
    faults: tuple[Fault, ...] = ()
    """In the order of time."""
    text: str = ""
    """The content of the plan file."""
    events_file: str | None = None
    """The Parquet file with the schedule of a replay, on the driver; None: it is computed."""

    def scaled(self, rate_scale: float = 1.0, duration_s: float | None = None) -> "Plan":
        """Return the plan with other rates and another duration.

        Raises:
            PlanError: a tenant starts after the new end, or sends nothing before it.
        """
        duration_s = self.duration_s if duration_s is None else duration_s
        for tenant in self.tenants:
            if tenant.start_s is not None and tenant.start_s >= duration_s:
                raise PlanError(
                    f"tenant {tenant.name} starts at {tenant.start_s:g} s,"
                    f" after the end at {duration_s:g} s"
                )
        plan = replace(
            self,
            duration_s=duration_s,
            faults=faults_until(self.faults, duration_s),
            tenants=tuple(
                replace(
                    tenant,
                    rate=scaled_rate(tenant.rate, rate_scale),
                    stop_s=None if tenant.stop_s is None else min(tenant.stop_s, duration_s),
                )
                for tenant in self.tenants
            ),
        )
        for tenant in plan.tenants:
            if not plan.events_of(tenant):
                raise PlanError(
                    f"the rate of tenant {tenant.name} is 0 until the end at {duration_s:g} s"
                )
        return plan

    def rate_pieces(self, tenant: Tenant) -> list[RatePiece]:
        """Return a tenant's rate over its time; ramps and steps begin after the warm-up."""
        begin_s, stop_s = self.span_s(tenant)
        return pieces_of(tenant.rate, begin_s, max(0.0, begin_s), stop_s)

    def events_of(self, tenant: Tenant) -> float:
        """Return the integral of a tenant's rate, or one event per client of a closed loop."""
        if tenant.arrival == "closed":
            return tenant.clients
        return sum(piece.events for piece in self.rate_pieces(tenant))

    def span_s(self, tenant: Tenant) -> tuple[float, float]:
        """Return the first and the last time of a tenant's events."""
        start_s = -self.warm_up_s if tenant.start_s is None else tenant.start_s
        return start_s, self.duration_s if tenant.stop_s is None else tenant.stop_s

    @property
    def transaction_timeout_ms(self) -> int:
        """The longest timeout of a transaction; 0 if there are none."""
        return max(
            (
                tenant.transaction_timeout_ms
                for tenant in self.tenants
                if tenant.is_judged_by_record
            ),
            default=0,
        )

    def quota_of(self, tenant: Tenant, key: str) -> Quota | None:
        """Return the quota with this key that applies to a tenant, by Kafka's precedence."""
        for level in quota_levels(tenant.principal, tenant.client_id):
            entity = {kind: name or "" for kind, name in level.items()}
            for quota in self.quotas:
                if quota.key == key and dict(quota.entity) == entity:
                    return quota
        return None

    def buckets(self, key: str) -> dict[str, tuple[Quota, list[Tenant]]]:
        """Return the quota and the tenants of each token bucket of a key, by the bucket's name.

        A default quota is one value, not one bucket: each user or client id has its own bucket.
        """
        found: dict[str, tuple[Quota, list[Tenant]]] = {}
        for tenant in self.tenants:
            quota = self.quota_of(tenant, key)
            if quota is not None:
                names = {"user": tenant.principal, "client-id": tenant.client_id}
                name = ", ".join(f"{kind} {names[kind]}" for kind in names if kind in quota.entity)
                found.setdefault(name, (quota, []))[1].append(tenant)
        return found

    @property
    def has_shadow_quotas(self) -> bool:
        """Whether any quota is in shadow mode."""
        is_cluster_wide = self.target.config.get(SHADOW_KEY, "false").lower() == "true"
        return is_cluster_wide or any(quota.shadow for quota in self.quotas)

    @property
    def needs_admin_port(self) -> bool:
        """Whether a cluster that is started for the plan needs an admin port."""
        return self.has_shadow_quotas or bool(self.faults)

    @property
    def needs_only_faults(self) -> bool:
        """Whether the admin port may be that of a proxy, which has no quotas."""
        return bool(self.faults) and not self.has_shadow_quotas

    def all_in_shadow(self) -> "Plan":
        """Return the plan with all quotas in shadow mode."""
        return replace(self, quotas=tuple(replace(quota, shadow=True) for quota in self.quotas))

    def own_broker_config(self) -> dict[str, str]:
        """Return the broker configuration of a cluster that is started for this plan."""
        users = {
            tenant.user: tenant.password for tenant in self.tenants if tenant.password is not None
        }
        if not users:
            return dict(self.target.config)
        entries = [
            f"{_escaped(name or '')}:{_escaped(password)}" for name, password in users.items()
        ]
        return {
            "listeners": "SASL_PLAINTEXT://:0",
            "sasl.users": ",".join(entries),
            **self.target.config,
        }


def _escaped(text: str) -> str:
    """Escape a name or passtext for `sasl.users`."""
    return text.replace("%", "%25").replace(",", "%2C").replace(":", "%3A")
