"""Faults over HTTP: the same rules as from Python and in files."""

from typing import Any

import msgspec

from broker.admin.operation import Count, Input, Problem, operation
from broker.admin.state import Admin
from broker.faults import FaultRule, ListedRule


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


@operation("GET", "/v1/faults", tag="faults")
def list_faults(admin: Admin) -> list[FaultView]:
    """All rules in the order in which they are asked, those that are used up too."""
    return [_view(listed) for listed in admin.cluster.faults.rules()]


@operation("POST", "/v1/faults", tag="faults", status=201)
def add_fault(admin: Admin, body: FaultRule) -> FaultView:
    """Add a rule behind all others; what it can say is told in docs/faults.md."""
    faults = admin.cluster.faults
    try:
        rule_id = faults.add(body, admin.now_ms())
    except ValueError as error:
        raise Problem(400, f"body: {error}") from error
    return next(_view(listed) for listed in faults.rules() if listed.rule_id == rule_id)


@operation("DELETE", "/v1/faults", tag="faults", status=204, media_type=None)
def clear_faults(admin: Admin) -> None:
    """Forget all rules; answers that they delay stay delayed."""
    admin.cluster.faults.clear()


@operation("DELETE", "/v1/faults/{id}", tag="faults", status=204, media_type=None)
def remove_fault(admin: Admin, path: FaultPath) -> None:
    """Forget a rule; answers that it delays stay delayed."""
    if not admin.cluster.faults.remove(path.id):
        raise Problem(404, f"there is no rule {path.id}; GET /v1/faults lists them")


def _view(listed: ListedRule) -> FaultView:
    return FaultView(
        listed.rule_id,
        listed.rule.to_json(),
        listed.match_count,
        listed.fire_count,
        listed.is_used_up,
    )
