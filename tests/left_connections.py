"""Connections that an aiokafka client leaves to the garbage collector.

A client that is stopped while it connects may lose a connection. Python warns of its socket in the
test that runs when the garbage is collected, and that test fails with warnings as errors.
"""

import functools
import gc
import sys
import warnings
import weakref
from typing import Any


class LeftConnections:
    """Know the connections that aiokafka opens, and collect those that a test left open."""

    def __init__(self) -> None:
        self._opened: weakref.WeakSet[Any] = weakref.WeakSet()
        self._is_watching = False

    def watch(self) -> None:
        """Note all connections that aiokafka opens from now on; without aiokafka do nothing."""
        module = sys.modules.get("aiokafka.conn")
        if self._is_watching or module is None:
            return
        self._is_watching = True
        connection_class, opened = module.AIOKafkaConnection, self._opened
        initialize = connection_class.__init__

        @functools.wraps(initialize)
        def note(connection: Any, *args: Any, **options: Any) -> None:
            initialize(connection, *args, **options)
            opened.add(connection)

        connection_class.__init__ = note

    def collect(self) -> int:
        """Collect garbage without warnings when a connection is open; return how many were."""
        open_count = sum(bool(connection.connected()) for connection in self._opened)
        if open_count:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                gc.collect()
        return open_count
