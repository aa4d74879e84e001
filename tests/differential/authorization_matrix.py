"""Conversations about authorization: what an API answers to clients with different rules.

A super user makes resources and rules; then clients with different rules send the same request,
first those whom a rule denies or no rule allows.
"""

from collections.abc import Iterator, Mapping, Sequence

import broker.handlers  # noqa: F401 - registers every API
from broker.authorization.checks import Check
from broker.routes import ROUTES
from protocol.messages import API_NAMES
from tests.differential.authorization_requests import DESTRUCTIVE, LATEST, REQUESTS, preparations_of
from tests.differential.authorization_rules import (
    DENYING,
    LISTENER,
    Rule,
    everywhere,
    kinds_of,
)
from tests.differential.clusters import SUPER_USER
from tests.differential.conversation import Connection, Conversation, Send, Step
from tests.differential.preparations import Versions


def declared_checks() -> dict[str, tuple[Check, ...]]:
    """Return what the requests of each API are authorized for, without APIs that check nothing."""
    routes = (ROUTES[api_key] for api_key in sorted(ROUTES))
    return {API_NAMES[route.api_key]: route.checks for route in routes if route.checks}


def matrix(api: str, checks: Sequence[Check], versions: Versions) -> Iterator[list[Conversation]]:
    """Return conversations with all kinds of rules for each check of an API.

    They come in pairs: the resources are there, or not. For each kind a new client sends the
    request.
    """
    for request in _requests(api, versions):
        for check in _without_repetition(checks):
            others = _all_but(check, checks)
            rules: dict[str, list[Rule]] = {"nothing": []}
            for kind in kinds_of(check):
                rules[kind.name] = [*others, *kind.rules(check)]
            yield [
                _conversation([request], rules, versions, is_present=is_present)
                for is_present in (True, False)
            ]


def selection(api: str, checks: Sequence[Check], versions: Versions) -> Conversation:
    """Return one conversation with all requests of an API.

    Its clients have no rule, rules for all checks but one, and rules for all.
    """
    rules: dict[str, list[Rule]] = {"nothing": []}
    for check in _without_repetition(checks):
        rules[f"not {check}"] = _all_but(check, checks)
    rules["all"] = [everywhere(check) for check in _without_repetition(checks)]
    return _conversation(_requests(api, versions), rules, versions, is_present=True)


def _requests(api: str, versions: Versions) -> list[Send]:
    """Return the requests of an API in versions that are served."""
    low, high = versions[api]
    return [
        Send(api, min(max(version, low), high), dict(arguments))
        for version, arguments in REQUESTS[api]
        if version <= high or version == LATEST
    ]


def _without_repetition(checks: Sequence[Check]) -> list[Check]:
    """Return one check of each operation and resource type: they may have several errors."""
    return list({check[:2]: check for check in checks}.values())


def _all_but(omitted: Check, checks: Sequence[Check]) -> list[Rule]:
    return [everywhere(check) for check in _without_repetition(checks) if check[:2] != omitted[:2]]


def _conversation(
    requests: Sequence[Send],
    rules: Mapping[str, Sequence[Rule]],
    versions: Versions,
    *,
    is_present: bool,
) -> Conversation:
    clients = {f"u{number}": rules[kind] for number, kind in enumerate(rules)}
    connections = {name: Connection(listener=LISTENER, user=f"~{name}") for name in clients}
    connections["r"] = Connection(listener=LISTENER, user=SUPER_USER)
    creations = [
        {**rule, "principal": f"User:~{name}"} for name, own in clients.items() for rule in own
    ]
    api = requests[0].api
    prepare = [
        step
        for preparation in (preparations_of(api) if is_present else ())
        for step in preparation(versions)
    ]
    steps: list[Step] = [*prepare, Send("CreateAcls", 3, {"creations": creations})]
    for number, name in enumerate(clients):
        if api in DESTRUCTIVE and number > len(DENYING) + 1:
            steps += prepare
        steps += [Send(api, request.version, request.arguments, name) for request in requests]
    return Conversation(tuple(steps), connections)
