"""Which rules wait for which others: what the names in `after` and `until` stand for."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from broker.faults.decision import RuleState
from broker.faults.rule import FaultRule
from protocol.suggestions import did_you_mean

Link = RuleState | int | None
"""A rule of the table, or the place of a rule that is added together with this one."""


@dataclass(frozen=True, slots=True)
class Links:
    """The rules that a rule waits for."""

    after: Link
    until: Link

    def connect(self, state: RuleState, added: Sequence[RuleState]) -> None:
        """Let a rule wait; `added` are the rules that are added together."""
        state.after = _state_of(self.after, added)
        state.until = _state_of(self.until, added)
        if state.after is not None:
            state.after.followers.append(state)


def _state_of(link: Link, added: Sequence[RuleState]) -> RuleState | None:
    return added[link] if isinstance(link, int) else link


class LinkFinder:
    """Finds the rules that names stand for: the latest before the rule, else the first behind."""

    def __init__(self, known: Sequence[RuleState], rules: Sequence[FaultRule]) -> None:
        """`known` are the rules of the table, and `rules` those that are added behind them."""
        self._known: Mapping[str, RuleState] = {
            state.rule.name: state for state in known if state.rule.name is not None
        }
        self._places: dict[str, list[int]] = {}
        for place, rule in enumerate(rules):
            if rule.name is not None:
                self._places.setdefault(rule.name, []).append(place)

    def links(self, place: int, rule: FaultRule) -> Links:
        """Return the links of the rule at a place.

        Raises:
            ValueError: there is no rule with the name, or it can never fire any more.
        """
        after = self._find("after", place, rule.trigger.after)
        until = self._find("until", place, rule.trigger.until)
        if isinstance(after, RuleState) and after.is_used_up and after.done_ms is None:
            raise ValueError(f"after: the rule {rule.trigger.after!r} can never fire any more")
        if after is not None and after == until:
            raise ValueError("until: is the same rule as after, the rule would match nothing")
        return Links(after, until)

    def _find(self, field_name: str, place: int, name: str | None) -> Link:
        if name is None:
            return None
        places = self._places.get(name, [])
        before = bisect_left(places, place)
        if before:
            return places[before - 1]
        if name in self._known:
            return self._known[name]
        behind = [other for other in places[:2] if other != place]
        if behind:
            return behind[0]
        if places:
            raise ValueError(f"{field_name}: the rule would wait for itself")
        hint = did_you_mean(name, {**self._known, **self._places})
        raise ValueError(f"{field_name}: there is no rule with the name {name!r}{hint}")


def circle(links: Sequence[Links]) -> list[int]:
    """Return the places of rules that wait for each other, so that none can fire; else nothing."""
    is_free = [False] * len(links)
    for start in range(len(links)):
        path: list[int] = []
        on_path: set[int] = set()
        place: Link = start
        while isinstance(place, int) and not is_free[place]:
            if place in on_path:
                return path[path.index(place) :]
            path.append(place)
            on_path.add(place)
            place = links[place].after
        for passed in path:
            is_free[passed] = True
    return []
