"""Describe the tasks of an event loop: what each waits for, with the lines of its coroutines."""

import asyncio
from types import CodeType, FrameType
from typing import Any

LINES_MAX = 20


def describe_tasks(loop: asyncio.AbstractEventLoop) -> str:
    """Return one paragraph for each task that is not done, in the order of their start."""
    tasks = sorted(asyncio.all_tasks(loop), key=hash)
    shown = "".join(f"\n{_described(task)}" for task in tasks)
    return f"{len(tasks)} tasks wait:{shown}"


def _described(task: asyncio.Task[Any]) -> str:
    lines = [f"  {task.get_name()}:"]
    awaited: Any = task.get_coro()
    while awaited is not None and len(lines) <= LINES_MAX:
        frame, code, following = _parts_of(awaited)
        if code is None:
            lines.append(f"    waits for {awaited!r}")
            break
        place = code.co_firstlineno if frame is None else frame.f_lineno
        lines.append(f"    {code.co_filename}:{place} in {code.co_qualname}")
        awaited = following
    return "\n".join(lines)


def _parts_of(awaited: Any) -> tuple[FrameType | None, CodeType | None, Any]:
    """Return the frame and the code of a coroutine or generator, and what it waits for."""
    for prefix in ("cr", "gi", "ag"):
        code = getattr(awaited, f"{prefix}_code", None)
        if code is not None:
            following = getattr(awaited, f"{prefix}_await" if prefix != "gi" else "gi_yieldfrom")
            return getattr(awaited, f"{prefix}_frame"), code, following
    return None, None, None
