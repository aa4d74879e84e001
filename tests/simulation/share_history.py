"""What the members of share groups saw; the checkers of share groups read it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from tests.simulation.client_link import ClientLink
from tests.simulation.history import Place

Range: TypeAlias = tuple[int, int]
"""First and last offset."""


class AcknowledgeType(IntEnum):
    """What a member says of a record, numbered as in its requests."""

    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


@dataclass(slots=True, eq=False)
class Delivery:
    """Records that a response gave to a member; times are those of the brokers.

    They were acquired between `sent_ms`, when the member sent its request, and `written_ms`.
    """

    group: str
    place: Place
    first_offset: int
    last_offset: int
    delivery_count: int
    member: str
    sent_ms: int
    written_ms: int


@dataclass(slots=True, eq=False)
class Acknowledgement:
    """What a member said of one record; `written_ms` is None if there was no response."""

    delivery: Delivery
    offset: int
    type: AcknowledgeType
    sent_ms: int = 0
    written_ms: int | None = None
    is_refused: bool = False

    @property
    def is_final(self) -> bool:
        """Whether the record is never to be delivered again."""
        return self.type in {AcknowledgeType.ACCEPT, AcknowledgeType.REJECT}


class TransactionEnd(NamedTuple):
    """How the transaction of a record ended, and when its marker was stored: None if it is open."""

    is_commit: bool
    time_ms: int | None


class DeadLetter(NamedTuple):
    """What the headers of a record in a dead letter queue say (KIP-1191)."""

    group: str
    place: Place
    offset: int
    delivery_count: int
    message: str


def range_problem(acquired: Sequence[Range], batches: Sequence[Range]) -> str | None:
    """Return which acquired range of a response is none, or is not in its record batches."""
    previous_last = -1
    for first, last in acquired:
        if not previous_last < first <= last:
            return f"{first} to {last} follows {previous_last}"
        if not any(base <= first <= end for base, end in batches):
            return f"{first} to {last} begins in no batch of {batches}"
        previous_last = last
    if acquired and previous_last > batches[-1][1]:
        return f"{previous_last} is beyond the batches {batches}"
    return None


@dataclass(slots=True)
class ShareHistory:
    """All observations of the share groups of a world; times are those of the brokers."""

    lock_ms: int
    delivery_count_max: int
    clock_moves: list[tuple[int, int]] = field(default_factory=list)
    """When the clock of the brokers was moved forward, and by how many ms."""
    deliveries: list[Delivery] = field(default_factory=list)
    acknowledgements: list[Acknowledgement] = field(default_factory=list)
    lost_fetches: Counter[str] = field(default_factory=Counter)
    """How many fetches of each group had no response, before the end of the world."""
    links: dict[str, list[ClientLink]] = field(default_factory=dict)
    """The connections over which each member fetched. A session ends with its connection."""
    session_ends: dict[str, list[int]] = field(default_factory=dict)
    """When each member asked for the end of its sessions."""
    leader_changes: dict[Place, list[int]] = field(default_factory=dict)
    ends: dict[tuple[str, Place], int] = field(default_factory=dict)
    """The end of each partition that a share group had to finish."""
    reads_committed: set[str] = field(default_factory=set)
    """The groups whose `share.isolation.level` is read_committed."""
    transaction_ends: dict[tuple[Place, int], TransactionEnd] = field(default_factory=dict)
    """By partition and offset, for the records of transactions."""
    loads: dict[tuple[str, Place], list[int]] = field(default_factory=dict)
    """When a leader loaded each share partition."""
    queued: set[str] = field(default_factory=set)
    """The groups that have a dead letter queue."""
    copying: set[str] = field(default_factory=set)
    """The groups whose queue has the keys and values of dead letters."""
    dead_letters: list[DeadLetter] = field(default_factory=list)
    broken_dead_letters: list[str] = field(default_factory=list)
    """Records of queues without the right headers, at a wrong place or with wrong contents."""
    broken_lags: list[str] = field(default_factory=list)
    """Lags that are negative, or not 0 when all records are finished."""
    unsettled: list[str] = field(default_factory=list)
    broken_limits: list[str] = field(default_factory=list)
    """Responses with more records than the member asked for, and has to get."""
    broken_ranges: list[str] = field(default_factory=list)
    """What `range_problem` said of responses."""

    def is_aborted_for(self, group: str, place: Place, offset: int) -> bool:
        """Return whether a group never sees a record, because its transaction was not committed."""
        end = self.transaction_ends.get((place, offset))
        return group in self.reads_committed and end is not None and not end.is_commit

    def broker_time_ms(self, time_ms: int, *, is_before_moves: bool = False) -> int:
        """Return what the clock of the brokers shows at a time of the world.

        If it is moved then, the time is the one after that, or before it with `is_before_moves`.
        """
        return time_ms + sum(
            duration_ms
            for moved_ms, duration_ms in self.clock_moves
            if moved_ms < time_ms or (moved_ms == time_ms and not is_before_moves)
        )

    def session_ends_of(self, member: str) -> Iterator[int]:
        """Yield when sessions of a member ended, by its request or with a connection."""
        yield from self.session_ends.get(member, ())
        for link in self.links.get(member, ()):
            if link.lost_ms is not None:
                yield self.broker_time_ms(link.lost_ms)
