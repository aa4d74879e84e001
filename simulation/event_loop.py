"""An asyncio event loop in virtual time, on a simulated network.

A turn of the loop takes a microsecond. When no callback is ready, the time moves to the next timer
at once. Timers of the same time run in the order in which they were set. There are no sockets,
threads or processes: `create_connection` and `create_server` use the network, and an executor runs
its function at once. Tasks and futures hash by their number, not by their address, so that a set of
them has the same order in each run.
"""

import asyncio
import gc
import heapq
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, TypeVar, TypeVarTuple, cast

from simulation.calls import SimulatedCall, SimulatedTimer
from simulation.client_transport import ClientTransport
from simulation.network import Link, Network, ServerTransport
from simulation.process import CURRENT
from simulation.timeline import SocketAddress
from simulation.waiting_tasks import describe_tasks

START_MS = 1_700_000_000_000
"""When every simulation begins, in ms since the epoch."""
START_S = 1_000.0
"""The loop's own time at that moment: like a machine's, it does not begin at 0."""
TURN_S = 1e-6
"""What a turn of the loop takes. Code that compares two readings of a clock expects progress."""
TURNS_MAX = 1_000_000
"""Turns of the loop without one that waits, after which it is taken for an endless loop."""
COLLECTION_TURNS = 100_000
"""Turns of the loop between two runs of the garbage collector, which runs at no other time."""
NS_PER_S = 1_000_000_000
RESOLUTION_S = 1e-9
"""Timers that are due within this time run in one turn."""
CANCELLED_MAX = 100
"""Timers that may have been cancelled before any are forgotten at once."""
CLIENT_HOST = "127.0.0.1"

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")


class DeadlockError(RuntimeError):
    """Nothing can ever happen again; the message lists the tasks that wait, and where."""


class TimeLimitError(TimeoutError):
    """The limit of virtual time was reached; the message lists the tasks that wait, and where."""


class SimulatedTask(asyncio.Task[_T]):
    """A task that hashes by its number."""

    number: int

    def __hash__(self) -> int:
        return self.number


class SimulatedFuture(asyncio.Future[_T]):
    """A future that hashes by its number."""

    number: int

    def __hash__(self) -> int:
        return self.number


@dataclass(slots=True)
class SimulatedListener:
    """What `create_server` returns: a server of the simulated network."""

    loop: "SimulatedLoop"
    address: tuple[str, int]
    sockets: tuple[()] = ()

    def close(self) -> None:
        """Refuse connections from now on."""
        self.loop.listeners.pop(self.address, None)

    def is_serving(self) -> bool:
        """Return whether it accepts connections."""
        return self.address in self.loop.listeners

    async def wait_closed(self) -> None:
        """Return at once: `close` is complete when it returns."""

    async def start_serving(self) -> None:
        """Do nothing: it serves from the start."""

    async def __aenter__(self) -> "SimulatedListener":
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.close()


class SimulatedLoop(asyncio.BaseEventLoop):
    """The event loop of one simulated world."""

    _ready: deque[SimulatedCall]
    _scheduled: list[tuple[float, int, SimulatedTimer]]
    """The timers as a heap, by time and by the order in which they were set."""
    _closed: bool
    _stopping: bool
    _check_closed: Callable[[], None]

    def __init__(self, limit_s: float) -> None:
        """The loop raises a TimeLimitError after `limit_s` of virtual time."""
        self._now_s = START_S
        super().__init__()
        self._limit_s = START_S + limit_s
        self.network: Network | None = None
        self.listeners: dict[tuple[str, int], Callable[[], Any]] = {}
        """The servers of `create_server` by host and port."""
        self.is_dead: Callable[[SimulatedTimer], bool] = lambda _timer: False
        """Whether nothing can ever happen but the only timer that is left, and what follows it."""
        self._numbers = count(1)
        self._turn_count = self._turns_now = self._cancelled_count = 0
        self.set_task_factory(cast("Any", self._new_task))

    # Time --------------------------------------------------------------------------------------

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._now_s

    def allow(self, more_s: float) -> None:
        """Set the limit of virtual time to `more_s` from now."""
        self._limit_s = self._now_s + more_s
        self._turns_now = 0

    def sleep(self, delay_s: float) -> None:
        """Move the time as a blocking call does: nothing else happens until then."""
        self._now_s += max(0.0, delay_s)

    def now_ms(self) -> int:
        """Return the virtual time in ms since the epoch."""
        return START_MS + int((self._now_s - START_S) * 1000 + 1e-6)

    time_ms = property(now_ms)

    def now_ns(self) -> int:
        """Return the virtual time in nanoseconds."""
        return int(self._now_s * NS_PER_S)

    # Calls -------------------------------------------------------------------------------------

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> SimulatedCall:
        """Schedule a call for the next turn."""
        if self._closed:
            self._check_closed()
        call = SimulatedCall(callback, args, context)
        self._ready.append(call)
        return call

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> SimulatedTimer:
        """Schedule a call after a delay in seconds."""
        if self._closed:
            self._check_closed()
        when_s = self._now_s + delay
        timer = SimulatedTimer(self, when_s, callback, args, context)
        heapq.heappush(self._scheduled, (when_s, next(self._numbers), timer))
        return timer

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> SimulatedTimer:
        """Schedule a call at a time of `time()`."""
        if self._closed:
            self._check_closed()
        timer = SimulatedTimer(self, when, callback, args, context)
        heapq.heappush(self._scheduled, (when, next(self._numbers), timer))
        return timer

    def at(self, time_ms: int, callback: Callable[[], None]) -> SimulatedTimer:
        """Call a function at a time in ms since the epoch, or soon if that has passed."""
        when_s = START_S + (time_ms - START_MS) / 1000
        timer = SimulatedTimer(self, when_s, callback, (), None)
        heapq.heappush(self._scheduled, (when_s, next(self._numbers), timer))
        return timer

    def after(self, delay_ms: int, callback: Callable[[], None]) -> SimulatedTimer:
        """Call a function after a delay in ms."""
        return self.call_later(delay_ms / 1000, callback)

    def note_cancelled(self) -> None:
        """Count a timer that was cancelled; if most of them are, forget them."""
        self._cancelled_count += 1
        timers = self._scheduled
        if self._cancelled_count > CANCELLED_MAX and self._cancelled_count * 2 > len(timers):
            timers[:] = [entry for entry in timers if not entry[2].is_cancelled]
            heapq.heapify(timers)
            self._cancelled_count = 0

    # Hot path: inlined on purpose.
    def _run_once(self) -> None:  # noqa: C901, PLR0912
        """Take turns until `stop` is called.

        A turn moves the time, and makes the calls that are due, but none of those that they add.
        """
        ready, timers = self._ready, self._scheduled
        while True:
            while timers and timers[0][2].is_cancelled:
                heapq.heappop(timers)
                self._cancelled_count -= 1
            now_s = self._now_s
            if ready or self._stopping or (timers and timers[0][0] <= now_s):
                now_s += TURN_S
                self._turns_now += 1
                if self._turns_now > TURNS_MAX:
                    raise DeadlockError(
                        f"tasks run without end: {TURNS_MAX} turns of the event loop without one"
                        f" that waits for a timer; {describe_tasks(self)}"
                    )
            else:
                if len(timers) - self._cancelled_count < 2:
                    self._check_life()
                self._turns_now = 0
                now_s = max(now_s + TURN_S, timers[0][0])
                if now_s > self._limit_s:
                    self._end()
            self._now_s = now_s
            self._turn_count += 1
            if self._turn_count % COLLECTION_TURNS == 0:
                gc.collect()
            due_s = now_s + RESOLUTION_S
            while timers and timers[0][0] < due_s:
                timer = heapq.heappop(timers)[2]
                if timer.is_cancelled:
                    self._cancelled_count -= 1
                else:
                    timer.loop = None
                    ready.append(timer)
                del timer  # nothing is kept alive for longer than asyncio's loop does
            for _ in range(len(ready)):
                call = ready.popleft()
                try:
                    call.context.run(call.callback, *call.args)
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as error:  # noqa: BLE001 - as asyncio's own
                    self.call_exception_handler(
                        {"message": f"Exception in {call!r}", "exception": error, "handle": call}
                    )
                del call
            if self._stopping:
                return

    def _check_life(self) -> None:
        """Raise a DeadlockError if the last timer does nothing, or if there is none."""
        timers = self._scheduled
        if not timers or self.is_dead(timers[0][2]):
            raise DeadlockError(f"nothing can ever happen again; {describe_tasks(self)}")

    def _end(self) -> None:
        """Raise a TimeLimitError."""
        passed_s = self._limit_s - START_S
        self._now_s = self._limit_s
        raise TimeLimitError(
            f"the limit of {passed_s:g} virtual seconds is reached; {describe_tasks(self)}"
        )

    # Tasks and futures -------------------------------------------------------------------------

    def _new_task(
        self,
        _loop: asyncio.AbstractEventLoop,
        coroutine: Coroutine[Any, Any, _T] | Generator[Any, Any, _T],
        **options: Any,
    ) -> SimulatedTask[_T]:
        number = next(self._numbers)
        name = options.pop("name", None) or f"Task-{number}"
        task: SimulatedTask[_T] = SimulatedTask.__new__(SimulatedTask)
        task.number = number  # its `__init__` registers it in a set
        task.__init__(coroutine, loop=self, name=name, **options)  # type: ignore[misc]
        process = CURRENT.get()
        if process is not None:
            process.note_task(task)
        return task

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future that hashes by its number."""
        future: SimulatedFuture[Any] = SimulatedFuture(loop=self)
        future.number = next(self._numbers)
        return future

    def run_in_executor(  # type: ignore[override]
        self, _executor: Any, func: Callable[[*_Ts], _T], *args: *_Ts
    ) -> Awaitable[_T]:
        """Run a function now, and return a future with its result."""
        future: asyncio.Future[_T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - the caller gets it
            future.set_exception(error)
        return future

    # The network -------------------------------------------------------------------------------

    async def getaddrinfo(self, host: Any, port: Any, **_hints: Any) -> list[Any]:
        """Return the host itself as its only address."""
        name = host.decode() if isinstance(host, bytes) else host or CLIENT_HOST
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (name, int(port)))]

    async def getnameinfo(self, sockaddr: Any, _flags: int = 0) -> tuple[str, str]:
        """Return the host and the port of an address."""
        return sockaddr[0], str(sockaddr[1])

    async def create_connection(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str | None = None,
        port: int | None = None,
        *,
        ssl: object = None,
        sock: object = None,
        **_options: object,
    ) -> tuple[ClientTransport, asyncio.BaseProtocol]:
        """Connect over the simulated network.

        Raises:
            ConnectionRefusedError: nobody listens there, or the network refuses.
            NotImplementedError: for TLS, and for a socket of the caller.
        """
        if ssl or sock is not None or self.network is None:
            raise NotImplementedError("a simulated network has neither TLS nor sockets")
        opened: asyncio.Future[None] = self.create_future()
        protocol = protocol_factory()
        transport = ClientTransport(self, protocol, opened)
        address = _Address(host or CLIENT_HOST, int(port or 0))
        process = CURRENT.get()
        if process is not None:
            process.note_transport(transport)
        transport.connect(self.network, CLIENT_HOST, address)
        try:
            await opened
        except BaseException:
            transport.abort()
            raise
        return transport, protocol

    async def create_server(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], Any],
        host: str | None = None,
        port: int | None = None,
        **_options: object,
    ) -> SimulatedListener:
        """Accept connections of the simulated network at a host and port."""
        address = (host or CLIENT_HOST, int(port or 0))
        if address in self.listeners:
            raise OSError(f"{address[0]}:{address[1]} is in use")
        self.listeners[address] = protocol_factory
        return SimulatedListener(self, address)

    def accept(self, link: Link, address: SocketAddress) -> ServerTransport | None:
        """Accept a connection to a server of `create_server`; None if there is none."""
        factory = self.listeners.get((address.host, address.port))
        if factory is None:
            return None
        protocol = factory()
        transport = ServerTransport(link, protocol)
        link.arrive(transport)
        self.call_soon(partial(protocol.connection_made, transport))
        return transport

    def __del__(self) -> None:
        """Say nothing of a loop that was not closed: it holds nothing of the system."""


@dataclass(frozen=True, slots=True)
class _Address:
    host: str
    port: int
