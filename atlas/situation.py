"""Read the situations of `atlas/situations/`: what a broker does, and what a client must do then.

A situation is one YAML file. Its name is its id, which never changes. An expectation is judged only
if the file has it.
"""

from collections.abc import Collection
from fnmatch import fnmatchcase
from hashlib import sha256
from importlib.resources import files
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from loadgen.plan.yaml_reader import PlanError, YamlDocument, suggestion
from protocol.api_keys import ApiKey
from protocol.messages import API_NAMES
from protocol.suggestions import did_you_mean

Area = Literal["producer", "consumer", "group", "transaction", "admin", "share", "streams"]
Data = Literal[
    "kept",
    "duplicated",
    "lost_and_reported",
    "lost_silently",
    "reordered",
    "unseen",
    "poll_skip",
    "nonmonotonic_poll",
    "aborted_read",
    "corrupted",
    "partly_committed",
    "none",
]
"""What happened to the data; for consumers with the names of Jepsen."""
Reported = Literal["success", "retriable", "abortable", "fatal", "timeout"]
"""What the caller of the client hears."""
AclOperationName = Literal[
    "all",
    "read",
    "write",
    "create",
    "delete",
    "alter",
    "describe",
    "describe_configs",
    "alter_configs",
]
Count = Annotated[int, Meta(ge=0)]
Milliseconds = Annotated[int, Meta(ge=0)]
Id = Annotated[str, Meta(pattern=r"^[A-Z][A-Z_]*(-[A-Za-z0-9_.]+)+$")]

API_FAMILIES = {ApiKey(api_key).name: api_name for api_key, api_name in API_NAMES.items()}
"""The API of a family, by the name in Kafka's `ApiKeys`, with which ids begin."""
_FOLDER = files(__package__) / "situations"
OTHER_FAMILIES = ("KIP", "BROKER", "COORDINATOR", "NETWORK", "AUTH", "LOG", "TXN", "OLD")


class Source(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What demands an expectation: `says` is in our own words."""

    kind: Literal["KIP", "protocol", "class", "issue"]
    name: Annotated[str, Meta(min_length=1)]
    says: Annotated[str, Meta(min_length=1)]
    url: Annotated[str, Meta(pattern=r"^https://[a-z0-9.-]+/\S*$")]


class Topic(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A topic that exists before the client starts."""

    partitions: Annotated[int, Meta(ge=1, le=100)] = 1
    config: dict[str, str | int | bool] = field(default_factory=dict)


class NthRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The moment when the broker has got so many requests of an API."""

    api: str
    count: Annotated[int, Meta(ge=1)]


class Advance(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Move the clock of the broker by `s` seconds."""

    after: NthRequest
    s: Annotated[float, Meta(gt=0)]


class OnKafka(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How Apache Kafka 4.4 is brought into the situation.

    By the configuration of brokers or of a topic, by the end of a broker, or by nothing but the
    workload and what the situation has on both: quotas, access control lists, a delegation token.
    """

    by: Literal["config", "topic", "kill", "nothing"]
    config: dict[str, str | int | bool] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    broker: Annotated[int, Meta(ge=1, le=3)] | None = None


class DelegationToken(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A delegation token (KIP-48) of the user in `arguments.security`; it is not renewed."""

    lifetime_ms: Milliseconds


class AclRule(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a user may do with a resource: one of the three, and `*` for all of that type."""

    principal: Annotated[str, Meta(min_length=1)]
    operations: Annotated[tuple[AclOperationName, ...], Meta(min_length=1)]
    topic: str | None = None
    group: str | None = None
    transactional_id: str | None = None

    @property
    def resource(self) -> dict[str, str]:
        """The resource by its type, as `MockKafka.allow` has it."""
        names = ("topic", "group", "transactional_id")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class Expectation(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the sources demand; what is None or empty is not judged.

    Attributes:
        data: the verdicts about the data that are allowed.
        reported: what the caller may hear; any of these.
        requests: the least and the largest number of requests of an API; no upper bound if None.
        throttle: whether the client must wait for the throttle time.
        backoff_ms_min: the least time between an error that is retriable and the retry.
        usable: whether the same client object must succeed afterwards.
        within_ms: the longest time until the caller heard the outcome.
    """

    data: tuple[Data, ...] = ()
    reported: tuple[Reported, ...] = ()
    requests: dict[str, tuple[Count, Count | None]] = field(default_factory=dict)
    throttle: Literal["honoured"] | None = None
    backoff_ms_min: Milliseconds | None = None
    usable: bool | None = None
    within_ms: Milliseconds | None = None


class Situation(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One situation.

    Attributes:
        id: the name of its file.
        title: one sentence, without a full stop.
        area: which part of a client it tries.
        sources: what the expectation follows from. Without any, no client is wrong here.
        workload: the name of a workload, and `arguments` for it.
        brokers: how many.
        release: the release of Kafka that the brokers serve; the newest if None.
        config: broker configuration, with Kafka's keys.
        quotas: arguments of `MockKafka.quota`, one mapping a call.
        acls: what users may do, if `config` has an authorizer.
        delegation_token: the client authenticates with it; its arguments have `token_auth`.
        topics: the topics that exist before the client starts.
        records: how many records each of these topics has before the client starts.
        faults: fault rules (docs/faults.md) in order.
        advance_s: when the clock of the broker moves, and by how many seconds.
        expect: what a client must do.
        on_kafka: how a real Kafka is brought into the situation, or None.
    """

    id: Id
    title: Annotated[str, Meta(min_length=10, max_length=110)]
    area: Area
    sources: tuple[Source, ...] = ()
    workload: str
    arguments: dict[str, Any] = field(default_factory=dict)
    brokers: Annotated[int, Meta(ge=1, le=3)] = 1
    release: Annotated[str, Meta(pattern=r"^\d+\.\d+$")] | None = None
    config: dict[str, str | int | float | bool] = field(default_factory=dict)
    quotas: tuple[dict[str, Any], ...] = ()
    acls: tuple[AclRule, ...] = ()
    delegation_token: DelegationToken | None = None
    topics: dict[str, Topic] = field(default_factory=dict)
    records: dict[str, Annotated[int, Meta(ge=1)]] = field(default_factory=dict)
    faults: tuple[dict[str, Any], ...] = ()
    advance_s: tuple[Advance, ...] = ()
    expect: Expectation
    on_kafka: OnKafka | None = None

    @property
    def family(self) -> str:
        """The part of the id that it shares with its kin, such as `KIP-091` or `PRODUCE`."""
        parts = self.id.split("-")
        return "-".join(parts[: 2 if parts[0] == "KIP" else 1])


class SituationError(PlanError):
    """A situation is invalid; the message is one line with file, line and field."""


def situation_ids() -> list[str]:
    """Return the ids of all situations, sorted."""
    names = [path.name for path in _FOLDER.iterdir()]
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


def load_situation(situation_id: str) -> Situation:
    """Return the situation with this id.

    Raises:
        SituationError: there is none, or its file is invalid.
    """
    return parse_situation(_text(situation_id), f"{situation_id}.yaml")


def load_situations(patterns: Collection[str] = ("*",)) -> dict[str, Situation]:
    """Return the situations whose ids fit one of these patterns of a shell, by id, sorted.

    Raises:
        SituationError: a pattern fits no situation, or a file is invalid.
    """
    known = situation_ids()
    for pattern in patterns:
        if not any(fnmatchcase(one, pattern) for one in known):
            raise SituationError(
                f"no situation has the id {pattern!r}{did_you_mean(pattern, known)}"
            )
    return {
        one: load_situation(one)
        for one in known
        if any(fnmatchcase(one, pattern) for pattern in patterns)
    }


def situation_digest(situation_id: str) -> str:
    """Return the SHA-256 of the situation's file, in hexadecimal digits.

    Raises:
        SituationError: there is no such situation.
    """
    return sha256(_text(situation_id).encode()).hexdigest()


def parse_situation(text: str, source: str) -> Situation:
    """Return the situation in a YAML text; `source` is the name of its file.

    Raises:
        SituationError: it is invalid.
    """
    try:
        document = YamlDocument(text, source)
        situation = document.convert(Situation)
        _check(situation, document, source)
    except SituationError:
        raise
    except PlanError as error:
        raise SituationError(str(error).replace("the plan: ", "")) from error
    return situation


def _check(situation: Situation, document: YamlDocument, source: str) -> None:
    """Check what types do not say."""
    if f"{situation.id}.yaml" != source:
        document.refuse(("id",), f"must be the name of the file, not {situation.id!r}")
    first = situation.id.partition("-")[0]
    families = [*OTHER_FAMILIES, *API_FAMILIES]
    if first not in families:
        document.refuse(("id",), f"the family {first!r} is unknown{did_you_mean(first, families)}")
    for topic in situation.records:
        if topic not in situation.topics:
            document.refuse(("records", topic), "is not in topics")
    for number, rule in enumerate(situation.acls):
        if len(rule.resource) != 1:
            document.refuse(("acls", number), "needs a topic, a group or a transactional_id")
    for number, advance in enumerate(situation.advance_s):
        _check_api(advance.after.api, document, ("advance_s", number, "after", "api"))
    for api, (least, most) in situation.expect.requests.items():
        _check_api(api, document, ("expect", "requests", api))
        if most is not None and most < least:
            document.refuse(("expect", "requests", api), f"{most} is less than {least}")
    if situation.expect.throttle and not (situation.quotas or _can_throttle(situation)):
        document.refuse(("expect", "throttle"), "neither a quota nor a rule throttles")


def _can_throttle(situation: Situation) -> bool:
    return any("throttle_time_ms" in rule for rule in situation.faults)


def _check_api(name: str, document: YamlDocument, path: tuple[str | int, ...]) -> None:
    if name not in API_NAMES.values():
        document.refuse(path, f"{name!r} is unknown{suggestion(name, API_NAMES.values())}")


def _text(situation_id: str) -> str:
    if situation_id not in situation_ids():
        nearest = did_you_mean(situation_id, situation_ids())
        raise SituationError(f"no situation has the id {situation_id!r}{nearest}")
    return (_FOLDER / f"{situation_id}.yaml").read_text(encoding="utf-8")
