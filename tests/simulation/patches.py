"""Replace functions by wrong ones, so that checkers have something to find."""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import getsource, unwrap
from textwrap import dedent
from typing import Any

import pytest

Patch = pytest.MonkeyPatch
SEEDS_MAX = 40
"""Worlds in which a bug has to be found, from one on that found it once."""


def wrap(patch: Patch, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Replace a function by `make(function)`."""
    patch.setattr(owner, name, make(getattr(owner, name)))


def edit(patch: Patch, function: Any, right: str, wrong: str) -> None:
    """Replace a part of the source of a function, which has to occur once, in place.

    All that hold the function use the wrong one until the end of the test, wherever they have it
    from. A property stands for its getter.

    Raises:
        ValueError: the source of the function was changed, so that the mutant needs a change too.
    """
    function = function.fget if isinstance(function, property) else unwrap(function)
    source = dedent(getsource(function))
    if source.count(right) != 1:
        raise ValueError(f"{function.__qualname__} has {source.count(right)} times {right!r}")
    tree = ast.parse(source.replace(right, wrong))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list.clear()
    scope: dict[str, Any] = {}
    code = compile(tree, f"<mutant of {function.__qualname__}>", "exec")
    exec(code, function.__globals__, scope)
    patch.setattr(function, "__code__", scope[definition.name].__code__)


@contextmanager
def counted(owner: Any, name: str) -> Iterator[list[Any]]:
    """Collect the first argument of each call of a function, and its result."""
    calls: list[Any] = []

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any, **named: Any) -> Any:
            result = function(*arguments, **named)
            calls.append((arguments, result))
            return result

        return counting

    with pytest.MonkeyPatch.context() as patch:
        wrap(patch, owner, name, make)
        yield calls


def find_bug(
    patch: Patch,
    bug: Callable[[Patch], None],
    checker: str,
    first: int,
    world_class: Callable[[int], Any],
) -> None:
    """Inject a bug, and run worlds from a seed on until the checker finds it."""
    bug(patch)
    for seed in range(first, first + SEEDS_MAX):
        violations = world_class(seed).run().violations
        if any(violation.startswith(f"{checker}: ") for violation in violations):
            return
    pytest.fail(f"{bug.__doc__} Not found in {SEEDS_MAX} worlds.")
