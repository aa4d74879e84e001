"""A load plan: a small YAML file, read into frozen values; a mistake names its line and field.

`docs/load.md` tells every field. Times are seconds from the beginning of the measured part; what
happens before it, the warm-up, has negative times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path

from client.sasl import MECHANISMS
from loadgen import plans
from loadgen.plan.yaml_reader import PlanError, Section, read_mapping

ARRIVALS = ("poisson", "constant", "burst", "closed")
DUPLICATE_KINDS = ("latest", "old", "wraparound")
QUOTA_KEYS = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "producer_ids_rate",
)
SHADOW_KEY = "client.quota.shadow"
"""The broker key by which mock-kafka enforces no quota."""
RECORDS = ("schedule", "results", "read-back")
_PRODUCER = {"topic", "records", "record_bytes", "acks", "request_timeout_ms"}
_TOPICS = {"topics_per_request", "partitions", "retries", "request_timeout_ms"}
BEHAVIOURS: Mapping[str, set[str]] = {
    "steady": {*_PRODUCER, "window", "idempotent", "retries"},
    "restart-loop": {*_PRODUCER, "batches"},
    "new-producer-per-error": {*_PRODUCER, "error_every", "retries"},
    "new-producer-per-batch": _PRODUCER,
    "retries-lost-responses": {*_PRODUCER, "batches", "kinds", "retries"},
    "delivery-timeout": {*_PRODUCER, "delivery_timeout_ms"},
    "topic-creator": _TOPICS,
    "topic-expander": _TOPICS,
    "topic-deleter": _TOPICS,
    "consumer-group": {"topic", "group", "request_timeout_ms"},
}
"""Each behaviour with the fields that mean something to it, besides those of every tenant."""

OPTIONS = sorted(set().union(*BEHAVIOURS.values()))


@dataclass(frozen=True, slots=True)
class Tenant:
    """Some clients of one user that behave alike."""

    name: str
    behaviour: str
    client_id: str
    user: str | None = None
    password: str | None = None
    mechanism: str = "SCRAM-SHA-256"
    clients: int = 1
    arrival: str = "poisson"
    rate: float = 1.0
    """Events per second of all its clients together; nothing to a closed loop."""
    burst_every_s: float = 1.0
    start_s: float | None = None
    """None: from the beginning of the warm-up."""
    stop_s: float | None = None
    """None: to the end."""
    obeys_throttle: bool = True
    topic: str = "load"
    records: int = 1
    record_bytes: int = 100
    acks: int = -1
    window: int = 5
    idempotent: bool = True
    retries: int = 5
    request_timeout_ms: int = 10_000
    delivery_timeout_ms: int = 30_000
    batches: int = 3
    error_every: int = 100
    kinds: tuple[str, ...] = DUPLICATE_KINDS
    topics_per_request: int = 50
    partitions: int = 4
    group: str = "load"

    @property
    def is_idempotent(self) -> bool:
        """Whether no broker may store a batch of its twice."""
        return self.idempotent and (self.acks == -1 or self.behaviour != "delivery-timeout")

    @property
    def principal(self) -> str:
        """The user that quotas go by."""
        return self.user or "ANONYMOUS"


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that is there before the load begins."""

    name: str
    partitions: int


@dataclass(frozen=True, slots=True)
class Quota:
    """One client quota, as AlterClientQuotas sets it; the name "" stands for the default."""

    entity: Mapping[str, str]
    key: str
    value: float
    shadow: bool = False
    """Whether the broker evaluates it and enforces nothing."""


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster: where it is, or what a cluster of our own shall be."""

    bootstrap_servers: str | None = None
    security: Mapping[str, str] = field(default_factory=dict)
    brokers: int = 1
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run depends on besides the machines."""

    name: str
    duration_s: float
    tenants: tuple[Tenant, ...]
    topics: tuple[Topic, ...] = ()
    quotas: tuple[Quota, ...] = ()
    target: Target = field(default_factory=Target)
    warm_up_s: float = 0.0
    drain_s: float = 5.0
    seed: int = 1
    read_back: bool = True
    record: tuple[str, ...] = RECORDS
    """Which Parquet folders stay once the summary is made."""
    lateness_p99_ms: float = 5.0
    give_up_behind_s: float = 5.0
    text: str = ""
    """The file as it was."""

    def scaled(self, rate_scale: float = 1.0, duration_s: float | None = None) -> "Plan":
        """The same plan with other rates and another duration.

        Raises:
            PlanError: a tenant's own time lies behind the new end.
        """
        duration_s = self.duration_s if duration_s is None else duration_s
        for tenant in self.tenants:
            if tenant.start_s is not None and tenant.start_s >= duration_s:
                raise PlanError(
                    f"tenant {tenant.name} starts at {tenant.start_s:g} s,"
                    f" behind the end at {duration_s:g} s"
                )
        return replace(
            self,
            duration_s=duration_s,
            tenants=tuple(
                replace(
                    tenant,
                    rate=tenant.rate * rate_scale,
                    stop_s=None if tenant.stop_s is None else min(tenant.stop_s, duration_s),
                )
                for tenant in self.tenants
            ),
        )

    def span_s(self, tenant: Tenant) -> tuple[float, float]:
        """When a tenant's events begin and end."""
        start_s = -self.warm_up_s if tenant.start_s is None else tenant.start_s
        return start_s, self.duration_s if tenant.stop_s is None else tenant.stop_s

    def quota_of(self, tenant: Tenant, key: str) -> Quota | None:
        """The most specific quota with this key that holds for a tenant, as Kafka looks it up."""
        user, client = tenant.principal, tenant.client_id
        for entity in (
            {"user": user, "client-id": client},
            {"user": user, "client-id": ""},
            {"user": user},
            {"user": "", "client-id": client},
            {"user": "", "client-id": ""},
            {"user": ""},
            {"client-id": client},
            {"client-id": ""},
        ):
            for quota in self.quotas:
                if quota.key == key and dict(quota.entity) == entity:
                    return quota
        return None

    def buckets(self, key: str) -> dict[str, tuple[Quota, list[Tenant]]]:
        """Who is counted together by a quota with this key: by name, its quota and tenants.

        A default is a value for all, and no bucket for all: each user or client id has its own.
        """
        found: dict[str, tuple[Quota, list[Tenant]]] = {}
        for tenant in self.tenants:
            quota = self.quota_of(tenant, key)
            if quota is not None:
                its = {"user": tenant.principal, "client-id": tenant.client_id}
                name = ", ".join(f"{kind} {its[kind]}" for kind in its if kind in quota.entity)
                found.setdefault(name, (quota, []))[1].append(tenant)
        return found

    @property
    def has_shadow_quotas(self) -> bool:
        """Whether a cluster of our own shall have quotas in shadow mode."""
        is_wide = self.target.config.get(SHADOW_KEY, "false").lower() == "true"
        return is_wide or any(quota.shadow for quota in self.quotas)

    def all_in_shadow(self) -> "Plan":
        """The same plan on a broker that enforces no quota."""
        return replace(self, quotas=tuple(replace(each, shadow=True) for each in self.quotas))

    def own_broker_config(self) -> dict[str, str]:
        """The broker configuration that a cluster of our own needs for this plan."""
        users = {each.user: each.password for each in self.tenants if each.password is not None}
        if not users:
            return dict(self.target.config)
        words = [f"{_escaped(name or '')}:{_escaped(word)}" for name, word in users.items()]
        return {
            "listeners": "SASL_PLAINTEXT://:0",
            "sasl.users": ",".join(words),
            **self.target.config,
        }


def built_in_plans() -> dict[str, str]:
    """The first comment line of each built-in plan, by its name."""
    found = {}
    paths = [each for each in files(plans).iterdir() if each.name.endswith(".yaml")]
    for path in sorted(paths, key=lambda each: each.name):
        first_line = path.read_text(encoding="utf-8").partition("\n")[0]
        found[path.name.removesuffix(".yaml")] = first_line.removeprefix("# ")
    return found


def load_plan(name_or_path: str) -> Plan:
    """A built-in plan by name, or the plan in a file.

    Raises:
        PlanError: there is neither, or the file makes no sense.
    """
    path = Path(name_or_path)
    if path.suffix in {".yaml", ".yml"} or path.exists():
        try:
            return parse_plan(path.read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise PlanError(f"cannot read {path}: {error}") from error
    names = built_in_plans()
    if name_or_path not in names:
        raise PlanError(
            f"{name_or_path!r} is no file and no built-in plan; built in: {', '.join(names)}"
        )
    resource = files(plans) / f"{name_or_path}.yaml"
    return parse_plan(resource.read_text(encoding="utf-8"), f"{name_or_path}.yaml")


def parse_plan(text: str, source: str) -> Plan:
    """The plan in a YAML document; `source` names it in errors.

    Raises:
        PlanError: it makes no sense.
    """
    document = read_mapping(text, source)
    duration_s = document.number("duration_s", most=86_400)
    plan = Plan(
        name=document.text("name", Path(source).stem),
        duration_s=duration_s,
        warm_up_s=document.number("warm_up_s", 0.0, above=-1e-9, most=3600),
        drain_s=document.number("drain_s", 5.0, most=600),
        seed=document.integer("seed", 1, least=0),
        read_back=document.flag("read_back", default=True),
        record=document.words("record", RECORDS, RECORDS),
        lateness_p99_ms=document.number("lateness_p99_ms", 5.0),
        give_up_behind_s=document.number("give_up_behind_s", 5.0),
        target=_target(document.section("target")),
        topics=tuple(_topic(each) for each in document.sections("topics")),
        quotas=tuple(each for section in document.sections("quotas") for each in _quotas(section)),
        tenants=tuple(_tenant(each, duration_s) for each in document.sections("tenants")),
        text=text,
    )
    document.end()
    if not plan.tenants:
        document.refuse("tenants" if document.has("tenants") else None, "no tenants")
    _check_together(plan, document)
    return plan


def _check_together(plan: Plan, document: Section) -> None:
    names = [tenant.name for tenant in plan.tenants]
    topics = {topic.name for topic in plan.topics}
    for tenant, section in zip(plan.tenants, document.sections("tenants"), strict=True):
        if names.count(tenant.name) > 1:
            section.refuse("name", f"{tenant.name!r} is another tenant's as well")
        if "topic" in BEHAVIOURS[tenant.behaviour] and tenant.topic not in topics:
            section.refuse("topic", f"{tenant.topic!r} is not among topics: {sorted(topics)}")


def _target(section: Section) -> Target:
    target = Target(
        bootstrap_servers=section.optional_text("bootstrap_servers"),
        security=section.properties("security"),
        brokers=section.integer("brokers", 1, most=100),
        config=section.properties("config"),
    )
    section.end()
    return target


def _topic(section: Section) -> Topic:
    topic = Topic(section.text("name"), section.integer("partitions", 1, most=100_000))
    section.end()
    return topic


def _quotas(section: Section) -> list[Quota]:
    entity = {
        kind: section.text(word, "")
        for kind, word in (("user", "user"), ("client-id", "client_id"))
        if section.has(word)
    }
    shadow = section.flag("shadow", default=False)
    found = [
        Quota(entity, key, section.number(key, most=1e15), shadow)
        for key in QUOTA_KEYS
        if section.has(key)
    ]
    section.know("user", "client_id", "shadow", *QUOTA_KEYS)
    section.end()
    if not entity:
        section.refuse(None, "a quota needs user, client_id or both")
    if not found:
        section.refuse(None, f"a quota needs one of {', '.join(QUOTA_KEYS)}")
    return found


def _tenant(section: Section, duration_s: float) -> Tenant:
    name = section.text("name")
    behaviour = section.word("behaviour", BEHAVIOURS)
    for key in OPTIONS:
        if section.has(key) and key not in BEHAVIOURS[behaviour]:
            section.refuse(key, f"means nothing to the behaviour {behaviour}")
    arrival = section.word("arrival", ARRIVALS, "poisson")
    if arrival == "closed" and section.has("rate"):
        section.refuse("rate", "a closed loop has no rate: it sends when it was answered")
    tenant = Tenant(
        name=name,
        behaviour=behaviour,
        client_id=section.text("client_id", name),
        user=section.optional_text("user"),
        password=section.optional_text("password"),
        mechanism=section.word("mechanism", MECHANISMS, "SCRAM-SHA-256"),
        clients=section.integer("clients", 1, most=100_000),
        arrival=arrival,
        rate=section.number("rate", 1.0 if arrival == "closed" else None, most=10_000_000),
        burst_every_s=section.number("burst_every_s", 1.0),
        start_s=_optional_time(section, "start_s", duration_s),
        stop_s=_optional_time(section, "stop_s", duration_s),
        obeys_throttle=section.flag("obeys_throttle", default=True),
        topic=section.text("topic", "load"),
        records=section.integer("records", 1, most=10_000),
        record_bytes=section.integer("record_bytes", 100, least=8, most=1_000_000),
        acks={"all": -1, "1": 1}[section.word("acks", ("all", "1"), "all")],
        window=section.integer("window", 5, most=1000),
        idempotent=section.flag("idempotent", default=True),
        retries=section.integer("retries", 5, least=0),
        request_timeout_ms=section.integer("request_timeout_ms", 10_000),
        delivery_timeout_ms=section.integer("delivery_timeout_ms", 30_000),
        batches=section.integer("batches", 3, most=1000),
        error_every=section.integer("error_every", 100),
        kinds=section.words("kinds", DUPLICATE_KINDS, DUPLICATE_KINDS),
        topics_per_request=section.integer("topics_per_request", 50, most=10_000),
        partitions=section.integer("partitions", 4, most=10_000),
        group=section.text("group", name),
    )
    section.end()
    if (tenant.user is None) != (tenant.password is None):
        section.refuse(
            "user" if tenant.user else "password", "a tenant has user and password, or neither"
        )
    if behaviour == "delivery-timeout":
        _check_producer(tenant, section)
    if (tenant.stop_s or duration_s) <= (tenant.start_s or 0.0):
        section.refuse("stop_s", "not behind start_s")
    return tenant


def _check_producer(tenant: Tenant, section: Section) -> None:
    """What Kafka's own producer would not do."""
    if tenant.delivery_timeout_ms < tenant.request_timeout_ms:
        section.refuse(
            "delivery_timeout_ms" if section.has("delivery_timeout_ms") else "request_timeout_ms",
            f"delivery_timeout_ms={tenant.delivery_timeout_ms} has no room for one request of"
            f" request_timeout_ms={tenant.request_timeout_ms}",
        )
    if not tenant.obeys_throttle:
        section.refuse("obeys_throttle", "a whole producer that obeys: another behaviour may not")


def _optional_time(section: Section, key: str, duration_s: float) -> float | None:
    if not section.has(key):
        section.know(key)
        return None
    return section.number(key, above=-1e-9, most=duration_s)


def _escaped(word: str) -> str:
    """As `sasl.users` wants it."""
    return word.replace("%", "%25").replace(",", "%2C").replace(":", "%3A")
