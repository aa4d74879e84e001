"""New and changed lines of the journal, kept once for all followers.

A line costs a request the same with one follower and with thousands: it is put into one deque, and
is encoded once. The followers get their lines in turns, `FOLLOWERS_PER_TURN` in each, so that they
take a bounded part of the processor's time. One that does not read is in no turn.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter

from broker.journal.journal import Journal
from broker.journal.lines import Line
from protocol.pacing import may_pause

EVENTS_AHEAD_MAX = 1000
"""Most events that are kept for slow followers. They lose older ones, and get their number."""

FOLLOWERS_PER_TURN = 4
EVENTS_PER_TURN = 40
"""Events that each of them gets."""
TURN_S = 0.02
"""Least time from one turn to the next, so that followers cannot slow a busy cluster."""
REST_FACTOR = 9
"""How much longer than the encoding in a turn it takes until the next."""

ENCODED_BYTES_MAX = 16 * 1024
"""Longest event that is kept encoded; a longer one is encoded for each follower."""


@dataclass(slots=True)
class Event:
    """A new or changed line, and its encodings, by whether they have the messages."""

    line: Line
    encoded: dict[bool, bytes] = field(default_factory=dict)


class Follower:
    """A reader of the feed."""

    def __init__(self, feed: "EventFeed", position: int) -> None:
        self._feed = feed
        self.position = position
        """The number of the next event."""
        self.lost_count = 0
        """Events that were dropped before this follower took them, since it was last reset."""

    async def next_events(self) -> list[Event]:
        """Return the next events, at least one, when there are some and it is our turn."""
        return await self._feed.next_events(self)

    def skip_to_newest(self) -> None:
        """Lose all events but those that one turn has room for."""
        skipped = self._feed.end - EVENTS_PER_TURN - self.position
        if skipped > 0:
            self.position += skipped
            self.lost_count += skipped


class EventFeed:
    """The events of a journal for any number of followers."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._events: deque[Event] = deque()
        self.end = 0
        """The number of the event that comes next."""
        self._follower_count = 0
        self._unsubscribe: Callable[[], None] | None = None
        self._caught_up: OrderedDict[asyncio.Future[int], Follower] = OrderedDict()
        self._behind: OrderedDict[asyncio.Future[int], Follower] = OrderedDict()
        """Who waits for a turn, by the future that gets the number of events to take."""
        self._encoding_s = 0.0
        """The time that the encoding took since the last turn."""
        self._rest: asyncio.TimerHandle | None = None
        """Ends when the next turn may begin."""

    @contextmanager
    def follow(self) -> Iterator[Follower]:
        """Return a reader of the events from now on. Without any the feed keeps nothing."""
        if self._unsubscribe is None:
            self._unsubscribe = self._journal.subscribe(self._take)
        self._follower_count += 1
        try:
            yield Follower(self, self.end)
        finally:
            self._follower_count -= 1
            if not self._follower_count:
                self._unsubscribe()
                self._unsubscribe = None
                self._events.clear()

    def _take(self, line: Line) -> None:
        if len(self._events) >= EVENTS_AHEAD_MAX:
            self._events.popleft()
        self._events.append(Event(line))
        self.end += 1
        if self._caught_up:
            self._behind.update(self._caught_up)
            self._caught_up.clear()
            self._give_turns()

    async def next_events(self, follower: Follower) -> list[Event]:
        """Return the next events of a follower; see there."""
        waiting: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if follower.position < self.end:
            self._behind[waiting] = follower
            self._give_turns()
        else:
            self._caught_up[waiting] = follower
        try:
            count = await waiting
        finally:
            self._behind.pop(waiting, None)
            self._caught_up.pop(waiting, None)
        first = self.end - len(self._events)
        if follower.position < first:
            follower.lost_count += first - follower.position
            follower.position = first
        start = follower.position - first
        taken = list(islice(self._events, start, start + count))
        follower.position += len(taken)
        return taken

    def _give_turns(self) -> None:
        """Let those who wait longest take their events, unless the last turn was just now."""
        if self._rest is not None:
            return
        for _ in range(min(FOLLOWERS_PER_TURN, len(self._behind))):
            waiting, follower = self._behind.popitem(last=False)
            if not waiting.done():
                waiting.set_result(min(self.end - follower.position, EVENTS_PER_TURN))
        self._rest_for(TURN_S)

    def _rest_for(self, duration_s: float) -> None:
        self._rest = asyncio.get_running_loop().call_later(duration_s, self._end_rest)

    def _end_rest(self) -> None:
        self._rest = None
        left_s = REST_FACTOR * self._encoding_s - TURN_S
        self._encoding_s = 0.0
        if left_s > 0:
            self._rest_for(left_s)
        elif self._behind:
            self._give_turns()

    @may_pause
    def encoded(self, event: Event, encode: Callable[[Line], bytes], *, has_bodies: bool) -> bytes:
        """Return an event with or without the messages, as `encode` makes it the first time."""
        text = event.encoded.get(has_bodies)
        if text is None:
            begin_s = perf_counter()
            text = encode(event.line)
            self._encoding_s += perf_counter() - begin_s
            if len(text) <= ENCODED_BYTES_MAX:
                event.encoded[has_bodies] = text
        return text
