"""Commands for an adapter, without a lane."""

import itertools
from collections.abc import Mapping
from typing import Any

from atlas.adapter_process import AdapterProcess

Event = Mapping[str, Any]
_TIMEOUT_S = 30


class AdapterDriver:
    """An adapter that runs one command after the other."""

    def __init__(self, process: AdapterProcess) -> None:
        self.process = process
        self.reports: dict[int, Event] = {}
        """The events `delivered` and `undelivered` so far, by the number of the command `send`."""
        self._numbers = itertools.count(1)
        self.number = 0

    def run(self, command: str, **fields: object) -> Event:
        """Run a command to its end, and return the event that ends it."""
        self.number = next(self._numbers)
        self.process.write({"n": self.number, "command": command, **fields})
        while True:
            event = self._next()
            if event.get("n") == self.number:
                return event

    def done(self, command: str, **fields: object) -> Event:
        """The same, for a command that must succeed."""
        event = self.run(command, **fields)
        assert event["event"] == "done", (command, event, self.process.log()[-2000:])
        return event

    def send(self, producer: str, topic: str, value: str) -> int:
        """Send a record to partition 0, and return the number of the command."""
        record = {"topic": topic, "partition": 0, "key": None, "value": value}
        self.done("send", producer=producer, **record)
        return self.number

    def report(self, number: int) -> Event:
        """Return the outcome of a command `send`, which may be still to come."""
        while number not in self.reports:
            self._next()
        return self.reports[number]

    def poll(self, consumer: str, count: int) -> list[tuple[int, str]]:
        """Poll until there are as many records; return their offsets and values."""
        found: list[tuple[int, str]] = []
        for _ in range(20):
            event = self.run("poll", consumer=consumer, records_max=10, timeout_ms=1_000)
            found += [(record["offset"], record["value"]) for record in event.get("records", ())]
            if len(found) >= count:
                return found
        raise AssertionError(found, self.process.log()[-2000:])

    def _next(self) -> Event:
        event = self.process.next_event(_TIMEOUT_S)
        assert event is not None, (self.process.exit_status, self.process.log()[-2000:])
        if "send" in event:
            self.reports[event["send"]] = event
        return event
