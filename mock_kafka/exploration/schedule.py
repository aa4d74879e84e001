"""Draw a schedule: some fault rules for what a client was seen to send."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mock_kafka.exploration.choices import Choices
from mock_kafka.exploration.disturbances import (
    PROFILE_APIS,
    PROFILES,
    Between,
    Disturbance,
    OneOf,
    Rule,
)
from mock_kafka.views import Request


@dataclass(frozen=True)
class Seen:
    """What a run without disturbances used.

    Attributes:
        requests: how many requests of each API the run sent, by the API's name.
        client_ids: the client ids that sent them.
        topics, groups, transactional_ids: the names in them.
        brokers: how many brokers the cluster has.
    """

    requests: Mapping[str, int]
    client_ids: Sequence[str] = ()
    topics: Sequence[str] = ()
    groups: Sequence[str] = ()
    transactional_ids: Sequence[str] = ()
    brokers: int = 1
    names: Mapping[str, Sequence[str]] = field(init=False)

    def __post_init__(self) -> None:
        names = {
            "topic": self.topics,
            "group": self.groups,
            "transactional_id": self.transactional_ids,
        }
        object.__setattr__(self, "names", names)

    def has(self, need: str) -> bool:
        """Return whether there is what a disturbance needs."""
        return self.brokers > 1 if need == "brokers" else bool(self.names[need])


def seen_of(requests: Iterable[Request], brokers: int) -> Seen:
    """Return what the requests of a run used; `brokers` is the number of the cluster's brokers."""
    sent = [request for request in requests if request.kind == "request"]
    return Seen(
        requests=Counter(request.api for request in sent),
        client_ids=sorted({request.client_id for request in sent if request.client_id}),
        topics=sorted({name for request in sent for name in request.topics}),
        groups=sorted({name for request in sent for name in request.groups}),
        transactional_ids=sorted({name for request in sent for name in request.transactional_ids}),
        brokers=brokers,
    )


def used_profiles(seen: Seen) -> list[str]:
    """Return the profiles for the APIs that a run used."""
    return [name for name, apis in PROFILE_APIS.items() if any(map(seen.requests.get, apis))]


def disturbances_of(profiles: Iterable[str]) -> list[Disturbance]:
    """Return the disturbances of some profiles, each once."""
    found: list[Disturbance] = []
    for profile in profiles:
        found += [kind for kind in PROFILES[profile] if kind not in found]
    return found


def possible(disturbances: Sequence[Disturbance], seen: Seen) -> list[Disturbance]:
    """Return the disturbances that can meet such a run, each as often as its weight."""
    return [
        disturbance
        for disturbance in disturbances
        if _apis(disturbance, seen)
        and all(map(seen.has, disturbance.needs))
        and not any(map(seen.requests.get, disturbance.unless))
        for _ in range(disturbance.weight)
    ]


def draw_schedule(
    choices: Choices, disturbances: Sequence[Disturbance], seen: Seen, *, rules_max: int = 4
) -> list[Rule]:
    """Return one to `rules_max` rules for the disturbances, or none if none can meet the run."""
    options = possible(disturbances, seen)
    if not options:
        return []
    return [
        draw_rule(choices, choices.pick(options), seen)
        for _ in range(choices.between(1, rules_max))
    ]


def draw_rule(choices: Choices, disturbance: Disturbance, seen: Seen) -> Rule:
    """Return a rule for one disturbance, which begins at a request that such a run sends."""
    api = choices.pick(_apis(disturbance, seen))
    rule: Rule = {"api": api}
    for need in disturbance.needs:
        if need in seen.names:
            rule[need] = choices.pick(seen.names[need])
    if seen.client_ids and choices.between(0, 3) == 3:
        rule["client_id"] = choices.pick(seen.client_ids)
    # A run that is disturbed sends more requests, so the last ones may be retries.
    skip = choices.between(0, seen.requests[api])
    if skip:
        rule["skip"] = skip
    rule["times"] = choices.between(1, disturbance.times_max)
    rule |= {name: _value(choices, value) for name, value in disturbance.fields.items()}
    return rule


def _apis(disturbance: Disturbance, seen: Seen) -> list[str]:
    names = disturbance.apis or tuple(sorted(seen.requests))
    return [api for api in names if seen.requests.get(api)]


def _value(choices: Choices, value: Any) -> Any:
    if isinstance(value, Between):
        return choices.between(value.first, value.last)
    if isinstance(value, OneOf):
        return choices.pick(value.values)
    return value
