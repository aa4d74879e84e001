"""Keep the logs of clients, which are full of provoked errors, out of the tables."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

ISOLATED = logging.getLogger("scenarios.silent")
"""For clients that accept a logger."""
ISOLATED.addHandler(logging.NullHandler())
ISOLATED.propagate = False

_LOGGERS = ("kafka", "aiokafka")


@contextmanager
def silenced() -> Iterator[None]:
    """Silence kafka-python and aiokafka within the `with` block."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
