"""The broker in a thread of the user's process, with its own event loop.

Only this module of the package imports the broker into the user's process. A `broker.py` of the
user may be found before ours there.
"""

import asyncio
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mock_kafka.broker_process import StartError
from mock_kafka.missing_requirements import explanation
from mock_kafka.printed_lines import ADMIN_URL, PrintedLines
from mock_kafka.quiet_imports import quiet_imports

if TYPE_CHECKING:  # `_options` first checks which `broker` is found
    from broker.faults.hook import PlainHook
    from broker.serve import ServeOptions
    from broker.server.server import Server

_OUR_FOLDER = Path(__file__).resolve().parent.parent


class BrokerThread(PrintedLines):
    """A running broker, from its construction to `end`.

    It has the interface of `BrokerProcess`. Its log goes to the structlog of this process.
    """

    def __init__(self, arguments: Sequence[str], start_timeout_s: float) -> None:
        """Start the broker with the arguments of `mock-kafka`; return when it accepts connections.

        Raises:
            StartError: the broker did not start; the message has the reason.
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
            raise StartError(f"the broker did not start within {start_timeout_s} s")
        if self._error is not None:
            raise StartError(f"the broker did not start: {self._error}") from self._error

    @property
    def pid(self) -> int:
        """The id of this process."""
        return os.getpid()

    def value_of(self, key: str) -> str:
        """Return the value of a line that a process would print."""
        return self._lines[key]

    def renew(self, values: Mapping[str, str]) -> None:
        """Change the values of lines."""
        self._lines |= values

    def poll(self) -> int | None:
        """Return None while the broker runs, 0 afterwards."""
        return None if self._thread.is_alive() else 0

    def set_hook(self, function: "PlainHook | None") -> None:
        """Call a function for every request before it is handled; None removes it."""
        from broker.faults.hook import hook_of  # noqa: PLC0415

        assert self._loop is not None
        assert self._server is not None
        faults = self._server.dispatcher.faults
        hook = None if function is None else hook_of(function, faults.topic_name)

        async def set_hook() -> None:
            faults.set_hook(hook)

        asyncio.run_coroutine_threadsafe(set_hook(), self._loop).result()

    def log_lines(self) -> list[str]:
        """Return no lines: the log goes to the structlog of this process."""
        return []

    def end(self, timeout_s: float) -> int:
        """Stop the broker; return 0, or 1 if it has not stopped after `timeout_s`."""
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
            security_lines,
            serve_admin_port,
            start_server,
        )

        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        self._server = server = await start_server(options)
        lines = bootstrap_lines(server)
        admin_port = None
        try:
            admin_socket = None
            if options.admin_port is not None:
                admin_socket = bind_admin_port(options, server)
                lines.append(f"{ADMIN_URL}={admin_socket.url}")
            for line in (*lines, *security_lines(server)):
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
    import broker  # noqa: PLC0415 - only in_process=True loads it here

    found = Path(broker.__file__ or "?").resolve()
    if not found.is_relative_to(_OUR_FOLDER):
        raise StartError(
            f"`import broker` finds {found}, not mock-kafka's: remove in_process=True, because a"
            " separate process is not affected by it"
        )
    try:
        with quiet_imports():
            import structlog  # noqa: PLC0415

            from broker import cli, serve  # noqa: PLC0415
            from broker.config.keys import ConfigError  # noqa: PLC0415
    except ImportError as error:
        reason = explanation() or str(error)
        raise StartError(f"in_process=True can't run the broker here: {reason}") from error

    try:
        options = cli.serve_options(cli.build_parser().parse_args(arguments))
    except ConfigError as error:
        raise StartError(f"the broker did not start: {error}") from error
    if not structlog.is_configured():
        serve.configure_logging(options.log_level, options.log_format)
    return options
