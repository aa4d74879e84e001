"""The log of the broker.

structlog is imported with the first line that is written, since its import takes a good part of
the start, and 7 MB.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_LEVELS = ("debug", "info", "warning", "error", "critical")


class Log:
    """The logger of structlog for our name."""

    def __init__(self) -> None:
        self.before_first_line: Callable[[], None] | None = None
        """Configures structlog; called once, before the first line."""
        self.level = "debug"
        """Lines below this level are not written."""

    def __getattr__(self, name: str) -> Any:
        """Return a method of the logger, such as `info`."""
        if name in _LEVELS[: _LEVELS.index(self.level)]:
            return _write_nothing
        if self.before_first_line is not None:
            self.before_first_line()
            self.before_first_line = None
        import structlog  # noqa: PLC0415 - see the module's docstring

        return getattr(structlog.get_logger("mock_kafka"), name)


def _write_nothing(_event: str, **_fields: object) -> None:
    """Stand in for a method whose lines are below the level."""


log = Log()
