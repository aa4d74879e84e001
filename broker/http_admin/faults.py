"""Faults over HTTP: the same rules as from Python and in files."""

from typing import Any

import msgspec

from broker.faults import FaultRule, RuleState, rules_from_json
from broker.http_admin.operation import Count, Input, Problem, operation
from broker.http_admin.state import Admin


class FaultView(msgspec.Struct):
    """A rule, how many requests it matched, and on how many of these it fired."""

    id: int
    rule: dict[str, Any]
    matched: int
    fired: int
    is_used_up: bool


class FaultPath(Input):
    """A rule by its id."""

    id: Count


def _rule_or_rules(document: Any) -> FaultRule | list[FaultRule]:
    rules = rules_from_json(document)
    return rules if isinstance(document, list) else rules[0]


@operation("GET", "/v1/faults", tag="faults")
def list_faults(admin: Admin) -> list[FaultView]:
    """All rules in the order in which they are asked, those that are used up too."""
    return [_view(listed) for listed in admin.faults.rules()]


@operation("POST", "/v1/faults", tag="faults", status=201, read_body=_rule_or_rules)
def add_faults(admin: Admin, body: FaultRule | list[FaultRule]) -> FaultView | list[FaultView]:
    """Add a rule behind all others, or all of a list; what they can say is told in docs/faults.md.

    Of a list all are added or, where one of them is refused, none. The body is what
    `mock-kafka serve --faults FILE` takes; the response has the form of the body.
    """
    faults = admin.faults
    try:
        ids = faults.add_all(body if isinstance(body, list) else [body], admin.now_ms())
    except ValueError as error:
        raise Problem(400, f"body: {error}") from error
    views = [_view(listed) for listed in faults.rules() if listed.rule_id in ids]
    return views if isinstance(body, list) else views[0]


@operation("DELETE", "/v1/faults", tag="faults", status=204, media_type=None)
def clear_faults(admin: Admin) -> None:
    """Forget all rules; answers that they delay stay delayed."""
    admin.faults.clear()


@operation("DELETE", "/v1/faults/{id}", tag="faults", status=204, media_type=None)
def remove_fault(admin: Admin, path: FaultPath) -> None:
    """Forget a rule; answers that it delays stay delayed."""
    if not admin.faults.remove(path.id):
        raise Problem(404, f"there is no rule {path.id}; GET /v1/faults lists them")


def _view(listed: RuleState) -> FaultView:
    return FaultView(
        listed.rule_id,
        listed.rule.to_json(),
        listed.match_count,
        listed.fire_count,
        listed.is_used_up,
    )
