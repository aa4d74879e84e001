"""Which requests a fault rule matches, and on which of these it fires."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker.faults.fields import (
    API,
    CONDITIONS,
    FLAG,
    NODE_ID,
    PROBABILITY,
    TEXT,
    TOPIC_ID,
    Declared,
    declare,
    duration_ms,
    whole,
)
from protocol.api_keys import ApiKey
from protocol.messages import API_NAMES

_VERSION = whole(0, (1 << 15) - 1)
_API_KEYS = {name: key for key, name in API_NAMES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Match(Declared):
    """Conditions on requests: a rule matches those that fit every attribute that is not None."""

    api: str | None = declare(API, "requests of this API, such as `Produce` or `InitProducerId`")
    version_min: int | None = declare(_VERSION, "requests in this version or a higher one")
    version_max: int | None = declare(_VERSION, "requests in this version or a lower one")
    topic: str | None = declare(TEXT, "requests that name this topic; topic ids are looked up")
    partition: int | None = declare(whole(0), "requests that name this partition (of `topic`)")
    group: str | None = declare(TEXT, "requests that name this group, FindCoordinator included")
    transactional_id: str | None = declare(
        TEXT, "requests that name this transactional id, FindCoordinator included"
    )
    resource: str | None = declare(
        TEXT,
        "requests that name this resource of a configuration or of access control, quota entity, "
        "SCRAM user, log dir, feature, owner of a delegation token, or member that leaves a group",
    )
    topic_id: str | None = declare(
        TOPIC_ID, "requests that name this topic id, whether or not such a topic exists"
    )
    where: Mapping[str, Any] | None = declare(
        CONDITIONS, "requests of `api` whose fields fit these conditions, by the path of the field"
    )
    broker: int | None = declare(NODE_ID, "requests and connections to the broker with this id")
    client_id: str | None = declare(TEXT, "requests with this `client.id`")
    user: str | None = declare(TEXT, "requests of this principal; `ANONYMOUS` without SASL")
    connection: int | None = declare(whole(0), "requests on the connection with this number")

    @property
    def api_key(self) -> ApiKey | None:
        """The API that the rule is for, or None for all."""
        return None if self.api is None else _API_KEYS[self.api]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger(Declared):
    """On which of the matching requests a rule fires."""

    nth: int | None = declare(whole(1), "only on the nth request that matches")
    skip: int = declare(whole(0), "not on the first ones of this number", 0)
    every: int | None = declare(whole(1), "on every nth")
    times: int | None = declare(whole(1), "on this many, then never again; once is 1")
    after: str | None = declare(
        TEXT,
        "from when the rule with this name has fired, as often as its `times` says or once; "
        "earlier requests do not match",
    )
    until: str | None = declare(
        TEXT, "until the rule with this name has fired so often; later requests do not match"
    )
    after_ms: int | None = declare(
        duration_ms(),
        "from this long after the rule was added, or after it began to match because of `after`; "
        "earlier requests do not match",
    )
    until_ms: int | None = declare(
        duration_ms(1), "until this long after that time; later requests do not match"
    )
    probability: float | None = declare(PROBABILITY, "on each with this probability")
    seed: int = declare(
        whole(-(1 << 63), (1 << 63) - 1),
        "seeds `probability`, `jitter_ms` and `corrupt_bytes`; equal seeds give equal results",
        0,
    )
    at_once: bool = declare(
        FLAG, "when the rule is added, without any request; for actions on the cluster", False
    )
