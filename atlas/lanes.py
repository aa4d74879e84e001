"""The lanes of one process, from task to task: a client and a cluster start slowly."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from atlas.lane import Lane

SPARE_LANES = 2
"""How many a process keeps besides those of a task, whose next one may be of another client."""


class Lanes:
    """Lanes by their client; several threads may use them."""

    def __init__(self, lanes_max: int) -> None:
        self._lanes_max = lanes_max
        self._lock = threading.Lock()
        self._idle: list[tuple[str, Lane]] = []
        """The one that was not used for longest comes first."""

    @contextmanager
    def lane(self, client: str) -> Iterator[Lane]:
        """Lend a lane of a client; one that has raised an exception is closed.

        Raises:
            KeyError: there is no such client.
        """
        lane = self._taken(client) or Lane(client)
        try:
            yield lane
        except BaseException:
            lane.close()
            raise
        with self._lock:
            self._idle.append((client, lane))
            surplus = self._idle[: -self._lanes_max]
            del self._idle[: -self._lanes_max]
        for _, old in surplus:
            old.close()

    def _taken(self, client: str) -> Lane | None:
        with self._lock:
            for index, (name, lane) in enumerate(self._idle):
                if name == client:
                    del self._idle[index]
                    return lane
        return None

    def close(self) -> None:
        """Close the lanes that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, lane in idle:
            lane.close()
