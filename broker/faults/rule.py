"""A fault rule as a frozen value: which requests it matches, when it fires, and its actions.

In JSON a rule is one flat object: the fields of its `Match`, its `Trigger` and its actions.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, TypeVar

from broker.faults.actions import ACTION_TYPES, Action, ConnectionAction, field_name_of
from broker.faults.fields import ONLY_TRUE, TEXT, kind_of, schema_of
from broker.faults.match import Match, Trigger
from broker.faults.validation import validate
from protocol.pacing import may_pause, paced
from protocol.suggestions import did_you_mean

_A = TypeVar("_A", bound=Action)

NAME = "name"


class ContradictionError(ValueError):
    """Each field of a rule is valid, but not all of them together; the message names a field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """One rule. The fields of JSON are the attributes of its parts.

    `name` is a label that nothing reads.

    Raises:
        ValueError: a value is invalid, parts contradict each other, or an action could never take
            effect. The message names the field.
    """

    name: str | None = None
    match: Match = field(default_factory=Match)
    trigger: Trigger = field(default_factory=Trigger)
    actions: tuple[Action, ...]

    def __post_init__(self) -> None:
        if self.name is not None:
            TEXT.check(NAME, self.name)
        try:
            validate(self.match, self.trigger, self.actions)
        except ValueError as error:
            raise ContradictionError(str(error)) from error

    def action(self, kind: type[_A]) -> _A | None:
        """Return the rule's action of this type, or None."""
        return next((action for action in self.actions if isinstance(action, kind)), None)

    def has_action(self, kinds: Any) -> bool:
        """Return whether one of the actions is of this type, or of one of this union."""
        return any(isinstance(action, kinds) for action in self.actions)

    @property
    def matches_connections(self) -> bool:
        """Whether the rule matches new connections instead of requests."""
        return self.has_action(ConnectionAction)

    def describe(self) -> str:
        """Return the actions in a few words, such as `drop before_response`."""
        return ", ".join(map(_describe, self.actions))

    def to_json(self) -> dict[str, Any]:
        """Return the fields whose values are not their defaults, as a flat JSON object."""
        document: dict[str, Any] = {} if self.name is None else {NAME: self.name}
        for part in (self.match, self.trigger, *self.actions):
            for declared in fields(part):
                value = getattr(part, declared.name)
                if value != declared.default:
                    document[declared.name] = value
        return document

    @classmethod
    def from_json(cls, document: Any) -> "FaultRule":
        """Return the rule of a parsed JSON object.

        Raises:
            ValueError: the document is invalid. The message names the field and the nearest valid
                word.
        """
        if not isinstance(document, Mapping):
            raise ValueError(f"a rule is an object, not {type(document).__name__}")  # noqa: TRY004
        for name in document:
            if name not in FIELDS:
                raise ValueError(f"{name}: there is no such field{did_you_mean(str(name), FIELDS)}")
        given = {name: value for name, value in document.items() if value is not None}
        _check_values(given)
        match, trigger = Match(**_of(Match, given)), Trigger(**_of(Trigger, given))
        actions = tuple(
            kind(**_of(kind, given))
            for kind in ACTION_TYPES
            if _is_given(field_name_of(kind), given)
        )
        _check_options(given, actions)
        return cls(name=given.get(NAME), match=match, trigger=trigger, actions=actions)


def fault_rule(**fields: Any) -> FaultRule:
    """Return the rule with these fields of the flat JSON form.

    Raises:
        ValueError: as `FaultRule.from_json`.
    """
    return FaultRule.from_json(fields)


LISTED, LISTED_ID = "rule", "id"
"""The fields of a rule and of its id in the list of all rules; counts stand beside them."""


@may_pause
def rules_from_json(document: Any) -> list[FaultRule]:
    """Return the rules of a parsed JSON document: a list of rules, or one rule.

    A rule may have the form in which the admin port lists it, `{"id": 1, "rule": {...}, ...}`; all
    but the rule is ignored.

    Raises:
        ValueError: a rule is invalid. The message names the rule of a list and the problem.
    """
    if not isinstance(document, list):
        return [FaultRule.from_json(_unlisted(document))]
    rules = []
    for number, rule in enumerate(paced(document), 1):
        try:
            rules.append(FaultRule.from_json(_unlisted(rule)))
        except ValueError as error:
            kind = ContradictionError if isinstance(error, ContradictionError) else ValueError
            raise kind(f"rule {number}: {error}") from error
    return rules


def _unlisted(document: Any) -> Any:
    """Return the rule of an entry of the list of rules; any other document as it is."""
    is_listed = isinstance(document, Mapping) and {LISTED, LISTED_ID} <= document.keys()
    return document[LISTED] if is_listed else document


def rule_schema() -> dict[str, dict[str, Any]]:
    """Return the JSON schema of each field of the flat form, with its default if it has one."""
    schemas: dict[str, dict[str, Any]] = {
        NAME: {**TEXT.schema, "description": "a name for people; nothing else uses it"}
    }
    for name, declared in FIELDS.items():
        if declared is not None:
            has_default = declared.default not in (None, MISSING)
            default = {"default": declared.default} if has_default else {}
            schemas[name] = {**schema_of(declared), **default}
    return schemas


def _fields() -> dict[str, Field[Any] | None]:
    declared: dict[str, Field[Any] | None] = {NAME: None}
    for part in (Match, Trigger, *ACTION_TYPES):
        declared |= {declared.name: declared for declared in fields(part)}
    return declared


FIELDS: Mapping[str, Field[Any] | None] = _fields()
"""The fields of the flat form by name, as they are declared; None for `name`."""


def _of(part: type, given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        declared.name: given[declared.name] for declared in fields(part) if declared.name in given
    }


def _is_given(name: str, given: Mapping[str, Any]) -> bool:
    declared = FIELDS[name]
    is_left_out = (
        declared is not None and kind_of(declared) is ONLY_TRUE and given.get(name) is False
    )
    return name in given and not is_left_out


def _check_values(given: Mapping[str, Any]) -> None:
    """Also check the options that belong to no action of the rule."""
    for name, declared in FIELDS.items():
        if declared is not None and _is_given(name, given):
            kind_of(declared).check(name, given[name])


def _check_options(given: Mapping[str, Any], actions: tuple[Action, ...]) -> None:
    """Refuse options whose action is missing, unless they have their default value."""
    used = {declared.name for part in (Match, Trigger, *actions) for declared in fields(part)}
    for name, declared in FIELDS.items():
        if declared is None or name in used or not _is_given(name, given):
            continue
        if given[name] != declared.default and actions:
            kinds = [
                kind
                for kind in ACTION_TYPES
                if name in {declared.name for declared in fields(kind)}
            ]
            raise ContradictionError(f"{name}: needs {' or '.join(map(field_name_of, kinds))}")


def _describe(action: Action) -> str:
    name = field_name_of(action)
    value = getattr(action, name)
    if value is True:
        return name
    return f"{name} {' '.join(value) if isinstance(value, Mapping) else value}"
