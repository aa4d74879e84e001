"""Shorten a conversation while it keeps a property: fewer steps, entries and fields."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from tests.differential.conversation import Conversation, Send

_KEPT_FIELDS = frozenset({"group_id"})
"""Without its name a request would change a group that all conversations share."""
Keeps = Callable[[Conversation], bool]
"""Returns whether a shorter conversation still has the property, such as a difference."""


def shorten(conversation: Conversation, keeps: Keeps) -> Conversation:
    """Return a conversation from which nothing more can be left out, as far as `keeps` agrees.

    `keeps` also ends the search, by returning False from some time on.
    """
    current = conversation
    is_shorter = True
    while is_shorter:
        is_shorter = False
        for candidate in _shorter(current):
            if keeps(candidate):
                current = candidate
                is_shorter = True
                break
    return current


def _shorter(conversation: Conversation) -> Iterator[Conversation]:
    steps = conversation.steps
    for index in reversed(range(len(steps))):
        if len(steps) > 1:
            yield _with_steps(conversation, (*steps[:index], *steps[index + 1 :]))
    for index in reversed(range(len(steps))):
        step = steps[index]
        if isinstance(step, Send):
            for arguments in _smaller(step.arguments):
                changed = msgspec.structs.replace(step, arguments=arguments)
                yield _with_steps(conversation, (*steps[:index], changed, *steps[index + 1 :]))


def _with_steps(conversation: Conversation, steps: tuple[Any, ...]) -> Conversation:
    return msgspec.structs.replace(conversation, steps=steps)


def _smaller(value: Any) -> Iterator[Any]:
    """Yield the value with one part left out, the largest parts first."""
    if isinstance(value, dict):
        for name in value:
            if name in _KEPT_FIELDS:
                continue
            yield {other: part for other, part in value.items() if other != name}
        for name, part in value.items():
            for smaller in _smaller(part):
                yield value | {name: smaller}
    elif isinstance(value, list | tuple):
        for index in range(len(value)):
            yield [*value[:index], *value[index + 1 :]]
        for index, part in enumerate(value):
            for smaller in _smaller(part):
                yield [*value[:index], smaller, *value[index + 1 :]]
