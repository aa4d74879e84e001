"""What a pipelined producer sends at once: events that are due, and requests that are in flight."""

from collections.abc import Sequence
from typing import NamedTuple

from loadgen.clients.load_client import Event
from loadgen.clients.produce_frames import next_sequence
from loadgen.rows import Rows

QueuedEvents = tuple[Sequence[int], int, int, int]
"""Ids, and intended time, time of submission and salt, which these events share.

Several ids differ by `rows.EVENT_STEP`: they are of a closed loop.
"""
InFlight = tuple[int, int, int, int, int, int, int, int, bytes, Sequence[int], int, int, int]
"""A `Burst` as a plain tuple, which is faster to make."""


class Burst(NamedTuple):
    """Requests that were sent together, as far as they have no response yet.

    Order, sequence and correlation id are those of the first one; they grow from request to
    request. The other fields are equal.
    """

    order: int
    sequence: int
    correlation_id: int
    attempt: int
    sent_us: int
    producer_id: int
    epoch: int
    early_us: int
    stamp: bytes
    event_ids: Sequence[int]
    intended_us: int
    submitted_us: int
    salt: int

    @property
    def event(self) -> Event:
        """The event of the first request."""
        return Event(self.event_ids[0], self.intended_us, self.submitted_us, self.salt)

    def first(self) -> "Burst":
        """Return a burst of the first request alone."""
        return self._replace(event_ids=self.event_ids[:1])

    def after(self, count: int, records: int) -> "Burst":
        """Return the burst without its first `count` requests, each of `records` records."""
        sequence = self.sequence
        if self.producer_id >= 0:
            sequence = next_sequence(sequence, records * count)
        return self._replace(
            order=self.order + count,
            sequence=sequence,
            correlation_id=self.correlation_id + count,
            event_ids=self.event_ids[count:],
        )

    def to_resend(self) -> "Resend":
        """Return the batch of the first request, to be sent again."""
        return Resend(self.order, self.event, self.sequence, self.attempt)

    def begin_row(self, rows: Rows) -> int:
        """Begin the row of the first request, which is in flight no longer."""
        return rows.begin_stamped(
            self.stamp, self.event_ids[0], self.intended_us, self.submitted_us, self.sent_us,
            self.attempt, self.producer_id, self.epoch, self.sequence, self.early_us,
        )  # fmt: skip


class Resend(NamedTuple):
    """A batch that has to be sent again."""

    order: int
    event: Event
    sequence: int
    attempt: int
