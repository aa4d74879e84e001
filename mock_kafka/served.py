"""What a cluster, a proxy and a container have in common: they serve until they are stopped."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Self

from mock_kafka.config_value import ConfigValue
from mock_kafka.control import Control

if TYPE_CHECKING:  # `in_process` imports the broker
    from mock_kafka.broker_process import BrokerProcess
    from mock_kafka.in_process import BrokerThread

__tracebackhide__ = True  # pytest shows the line of the caller

STOP_TIMEOUT_S = 5.0


class Served(ABC):
    """It has an admin port, and is used in a with statement."""

    def __init__(self, config: Mapping[str, ConfigValue] | None) -> None:
        self.config = dict(config or {})
        self._control: Control | None = None

    @property
    @abstractmethod
    def control(self) -> Control:
        """The admin port, for requests without a method."""

    @property
    def admin_url(self) -> str:
        """The URL of the admin port: a web page, and the HTTP API of docs/admin.md.

        Raises:
            RuntimeError: it is not running, or has no admin port.
        """
        return self.control.url

    @abstractmethod
    def start(self) -> Self:
        """Start it; return when it accepts connections."""

    @abstractmethod
    def stop(self) -> None:
        """Stop it; do nothing if it is not running."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _open_control(self, url: str) -> Control:
        """Return the admin port at a URL, with the token of the configuration."""
        token = self.config.get("broker.admin.token")
        return Control(url, None if token is None else str(token))

    def _close_control(self) -> None:
        control, self._control = self._control, None
        if control is not None:
            control.close()


class ServedProcess(Served):
    """It runs in another process, or in a thread of this one."""

    _not_running: ClassVar[str]
    """What a method says that needs it to be running."""

    def __init__(self, config: Mapping[str, ConfigValue] | None) -> None:
        super().__init__(config)
        self._process: BrokerProcess | BrokerThread | None = None
        self._last_log_lines: list[str] = []

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of every broker or of the proxy, for the configuration of a client.

        They are comma-separated.

        Raises:
            RuntimeError: it is not running.
        """
        return self._running().bootstrap_servers

    @property
    def pid(self) -> int:
        """The id of the process, to measure or to kill it."""
        return self._running().pid

    @property
    def is_running(self) -> bool:
        """Whether it was started and its process still runs."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Stop it, and delete what it stores; do nothing if it is not running."""
        process, self._process = self._process, None
        self._close_control()
        if process is not None:
            process.end(STOP_TIMEOUT_S)
            self._last_log_lines = process.log_lines()

    def log_lines(self) -> list[str]:
        """Return the lines of the log, oldest first, also after `stop`."""
        return self._process.log_lines() if self._process else list(self._last_log_lines)

    def _running(self) -> "BrokerProcess | BrokerThread":
        if self._process is None:
            raise RuntimeError(self._not_running)
        return self._process

    def _check_stopped(self) -> None:
        if self._process is not None:
            raise RuntimeError(f"{self!r} was started already")
