"""Alter and describe the quotas of all entities.

Sources: Kafka's `ClientQuotaControlManager` (changes) and `ClientQuotasImage` (descriptions).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from protocol.client_quotas import QuotaMatch
from protocol.hash_order import in_hash_order, string_hash
from protocol.pacing import may_pause, paced, paced_elements
from quotas.entities import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    ENTITY_TYPES,
    IP,
    PRODUCER_BYTE_RATE,
    PRODUCER_IDS_RATE,
    QUOTA_KEYS,
    REQUEST_PERCENTAGE,
    USER,
    Entity,
    QuotaKey,
    entity_problem,
    family_of,
)
from quotas.limits import Limits
from quotas.token_bucket import exact

MISSPELT_CONTROLLER_MUTATION_RATE = "controller_mutations_rate"
"""Another spelling in the text of KIP-599."""

INT_MAX = 2**31 - 1
_WHOLE_WITHIN = 1e-6


@dataclass(frozen=True, slots=True)
class Component:
    """One component of a filter; `match_type` is as received, so it may be no QuotaMatch."""

    entity_type: str
    match_type: int
    name: str | None


@dataclass(frozen=True, slots=True)
class FilterProblem:
    """The reason why a filter is refused: it is invalid, or has an unsupported entity type."""

    message: str
    is_unsupported: bool = False


class ClientQuotas:
    """Values of quota keys by entity, and the resulting limits by key.

    `is_enabled`: whether any quota was ever set; before, requests need no lookup.
    `on_change` is called after every change.
    The limits that every request needs are also attributes, named by their keys.
    """

    __slots__ = (
        "_values",
        "consumer_byte_rate",
        "enforced_keys",
        "is_enabled",
        "limits",
        "on_change",
        "producer_byte_rate",
        "producer_ids_rate",
        "request_percentage",
    )

    def __init__(self) -> None:
        self.is_enabled = False
        self.enforced_keys: Collection[str] = QUOTA_KEYS
        """The keys that can be set; a proxy enforces some only."""
        self.on_change: Callable[[], None] | None = None
        self._values: dict[Entity, dict[str, float]] = {}
        self.limits: Mapping[str, Limits] = {name: Limits() for name in QUOTA_KEYS}
        self.consumer_byte_rate = self.limits[CONSUMER_BYTE_RATE.name]
        self.producer_byte_rate = self.limits[PRODUCER_BYTE_RATE.name]
        self.producer_ids_rate = self.limits[PRODUCER_IDS_RATE.name]
        self.request_percentage = self.limits[REQUEST_PERCENTAGE.name]

    @may_pause
    def alter(
        self,
        entity: Entity,
        changes: Sequence[tuple[str, float | None]],
        *,
        is_shadow: bool | None = None,
        validate_only: bool = False,
    ) -> str | None:
        """Set or remove (None) keys of one entity; all of them or none.

        Args:
            entity: the entity to change.
            changes: values by key.
            is_shadow: whether these keys are evaluated but not enforced; None keeps the mode, and
                enforces new keys.
            validate_only: check without changing anything.

        Returns:
            The error in one line; None for success.
        """
        problem = (
            entity_problem(entity)
            or _changes_problem(entity, changes)
            or enforced_problem(changes, self.enforced_keys)
        )
        if problem is None and is_shadow:
            problem = _shadow_problem(changes)
        if problem is not None or validate_only:
            return problem
        # Kafka collects the changes in a map of 16 buckets, and adds new keys in its order. With
        # very many changes this pauses: the values are read after it.
        ordered = in_hash_order(changes, lambda change: string_hash(change[0]))
        old_values = self._values.get(entity, {})
        values = dict(old_values)
        for name, value in ordered:
            if name not in QUOTA_KEYS:
                continue
            if value is None:
                values.pop(name, None)
            else:
                values[name] = value
            limits = self.limits[name]
            stays_shadow = limits.is_shadow_of(entity) if is_shadow is None else is_shadow
            exact_value = None if value is None else exact(value)
            limits.set(entity, exact_value, is_shadow=stays_shadow)
        if values:
            self.is_enabled = True
            if values != old_values:
                self._values[entity] = _in_described_order(values, len(old_values))
        else:
            self._values.pop(entity, None)
        if self.on_change is not None:
            self.on_change()
        return None

    @may_pause
    def remove_all(self) -> None:
        """Remove the quotas of all entities; what is set during a pause on another one stays."""
        for entity in paced(self._values):
            self.alter(entity, [(name, None) for name in self._values.get(entity, ())])

    @property
    def entity_count(self) -> int:
        """The number of entities that have a quota."""
        return len(self._values)

    def shadow_keys(self, entity: Entity) -> list[str]:
        """Return the keys of an entity's quotas that are in shadow mode."""
        values = self._values.get(entity, {})
        return [name for name in values if self.limits[name].is_shadow_of(entity)]

    @may_pause
    def describe(
        self, components: Iterable[Component], *, strict: bool
    ) -> list[tuple[Entity, dict[str, float]]] | FilterProblem:
        """Return the entities that match all components, by first `alter`, with their values.

        The values of an entity are in the order in which Kafka describes them. With `strict`,
        entities with further types don't match.
        """
        by_type: dict[str, Component] = {}
        for component in components:
            problem = _component_problem(component, by_type)
            if problem is not None:
                return problem
            by_type[component.entity_type] = component
        if IP in by_type and (USER in by_type or CLIENT_ID in by_type):
            return FilterProblem(
                "Invalid entity filter component combination."
                " IP filter component should not be used with user or clientId filter component."
            )
        return [
            (entity, dict(values))
            for entity, values in paced_elements(list(self._values.items()))
            if _matches(entity, by_type, strict=strict)
        ]


def enforced_problem(
    changes: Iterable[tuple[str, float | None]], enforced_keys: Collection[str]
) -> str | None:
    """Return why quotas cannot be set where only some are enforced, or None."""
    for name, value in changes:
        if value is not None and name not in enforced_keys:
            enforced = " and ".join(enforced_keys)
            return f"{name} is enforced by the cluster; a proxy enforces {enforced}"
    return None


@may_pause
def _in_described_order(values: Mapping[str, float], old_count: int) -> dict[str, float]:
    """Return an entity's values in the order of Kafka's map of them after a change.

    Kafka's `ClientQuotaDelta.apply` puts the old keys, in their order, and then the new ones into a
    new map with room for as many keys as there were.
    """
    capacity = 1 << max(0, old_count - 1).bit_length()
    names = in_hash_order(values, string_hash, capacity_min=capacity)
    return {name: values[name] for name in names}


def _changes_problem(entity: Entity, changes: Sequence[tuple[str, float | None]]) -> str | None:
    name, count = (
        Counter(name for name, _value in changes).most_common(1)[0] if changes else ("", 0)
    )
    if count > 1:
        return f"Duplicate quota key {name}"
    for name, value in changes:
        if value is not None:
            problem = _key_problem(entity, name) or _value_problem(QUOTA_KEYS[name], value)
            if problem is not None:
                return problem
    return None


def _shadow_problem(changes: Sequence[tuple[str, float | None]]) -> str | None:
    for name, value in changes:
        if name == CONNECTION_CREATION_RATE.name and value is not None:
            return f"{name} has no shadow mode"
    return None


def _key_problem(entity: Entity, name: str) -> str | None:
    key = QUOTA_KEYS.get(name)
    if name == MISSPELT_CONTROLLER_MUTATION_RATE:
        return f"Invalid configuration key {name}; it is {CONTROLLER_MUTATION_RATE.name}"
    if key is PRODUCER_IDS_RATE and family_of(entity) not in key.families:
        return f"Invalid configuration key {name}; it is for a user without a client-id"
    if key is None or family_of(entity) not in key.families:
        return f"Invalid configuration key {name}"
    return None


def _value_problem(key: QuotaKey, value: float) -> str | None:
    if not isfinite(value):
        return f"Quota {key.name} must be a number"
    if value <= 0:
        return f"Quota {key.name} must be greater than 0"
    if key.integral_max is None:
        return None
    if value > key.integral_max:
        type_name = "a LONG" if key.integral_max > INT_MAX else "an INT"
        return f"Proposed value for {key.name} is too large for {type_name}."
    if abs(value - int(value)) > _WHOLE_WITHIN:
        return f"{key.name} cannot be a fractional value."
    return None


def _component_problem(
    component: Component, before: Mapping[str, Component]
) -> FilterProblem | None:
    entity_type, match_type = component.entity_type, component.match_type
    if not entity_type:
        return FilterProblem("Invalid empty entity type.")
    if entity_type in before:
        message = f"Entity type {entity_type} cannot appear more than once in the filter."
        return FilterProblem(message)
    if entity_type not in ENTITY_TYPES:
        message = f"Unsupported entity type {entity_type}"
        return FilterProblem(message, is_unsupported=True)
    if match_type not in frozenset(QuotaMatch):
        return FilterProblem(f"Unknown match type {match_type}")
    if match_type == QuotaMatch.EXACT and component.name is None:
        return FilterProblem("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if match_type != QuotaMatch.EXACT and component.name is not None:
        kind = "DEFAULT" if match_type == QuotaMatch.DEFAULT else "SPECIFIED"
        return FilterProblem(
            f"Request specified MATCH_TYPE_{kind}, but also specified a match string."
        )
    return None


def _matches(entity: Entity, by_type: Mapping[str, Component], *, strict: bool) -> bool:
    names = dict(entity)
    if strict and names.keys() != by_type.keys():
        return False
    return all(
        entity_type in names
        and (component.match_type == QuotaMatch.ANY or names[entity_type] == component.name)
        for entity_type, component in by_type.items()
    )
