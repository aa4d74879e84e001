"""Strategies of Hypothesis for fault rules: `from mock_kafka.strategies import faults, schedules`.

A property test draws rules, adds them to a cluster and resets it between the examples. Hypothesis
shrinks what fails: to one rule, an early request, few repetitions, and the first of the errors.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from mock_kafka.exploration.disturbances import PROFILES, Disturbance, Rule
from mock_kafka.exploration.schedule import Seen, draw_rule, draw_schedule, possible

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError(
        "mock_kafka.strategies needs Hypothesis, which is not installed: pip install hypothesis"
    ) from error

_T = TypeVar("_T")

REQUESTS_MAX = 5
"""How many requests of an API a rule may let pass before it fires, by default."""


class DrawnChoices:
    """Choices of an example of Hypothesis; it shrinks them to the first option."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def pick(self, options: Sequence[_T]) -> _T:
        """Return one of the options."""
        return options[self.between(0, len(options) - 1)]

    def between(self, first: int, last: int) -> int:
        """Return a number from the first to the last one."""
        # From 0 on, because Hypothesis shrinks to the number that is nearest to it.
        return first + self._draw(st.integers(0, last - first))


def faults(
    api: str | None = None,
    *,
    profile: str | None = None,
    topics: Sequence[str] = (),
    groups: Sequence[str] = (),
    transactional_ids: Sequence[str] = (),
    client_ids: Sequence[str] = (),
    brokers: int = 1,
    requests_max: int = REQUESTS_MAX,
) -> st.SearchStrategy[Rule]:
    """Return a strategy of rules, each as the arguments of `kafka.add_fault(**rule)`.

    Args:
        api: rules for requests of this API, such as `Produce`; by default for any of the profile.
        profile: producer, consumer, transactions, groups, admin or quotas; by default all of them.
        topics: leaders of these may move; needs `brokers`.
        groups: coordinators of these may move; needs `brokers`.
        transactional_ids: coordinators of these may move; needs `brokers`.
        client_ids: some rules are for one of these client ids.
        brokers: with several, brokers may stop and return.
        requests_max: how many requests of an API a rule may let pass before it fires.

    Raises:
        ValueError: there is no such profile, or it has no rule for the API.
    """
    kinds = _kinds(profile)
    seen = _seen(kinds, api, topics, groups, transactional_ids, client_ids, brokers, requests_max)
    return _composed(lambda choices: draw_rule(choices, choices.pick(possible(kinds, seen)), seen))


def schedules(
    profile: str | None = None,
    *,
    max_rules: int = 4,
    api: str | None = None,
    topics: Sequence[str] = (),
    groups: Sequence[str] = (),
    transactional_ids: Sequence[str] = (),
    client_ids: Sequence[str] = (),
    brokers: int = 1,
    requests_max: int = REQUESTS_MAX,
) -> st.SearchStrategy[list[Rule]]:
    """Return a strategy of one to `max_rules` rules, for `kafka.add_faults(rules)`.

    The other arguments are those of `faults`.

    Raises:
        ValueError: as `faults`, or `max_rules` is below 1.
    """
    if max_rules < 1:
        raise ValueError(f"max_rules is {max_rules}, and a schedule has at least one rule")
    kinds = _kinds(profile)
    seen = _seen(kinds, api, topics, groups, transactional_ids, client_ids, brokers, requests_max)
    return _composed(lambda choices: draw_schedule(choices, kinds, seen, rules_max=max_rules))


def _composed(draw_with: Callable[[DrawnChoices], _T]) -> st.SearchStrategy[_T]:
    @st.composite
    def drawn(draw: st.DrawFn) -> _T:
        return draw_with(DrawnChoices(draw))

    return drawn()


def _kinds(profile: str | None) -> list[Disturbance]:
    if profile is not None and profile not in PROFILES:
        raise ValueError(f"there is no profile {profile!r}; there are {', '.join(PROFILES)}")
    chosen = PROFILES.values() if profile is None else [PROFILES[profile]]
    found: list[Disturbance] = []
    for kinds in chosen:
        found += [kind for kind in kinds if kind not in found]
    return found


def _seen(
    kinds: Sequence[Disturbance],
    api: str | None,
    topics: Sequence[str],
    groups: Sequence[str],
    transactional_ids: Sequence[str],
    client_ids: Sequence[str],
    brokers: int,
    requests_max: int,
) -> Seen:
    apis: list[str] = [api] if api else sorted({name for kind in kinds for name in kind.apis})
    seen = Seen(
        requests=dict.fromkeys(apis, requests_max),
        client_ids=client_ids,
        topics=topics,
        groups=groups,
        transactional_ids=transactional_ids,
        brokers=brokers,
    )
    if not possible(kinds, seen):
        raise ValueError(f"the profile has no rule for {api}")
    return seen
