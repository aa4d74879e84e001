"""The log as structlog has it, for tests: a cluster in this process may have configured it."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog


@contextmanager
def default_log() -> Iterator[None]:
    """Write lines of all levels, and restore the configuration at the end."""
    before = structlog.get_config()
    structlog.reset_defaults()
    try:
        yield
    finally:
        structlog.configure(**before)
