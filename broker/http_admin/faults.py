"""Fault rules over HTTP, in the same form as in Python and in files."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from broker.dispatch.turn_queue import TurnKind
from broker.faults import ContradictionError, FaultRule, RuleState, rules_from_json
from broker.faults.rule import LISTED, LISTED_ID, rule_schema
from broker.http_admin.near_misses import NearMissesView, near_misses_of_rule
from broker.http_admin.operation import Count, Input, Problem, Remedy, operation
from broker.http_admin.requests import WAIT_MS_MAX
from broker.http_admin.state import Admin
from protocol.pacing import may_pause, paced

RULE_TYPE = msgspec.defstruct(
    "FaultRule",
    [
        (name, Annotated[Any, msgspec.Meta(extra_json_schema=schema)], msgspec.UNSET)
        for name, schema in rule_schema().items()
    ],
    namespace={"__doc__": "Which requests, when, and what happens; see docs/faults.md."},
    forbid_unknown_fields=True,
)
"""The type for the OpenAPI document only; `rules_from_json` reads the rules."""


class FaultView(msgspec.Struct):
    """A rule, how many requests it matched, and on how many of these it fired."""

    id: int
    rule: Annotated[
        dict[str, Any], msgspec.Meta(extra_json_schema={"$ref": "#/components/schemas/FaultRule"})
    ]
    matched: int
    fired: int
    is_used_up: bool
    is_armed: bool
    """Whether it can match the next request: not before the rule in `after`, nor if used up."""
    held: int
    """The number of requests that it holds now."""


_RULE_SCHEMA = {"$ref": "#/components/schemas/FaultRule"}
# Only the rule is read. Lists that older versions have written lack fields of a FaultView.
_LISTED_SCHEMA = {
    "type": "object",
    "properties": {
        **{name: {"type": "integer"} for name in (LISTED_ID, "matched", "fired", "held")},
        **{name: {"type": "boolean"} for name in ("is_used_up", "is_armed")},
        LISTED: _RULE_SCHEMA,
    },
    "required": [LISTED_ID, LISTED, "matched", "fired", "is_used_up"],
}
RULE_OR_VIEW = Annotated[
    Any, msgspec.Meta(extra_json_schema={"anyOf": [_RULE_SCHEMA, _LISTED_SCHEMA]})
]


class FaultPath(Input):
    """A rule by its id."""

    id: Count


class FaultWaitQuery(Input, kw_only=True):
    """What to wait for, and how long, in ms of real time."""

    fired: Count = 1
    """How many requests the rule has fired on."""
    held: Count = 0
    """How many requests it holds at the same time."""
    timeout_ms: Annotated[int, msgspec.Meta(ge=0, le=WAIT_MS_MAX)] = 30_000


class ReleaseBody(Input):
    """How many requests go on; by default all."""

    count: Annotated[int, msgspec.Meta(ge=1)] | None = None


@may_pause
def _rule_or_rules(document: Any) -> FaultRule | list[FaultRule]:
    try:
        rules = rules_from_json(document)
    except ContradictionError as error:
        raise Problem(422, str(error), location="body") from error
    return rules if isinstance(document, list) else rules[0]


@operation("GET", "/v1/faults", tag="faults", turn_kind=TurnKind.READING)
@may_pause
def list_faults(admin: Admin) -> list[FaultView]:
    """List all rules in the order in which they are evaluated, including those used up."""
    return fault_views(admin)


@may_pause
def fault_views(admin: Admin) -> list[FaultView]:
    """Return all rules."""
    return [_view(state) for state in paced(admin.faults.rules())]


@operation(
    "POST",
    "/v1/faults",
    tag="faults",
    status=201,
    read_body=_rule_or_rules,
    body_type=RULE_TYPE | list[RULE_OR_VIEW],
    further_rules="Fields contradict each other, or the rule could never take effect",
)
async def add_faults(
    admin: Admin, body: FaultRule | list[FaultRule]
) -> FaultView | list[FaultView]:
    """Add a rule after all others, or all rules of a list.

    If one rule of a list is refused, none is added. The body has the form of the file of
    `mock-kafka serve --faults FILE`. It may also be the response of `GET /v1/faults`, whose ids and
    counts are ignored: the rules begin again.
    """
    views = await admin.alone_in_turns(
        lambda: add_rules(admin, body if isinstance(body, list) else [body])
    )
    return views if isinstance(body, list) else views[0]


@may_pause
def add_rules(admin: Admin, rules: Sequence[FaultRule]) -> list[FaultView]:
    """Add rules after all others, or none of them.

    Raises:
        Problem: 422, a rule could never take effect.
    """
    try:
        added = set(admin.faults.add_all(rules, admin.now_ms()))
    except ValueError as error:
        raise Problem(422, str(error), location="body") from error
    return [_view(state) for state in paced(admin.faults.rules()) if state.rule_id in added]


@operation("DELETE", "/v1/faults", tag="faults", status=204, media_type=None)
def clear_faults(admin: Admin) -> None:
    """Remove all rules; responses that they delay stay delayed, requests that they hold go on."""
    admin.faults.clear()


@operation("DELETE", "/v1/faults/{id}", tag="faults", status=204, media_type=None)
def remove_fault(admin: Admin, path: FaultPath) -> None:
    """Remove a rule; responses that it delays stay delayed, requests that it holds go on."""
    if not admin.faults.remove(path.id):
        raise _no_such_rule(path.id)


@operation("GET", "/v1/faults/{id}/wait", tag="faults")
async def wait_for_fault(admin: Admin, path: FaultPath, query: FaultWaitQuery) -> FaultView:
    """Return the rule when it has fired, and holds requests, as often as the query says.

    After the timeout 408 with the reasons, and the requests that come nearest to its conditions.
    """
    state = _state(admin, path.id)
    changed = asyncio.Event()
    end = admin.faults.watch(changed.set)
    try:
        async with asyncio.timeout(query.timeout_ms / 1000):
            while state.fire_count < query.fired or len(state.held) < query.held:
                changed.clear()
                await changed.wait()
                if _state(admin, path.id) is not state:  # after a reset ids begin at 1 again
                    raise _no_such_rule(path.id)
        return _view(state)
    except TimeoutError:
        raise await admin.in_turns(lambda: _did_not_fire(admin, state, query)) from None
    finally:
        end()


@operation("GET", "/v1/faults/{id}/near-misses", tag="faults", turn_kind=TurnKind.READING)
@may_pause
def list_near_misses_of_fault(admin: Admin, path: FaultPath) -> NearMissesView:
    """List why a rule does not fire, and the requests that come nearest to its conditions.

    Requests on which it fired are left out. A Fetch names only what has changed in its session.
    """
    return near_misses_of_rule(admin, _state(admin, path.id))


@may_pause
def _did_not_fire(admin: Admin, state: RuleState, query: FaultWaitQuery) -> Problem:
    found = near_misses_of_rule(admin, state)
    conditions = [
        (f"fired {state.fire_count}", query.fired),
        (f"held {len(state.held)}", query.held),
    ]
    counts = ", ".join(f"{have} of {needed}" for have, needed in conditions if needed)
    named = "" if state.rule.name is None else f" {state.rule.name!r}"
    reason = (
        f"rule {state.rule_id}{named} ({state.rule.describe()}) {counts} in "
        f"{query.timeout_ms / 1000:g} s, and matched {state.match_count}"
    )
    nearest = [*found.reasons, *(miss.text for miss in found.near_misses)]
    return Problem(408, reason, nearest=nearest)


@operation("POST", "/v1/faults/{id}/release", tag="faults")
def release_held(admin: Admin, path: FaultPath, body: ReleaseBody) -> FaultView:
    """Have requests that a rule holds go on, the oldest first.

    Without `count` all go on, and the rule holds no others. What the requests do, and their
    responses, are there before this returns.
    """
    state = _state(admin, path.id)
    admin.faults.release(path.id, admin.now_ms(), body.count)
    admin.server.timer_driver.advance(0)
    return _view(state)


def _state(admin: Admin, rule_id: int) -> RuleState:
    state = admin.faults.state(rule_id)
    if state is None:
        raise _no_such_rule(rule_id)
    return state


def _no_such_rule(rule_id: int) -> Problem:
    reason = f"there is no rule {rule_id}: it was removed, or the cluster was reset"
    return Problem(404, reason, remedy=Remedy("list_faults", "lists them"))


def _view(state: RuleState) -> FaultView:
    return FaultView(
        state.rule_id,
        state.rule.to_json(),
        state.match_count,
        state.fire_count,
        state.is_used_up,
        state.is_armed,
        len(state.held),
    )
