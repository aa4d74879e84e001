"""Processes of a simulated world: tasks that end together, with their connections."""

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from simulation.client_transport import ClientTransport

_T = TypeVar("_T")

CURRENT: ContextVar["Process[Any] | None"] = ContextVar("simulated_process", default=None)
"""The process of what runs now; tasks, callbacks and connections inherit it."""


class Process(Generic[_T]):
    """A coroutine with all tasks and connections that it starts, until it is killed."""

    def __init__(self, coroutine: Coroutine[Any, Any, _T]) -> None:
        self.is_killed = False
        self.tasks: list[asyncio.Task[Any]] = []
        """All its tasks that may not have ended, in the order of their start."""
        self.transports: list[ClientTransport] = []
        """All its connections that may be open."""
        context = copy_context()
        context.run(CURRENT.set, self)
        self.task: asyncio.Task[_T] = context.run(asyncio.create_task, coroutine)
        """The task of the coroutine; to wait for it after `kill` raises CancelledError."""

    def kill(self) -> None:
        """End the process as SIGKILL does: its peers get no more bytes, and see a reset.

        Its tasks are cancelled. What they do then reaches nobody.
        """
        self.is_killed = True
        for transport in self.transports:
            transport.abort()
        for task in self.tasks:
            task.cancel()

    def note_task(self, task: asyncio.Task[Any]) -> None:
        """Count a task that has started in this process."""
        self.tasks = [known for known in self.tasks if not known.done()]
        self.tasks.append(task)

    def note_transport(self, transport: "ClientTransport") -> None:
        """Count a connection that this process opens.

        Raises:
            ConnectionRefusedError: the process was killed.
        """
        if self.is_killed:
            raise ConnectionRefusedError("this process was killed")
        self.transports = [known for known in self.transports if not known.is_closing()]
        self.transports.append(transport)
