"""Run blocking functions in a thread, from a coroutine of asyncio or trio.

It recognises trio without importing it: only a program that has imported trio runs on it.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


async def run_in_thread(
    function: Callable[_P, _R], /, *arguments: _P.args, **named: _P.kwargs
) -> _R:
    """Return what the function returns; a cancelled caller does not wait for its end."""
    trio = _running_trio()
    if trio is not None:
        call = partial(function, *arguments, **named)
        result: _R = await trio.to_thread.run_sync(call, abandon_on_cancel=True)
        return result
    from asyncio import to_thread  # noqa: PLC0415 - a slow import that few need

    return await to_thread(function, *arguments, **named)


async def finish_in_thread(function: Callable[[], _R]) -> _R:
    """Return what the function returns; it is run to its end even if the caller was cancelled."""
    trio = _running_trio()
    if trio is None:
        return await run_in_thread(function)
    with trio.CancelScope(shield=True):
        result: _R = await trio.to_thread.run_sync(function)
    return result


def _running_trio() -> Any:
    """Return the package trio if a task of trio runs in this thread, else None."""
    trio = sys.modules.get("trio")
    if trio is None:
        return None
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return None
    return trio
