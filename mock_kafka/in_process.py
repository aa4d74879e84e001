"""The broker in a thread of the user's own process, with an event loop to itself.

The one place of this package that imports the broker: a program that asks for it has the broker's
packages, and `broker.py` files that are found before ours, in the same interpreter.
"""

import asyncio
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mock_kafka.broker_process import ADMIN_LINE_PREFIX, FIRST_LINE_PREFIX, StartError
from mock_kafka.broker_process import FURTHER_LINE_PREFIX as FURTHER

if TYPE_CHECKING:  # `_options` first checks whose `broker` is found
    from broker.faults.hook import PlainHook
    from broker.serve import ServeOptions
    from broker.server.server import Server

_OUR_FOLDER = Path(__file__).resolve().parent.parent


class BrokerThread:
    """One broker that is up, from the moment it is constructed until `end`.

    Looks like a `BrokerProcess`. Its log goes where structlog of this process sends it.
    """

    def __init__(self, arguments: Sequence[str], start_timeout_s: float) -> None:
        """Start the broker with the arguments of `mock-kafka`, until it accepts connections.

        Raises:
            StartError: it did not start; the message says why.
        """
        options = _options(arguments)
        self._started = threading.Event()
        self._error: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event | None = None
        self._server: Server | None = None
        self._lines: dict[str, str] = {}
        self._thread = threading.Thread(
            target=self._run, args=(options,), name="mock-kafka", daemon=True
        )
        self._thread.start()
        if not self._started.wait(start_timeout_s):
            raise StartError(f"the broker said nothing for {start_timeout_s} s")
        if self._error is not None:
            raise StartError(f"the broker did not start: {self._error}") from self._error

    @property
    def pid(self) -> int:
        """The id of this process."""
        return os.getpid()

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of every broker, comma-separated."""
        return self._lines[FIRST_LINE_PREFIX.rstrip("=")]

    @property
    def admin_url(self) -> str:
        """Where the admin port listens.

        Raises:
            KeyError: it was started without one.
        """
        return self._lines[ADMIN_LINE_PREFIX.rstrip("=")]

    def bootstrap_servers_of(self, listener: str) -> str:
        """The addresses of a further listener.

        Raises:
            KeyError: there is no such listener besides the first one.
        """
        return self._lines[FURTHER + listener]

    def poll(self) -> int | None:
        """None while it runs, 0 afterwards."""
        return None if self._thread.is_alive() else 0

    def set_hook(self, function: "PlainHook | None") -> None:
        """Have a function see every request before it is handled; None for none."""
        from broker.faults.hook import hook_of  # noqa: PLC0415

        assert self._loop is not None
        assert self._server is not None
        faults = self._server.dispatcher.faults
        hook = None if function is None else hook_of(function, faults.topic_name)

        async def set_it() -> None:
            faults.set_hook(hook)

        asyncio.run_coroutine_threadsafe(set_it(), self._loop).result()

    def log_lines(self) -> list[str]:
        """None: they go where structlog of this process sends them."""
        return []

    def end(self, timeout_s: float) -> int:
        """Stop it; returns 0, or 1 when it still stops after `timeout_s`."""
        if self._loop is not None and self._stopped is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(timeout_s)
        return int(self._thread.is_alive())

    def _run(self, options: "ServeOptions") -> None:
        try:
            asyncio.run(self._serve(options))
        except Exception as error:  # noqa: BLE001 - the thread that waits raises it
            self._error = error
        self._started.set()

    async def _serve(self, options: "ServeOptions") -> None:
        from broker.serve import (  # noqa: PLC0415
            bind_admin_port,
            bootstrap_lines,
            serve_admin_port,
            start_server,
        )

        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        self._server = server = await start_server(options)
        lines = bootstrap_lines(server.cluster)
        admin_port = None
        try:
            admin_socket = None
            if options.admin_port is not None:
                admin_socket = bind_admin_port(options, server)
                lines.append(f"{ADMIN_LINE_PREFIX}{admin_socket.url}")
            for line in lines:
                key, _, value = line.partition("=")
                self._lines[key] = value
            self._started.set()
            if admin_socket is not None:
                admin_port = await serve_admin_port(admin_socket, options, server)
            await self._stopped.wait()
        finally:
            if admin_port is not None:
                await admin_port.stop()
            await server.stop()


def _options(arguments: Sequence[str]) -> "ServeOptions":
    import broker  # noqa: PLC0415 - only who asks for it in this process loads it

    found = Path(broker.__file__ or "?").resolve()
    if not found.is_relative_to(_OUR_FOLDER):
        raise StartError(
            f"`import broker` finds {found}, not mock-kafka's: leave in_process=True out, a process"
            " of its own is not disturbed by it"
        )
    import structlog  # noqa: PLC0415

    from broker import cli, serve  # noqa: PLC0415
    from broker.config.keys import ConfigError  # noqa: PLC0415

    try:
        options = cli.serve_options(cli.build_parser().parse_args(arguments))
    except ConfigError as error:
        raise StartError(f"the broker did not start: {error}") from error
    if not structlog.is_configured():
        serve.configure_logging(options.log_level, options.log_format)
    return options
