"""The log of the broker.

structlog is imported with the first line, since its import takes a good part of the start.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Log:
    """The logger of structlog for our name."""

    def __init__(self) -> None:
        self.before_first_line: Callable[[], None] | None = None
        """Configures structlog; called once, before the first line."""

    def __getattr__(self, name: str) -> Any:
        """Return a method of the logger, such as `info`."""
        if self.before_first_line is not None:
            self.before_first_line()
            self.before_first_line = None
        import structlog  # noqa: PLC0415 - see the module's docstring

        return getattr(structlog.get_logger("mock_kafka"), name)


log = Log()
