"""Requests that pause at random, so that other requests come in between.

The broker pauses a request that has worked for 3 ms. Here time plays no part: in some worlds half
of the requests pause with some probability wherever they may, and then rest. The others run in one
go, some of them during these pauses. In some of these worlds each place, a function with a loop
that pauses, has a separate probability: requests pause in few functions there, and often.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any
from unittest.mock import patch

from broker.cluster import made_partitions
from broker.dispatch.dispatcher import Dispatcher
from broker.dispatch.turn_queue import TurnKind
from broker.dispatch.turns import TURN_NS, Turns
from broker.handlers import k00_produce
from broker.responses import DispatchResult
from protocol import codec, pacing, produce, produce_decoder
from tests.pausing_frames import unmarked_function

LONG_SHARE = 0.5
"""The part of the requests that pause."""
_OF_PAUSES = frozenset({__file__, pacing.__file__})


def _place() -> str:
    """Return the function whose loop looks at the time: its module and its name."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename in _OF_PAUSES:
        assert frame.f_back is not None
        frame = frame.f_back
    module = frame.f_globals.get("__name__", "generated")
    return f"{module}.{frame.f_code.co_qualname.partition('.<locals>')[0]}"


def _each_number(stop: int, turn: pacing.Turn) -> Iterator[int]:
    for number in range(stop):
        turn.pause()
        yield number


def _each_item(items: Iterable[object], turn: pacing.Turn, _look_every: int) -> Iterator[object]:
    for item in items:
        turn.pause()
        yield item


class Pauses:
    """Whether and how often the requests of a world pause."""

    share = 0.3
    """The part of the worlds in which requests pause."""
    chances: Sequence[float] = (0.02, 0.1, 0.3)
    rests_ms: Sequence[int] = (0, 0, 1, 3, 10)
    short_rests_ms: Sequence[int] = (0, 0, 1)
    long_body_bytes: Sequence[int] = (100, 250, codec.LONG_BODY_BYTES)
    """A Produce request may pause if its body is longer."""
    places_share = 0.3
    """The part of these worlds in which each place has its own chance."""
    chances_of_places: Sequence[float] = (0.0, 0.0, 0.0, 0.05, 0.5)

    def __init__(self, random: Random, places: Random) -> None:
        """`places` chooses the chance of each place."""
        self.random = random
        self.counts: Counter[str] = Counter()
        """How often requests have paused at each place."""
        self._places = places if places.random() < self.places_share else None
        self._chances: dict[str, float] = {}
        self.is_active = random.random() < self.share
        self.chance = random.choice(self.chances) if self.is_active else 0.0
        self._long_body_bytes = random.choice(self.long_body_bytes)

    @property
    def count(self) -> int:
        """How often requests have paused."""
        return self.counts.total()

    def is_due(self, place: str) -> bool:
        """Return whether a request pauses now."""
        chance = self.chance
        if self._places is not None:
            if place not in self._chances:
                self._chances[place] = self._places.choice(self.chances_of_places)
            chance = self._chances[place]
        return self.random.random() < chance

    def rest_ms(self) -> int:
        """Return how long a request rests."""
        return self.random.choice(self.rests_ms)

    def be_short(self) -> None:
        """Let requests rest for a short time: all that pause get their turns one by one."""
        self.rests_ms = self.short_rests_ms

    @contextmanager
    def in_short_requests(self) -> Iterator[None]:
        """Let short requests and loops over few elements pause too, as long ones do."""
        if not self.is_active:
            yield
            return
        respond_to_short = Dispatcher._respond_to_short

        def respond_or_take_turns(dispatcher: Dispatcher, *request: Any) -> DispatchResult:
            # Other dispatchers, such as one whose response is kept for all worlds, take no part.
            is_of_world = isinstance(dispatcher.turns, PausingTurns)
            if is_of_world and self.chance and self.random.random() < LONG_SHARE:
                return None  # as to a request that is too long for its reader by hand
            return respond_to_short(dispatcher, *request)

        with (
            patch.object(Dispatcher, "_respond_to_short", respond_or_take_turns),
            patch.object(pacing, "LOOK_EVERY", 0),
            patch.object(pacing, "_paced_range", _each_number),
            patch.object(pacing, "_paced_stream", _each_item),
            patch.object(produce_decoder, "LOOK_EVERY", 0),
            patch.object(k00_produce, "LOOK_EVERY", 0),
            patch.object(produce, "LOOK_EVERY", 0),
            patch.object(made_partitions, "LOOK_EVERY", 0),
            patch.object(codec, "LONG_BODY_BYTES", self._long_body_bytes),
        ):
            yield

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Let requests run in one go."""
        chance, self.chance = self.chance, 0.0
        try:
            yield
        finally:
            self.chance = chance


class PausingTurns(Turns):
    """Turns that end by chance."""

    def __init__(self, response_bytes_max: int, now_ns: Callable[[], int], pauses: Pauses) -> None:
        super().__init__(response_bytes_max, now_ns)
        self._pauses = pauses
        self._pausing: set[object] = {None}
        """The requests that pause; None stands for callbacks of requests."""

    def run(
        self,
        respond: Callable[[], DispatchResult],
        frame_bytes: int = 0,
        kind: TurnKind = TurnKind.LIGHT,
    ) -> DispatchResult:
        """Let a request pause now and then, or run in one go."""
        pauses = self._pauses
        if not pauses.chance or pauses.random.random() >= LONG_SHARE:
            return super().run(respond, frame_bytes, kind)

        def respond_with_pauses() -> DispatchResult:
            request = self._running
            self._pausing.add(request)
            try:
                return respond()
            finally:
                self._pausing.discard(request)

        return super().run(respond_with_pauses, frame_bytes, kind)

    def pause(self) -> None:
        """End the turn of the running request, or not.

        Raises:
            PauseError: nothing may pause here, or a function does not say that it may.
        """
        pauses = self._pauses
        if not pauses.chance or self._running not in self._pausing:
            return
        if self.no_pause_depth:
            raise pacing.PauseError("a pause within no_pause()")
        place = _place()
        if pauses.is_due(place):
            unmarked = unmarked_function(sys._getframe(1))
            if unmarked is not None and self._running is not None:
                raise pacing.PauseError(f"{unmarked} pauses and is not marked")
            if self._running is not None:
                pauses.counts[place] += 1
            self._began_ns -= TURN_NS
            super().pause()

    def _schedule(self, _delay_s: float) -> None:
        super()._schedule(self._pauses.rest_ms() / 1000)
