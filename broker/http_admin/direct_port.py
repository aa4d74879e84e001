"""The admin port without HTTP, for callers on the event loop of the cluster."""

from functools import partial
from inspect import isasyncgenfunction, iscoroutinefunction
from typing import Any
from urllib.parse import parse_qsl, unquote

from broker.http_admin.json_parts import json_parts
from broker.http_admin.operation import OPERATIONS, Operation, Problem
from broker.http_admin.state import Admin
from protocol.pacing import may_pause

PROBLEM_TYPE = "application/problem+json"


async def result_of(admin: Admin, op: Operation, arguments: dict[str, Any]) -> list[bytes]:
    """Carry an operation out; return the parts of the body of its response.

    Raises:
        Problem: it is refused.
    """
    respond = partial(op.handler, admin, **arguments)
    has_to_wait = iscoroutinefunction(op.handler)
    awaited = await respond() if has_to_wait else None

    def work() -> list[bytes]:
        return _encoded(op, awaited if has_to_wait else respond())

    return work() if op.turn_kind is None else await admin.in_turns(work, op.turn_kind)


@may_pause
def _encoded(op: Operation, result: Any) -> list[bytes]:
    """Return the parts of a body; may pause."""
    if op.media_type is None:
        return []
    return [result.encode()] if isinstance(result, str) else json_parts(result, op.opened)


class DirectPort:
    """Carries out operations by their method and path."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    async def respond(self, method: str, target: str, body: bytes | None) -> tuple[int, str, bytes]:
        """Return the status, the media type and the body of the response to a request.

        `target` is the path with its query, as in HTTP.
        """
        path, _, query = target.partition("?")
        try:
            op, values = _operation(method, path)
            self._admin.check_operation(op.operation_id)
            arguments = op.read_input(values, dict(parse_qsl(query)), body or b"")
            if isasyncgenfunction(op.handler):
                parts = [part async for part in op.handler(self._admin, **arguments)]
            else:
                parts = await result_of(self._admin, op, arguments)
        except Problem as problem:
            return problem.status, PROBLEM_TYPE, problem.document()
        return op.status, op.media_type or "", b"".join(parts)

    @may_pause
    def respond_at_once(
        self, method: str, target: str, body: bytes | None
    ) -> tuple[int, str, bytes]:
        """Return the response as `respond` does, without a wait; requests in turns end first.

        Raises:
            RuntimeError: the operation waits for something else.
        """
        response = self.respond(method, target, body)
        try:
            response.send(None)
            self._admin.server.dispatcher.turns.finish_all()
            response.send(None)
        except StopIteration as finished:
            result: tuple[int, str, bytes] = finished.value
            return result
        response.close()
        raise RuntimeError(f"{method} {target} waits: it needs a coroutine")


def _operation(method: str, path: str) -> tuple[Operation, dict[str, str]]:
    """Return the operation at a path, and the values of the names in its path."""
    segments = path.split("/")
    for op in OPERATIONS:
        names = op.path.split("/")
        if op.method != method or len(names) != len(segments):
            continue
        values: dict[str, str] = {}
        for name, segment in zip(names, segments, strict=True):
            if name.startswith("{") and name.endswith("}"):
                values[name[1:-1]] = unquote(segment)
            elif name != segment:
                break
        else:
            return op, values
    raise Problem(404, f"there is nothing at {method} {path}")
