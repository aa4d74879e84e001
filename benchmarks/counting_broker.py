"""Our broker, which counts by which path it responds to requests, and can do without some paths.

It also measures the CPU time of each read from a client, by the API of the first request in it.
What a request does after it has waited, and event loop and kernel, are not in these times.

python -m benchmarks.counting_broker COUNTS OFF serve [options of serve]

It writes the counts to the file COUNTS when it ends; SIGUSR1 sets them back to zero. OFF names the
paths that it does without, separated by commas, or is "-".
"""

from broker.__main__ import main  # isort: skip - the first, as it is when the broker itself starts

import json
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.dispatch.fetch_replay import FetchReplay
from broker.dispatch.produce_replay import ProduceReplay
from protocol.api_keys import ApiKey
from protocol.framing import SIZE_BYTES, Frame

PRODUCE_REPLAY, FETCH_REPLAY = "produce-replay", "fetch-replay"
PATHS = {PRODUCE_REPLAY: ProduceReplay, FETCH_REPLAY: FetchReplay}
REPLAYED = {ApiKey.PRODUCE: "Produce replayed", ApiKey.FETCH: "Fetch replayed"}


def _wrap(owner: type, name: str, make: Callable[[Any], Any]) -> None:
    """Replace a function by `make(function)`."""
    setattr(owner, name, make(getattr(owner, name)))


def _learn_nothing(*_arguments: object) -> None:
    """Take the place of a function that remembers a request."""


class Counts:
    """Requests by API and by path."""

    def __init__(self, off: frozenset[str]) -> None:
        """Install the counters, and disable the paths that `off` names."""
        self.by_api: Counter[int] = Counter()
        self.by_path: Counter[str] = Counter()
        self.read_ns: defaultdict[int, list[int]] = defaultdict(list)
        """CPU times of the reads."""
        _wrap(Connection, "respond", self._receiving)
        _wrap(Dispatcher, "dispatch", self._dispatching)
        _wrap(ProduceReplay, "respond", self._replaying_produce)
        _wrap(FetchReplay, "respond", self._replaying_fetch)
        for path, replay in PATHS.items():
            if path in off:
                _wrap(replay, "learn", lambda _: _learn_nothing)

    def _receiving(self, receive: Callable[..., Any]) -> Callable[..., Any]:
        read_ns, clock_ns = self.read_ns, time.thread_time_ns

        def timed(connection: Connection, data: bytes, *arguments: Any) -> Any:
            started_ns = clock_ns()
            output = receive(connection, data, *arguments)
            read_ns[int.from_bytes(data[SIZE_BYTES : SIZE_BYTES + 2])].append(
                clock_ns() - started_ns
            )
            return output

        return timed

    def _dispatching(self, dispatch: Callable[..., Any]) -> Callable[..., Any]:
        by_api = self.by_api

        def counted(dispatcher: Dispatcher, frame: Frame, *arguments: Any) -> Any:
            by_api[int.from_bytes(frame[0][frame[1] : frame[1] + 2])] += 1
            return dispatch(dispatcher, frame, *arguments)

        return counted

    def _replaying_produce(self, respond: Callable[..., Any]) -> Callable[..., Any]:
        by_api, by_path = self.by_api, self.by_path

        def counted(replay: Any, data: bytes, *arguments: Any) -> Any:
            result = respond(replay, data, *arguments)
            position, count = 0, 0
            while position < result[0]:
                position += SIZE_BYTES + int.from_bytes(data[position : position + SIZE_BYTES])
                count += 1
            by_api[ApiKey.PRODUCE] += count
            by_path[REPLAYED[ApiKey.PRODUCE]] += count
            return result

        return counted

    def _replaying_fetch(self, respond: Callable[..., Any]) -> Callable[..., Any]:
        by_api, by_path = self.by_api, self.by_path

        def counted(replay: Any, *arguments: Any) -> Any:
            result = respond(replay, *arguments)
            if result is not None:
                by_api[ApiKey.FETCH] += 1
                by_path[REPLAYED[ApiKey.FETCH]] += 1
            return result

        return counted

    def clear(self) -> None:
        """Set all counts back to zero."""
        self.by_api.clear()
        self.by_path.clear()
        self.read_ns.clear()

    def as_dict(self) -> dict[str, dict[str, float]]:
        """Return the counts by the names of the APIs and of the paths, and median times in µs."""
        return {
            "by_api": {ApiKey(key).name: count for key, count in self.by_api.items()},
            "by_path": dict(self.by_path),
            "read_us": {
                key.name: median(self.read_ns[key]) / 1000
                for key in (ApiKey.PRODUCE, ApiKey.FETCH)
                if self.read_ns[key]
            },
        }


def run(counts_file: Path, off: frozenset[str], arguments: list[str]) -> int:
    """Run a command of the broker with counters; return its exit status."""
    counts = Counts(off)
    signal.signal(signal.SIGUSR1, lambda *_: counts.clear())
    status = main(arguments)
    counts_file.write_text(json.dumps(counts.as_dict()), encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), frozenset(sys.argv[2].split(",")), sys.argv[3:]))
