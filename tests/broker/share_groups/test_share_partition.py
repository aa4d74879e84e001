"""A share partition: examples, and a random walk beside a model that knows each offset."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from broker.errors import Refusal
from broker.share_groups.acknowledgement import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    AcknowledgementBatch,
)
from broker.share_groups.acquisition import AbortedRange, AcquiredRecords, FetchedBatch
from broker.share_groups.dead_letters import DELIVERED_TOO_OFTEN, REJECTED, DeadLetters
from broker.share_groups.in_flight import StateBatch
from broker.share_groups.share_partition import SharePartition
from broker.share_groups.share_rules import ShareRules
from protocol.errors import ErrorCode
from tests.examples import examples

LOCK_MS = 1000
DELIVERIES_MAX = 3
AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVING, ARCHIVED = range(5)


class Partition:
    """A share partition with a log of batches; what it stores is in `written`."""

    def __init__(
        self,
        *sizes: int,
        start: int = 0,
        state: Sequence[StateBatch] = (),
        locks_max: int = 100,
        **rules: bool,
    ) -> None:
        self.batches: list[FetchedBatch] = []
        self.log_end = 0
        for size in sizes:
            self.append(size)
        self.written: list[tuple[int, list[StateBatch]]] = []
        self.write_refusal: Refusal | None = None
        self.counts: list[int] = []
        self.dead: list[DeadLetters] = []
        self.rules = ShareRules(locks_max, DELIVERIES_MAX, **rules)
        self.lead(start, state)

    def lead(self, start: int, state: Sequence[StateBatch]) -> None:
        """Begin with a state, as a new leader does."""
        self.share = SharePartition(
            start,
            state,
            state_epoch=1,
            leader_epoch=0,
            get_rules=lambda: self.rules,
            write_state=self._write,
            send_dead_letters=lambda dead, _now_ms: self.dead.append(dead),
        )

    def _write(
        self, start: int, finished_count: int, batches: Sequence[StateBatch], _now_ms: int
    ) -> Refusal | None:
        if self.write_refusal is None:
            self.written.append((start, list(batches)))
            self.counts.append(finished_count)
        return self.write_refusal

    def append(self, size: int, **fields: int | bool) -> None:
        batch = FetchedBatch(self.log_end, self.log_end + size - 1, **fields)  # type: ignore[arg-type]
        self.batches.append(batch)
        self.log_end += size

    def read(self) -> tuple[int, list[FetchedBatch]]:
        """Read from the next fetch offset to the end of the log; return that offset as well."""
        offset = self.share.next_fetch_offset()
        return offset, [batch for batch in self.batches if batch.last_offset >= offset]

    def acquire(
        self,
        member: str = "m",
        *,
        records_max: int = 100,
        batch_size: int = 100,
        now_ms: int = 0,
        aborted: Sequence[AbortedRange] = (),
        is_record_limit: bool = False,
        read: tuple[int, list[FetchedBatch]] | None = None,
    ) -> list[tuple[int, int, int]]:
        """Acquire of what was read, or read now."""
        if read is None and not self.share.can_acquire():
            return []
        offset, batches = read or self.read()
        return [
            (acquired.first_offset, acquired.last_offset, acquired.delivery_count)
            for acquired in self.share.acquire(
                member,
                batches,
                fetch_offset=offset,
                records_max=records_max,
                batch_size=batch_size,
                lock_expires_ms=now_ms + LOCK_MS,
                aborted=aborted,
                is_record_limit=is_record_limit,
            )
        ]

    def acknowledge(self, *batches: tuple[int, int, int], member: str = "m") -> ErrorCode:
        parsed = [AcknowledgementBatch(first, last, (kind,)) for first, last, kind in batches]
        refusal = self.share.acknowledge(member, parsed, 0)
        return ErrorCode.NONE if refusal is None else refusal.error_code

    def acknowledge_each(self, first: int, *kinds: int, member: str = "m") -> ErrorCode:
        batch = AcknowledgementBatch(first, first + len(kinds) - 1, kinds)
        refusal = self.share.acknowledge(member, [batch], 0)
        return ErrorCode.NONE if refusal is None else refusal.error_code


def test_a_fetch_acquires_all_that_it_read_and_the_next_one_reads_on() -> None:
    partition = Partition(3, 2)

    assert partition.acquire() == [(0, 4, 1)]
    assert partition.share.next_fetch_offset() == 5
    assert partition.acquire("other") == []
    partition.append(1)
    assert partition.acquire("other") == [(5, 5, 1)]


def test_accepted_and_rejected_records_move_the_start() -> None:
    partition = Partition(4, 4)
    partition.acquire()

    assert partition.acknowledge((0, 1, ACCEPT)) == ErrorCode.NONE
    assert partition.share.start_offset == 2
    assert partition.acknowledge((4, 7, REJECT)) == ErrorCode.NONE
    assert partition.share.start_offset == 2
    assert partition.acknowledge((2, 3, GAP)) == ErrorCode.NONE
    assert (partition.share.start_offset, len(partition.share.records)) == (8, 0)
    assert partition.written == [
        (0, [StateBatch(0, 0, ACKNOWLEDGED, 1), StateBatch(1, 1, ACKNOWLEDGED, 1)]),
        (2, [StateBatch(offset, offset, ARCHIVED, 1) for offset in range(4, 8)]),
        (2, [StateBatch(2, 2, ARCHIVED, 1), StateBatch(3, 3, ARCHIVED, 1)]),
    ]


def test_a_released_batch_is_delivered_again_until_its_last_delivery() -> None:
    partition = Partition(2, 1)
    for count in range(1, DELIVERIES_MAX + 1):
        assert partition.acquire() == [(0, 2, count)]
        assert partition.acknowledge((0, 2, RELEASE)) == ErrorCode.NONE

    assert partition.acquire() == []
    assert partition.share.start_offset == 3


def test_offsets_that_were_released_one_by_one_are_acquired_one_by_one() -> None:
    partition = Partition(4)
    partition.acquire()

    assert partition.acknowledge_each(0, ACCEPT, RELEASE, REJECT, RELEASE) == ErrorCode.NONE

    assert partition.share.next_fetch_offset() == 1
    assert partition.acquire("other") == [(1, 1, 2), (3, 3, 2)]


def test_a_record_limit_leaves_the_rest_of_a_batch_to_others() -> None:
    partition = Partition(10, isolates_bad_records=True)

    assert partition.acquire("a", records_max=3, is_record_limit=True) == [(0, 2, 1)]
    assert partition.share.next_fetch_offset() == 3
    assert partition.acquire("b", records_max=3, is_record_limit=True) == [(3, 5, 1)]
    assert partition.acquire("c") == [(6, 9, 1)]


def test_the_number_of_locks_is_a_hard_limit_since_kafka_4_2() -> None:
    partition = Partition(2, 2, 2, 2, locks_max=3, isolates_bad_records=True)

    assert partition.acquire() == [(0, 3, 1)]  # to the end of a batch of the log
    assert partition.acquire("b") == []
    partition.acknowledge((1, 1, RELEASE))
    assert partition.acquire("b") == [(1, 1, 2)]


def test_finished_records_are_counted_from_the_start_on() -> None:
    partition = Partition(4, 4)
    partition.acquire()

    partition.acknowledge((2, 3, ACCEPT))
    partition.acknowledge((5, 5, REJECT))
    assert (partition.counts, partition.share.finished_count) == ([2, 3], 3)
    partition.acknowledge((0, 1, ACCEPT))
    assert (partition.share.start_offset, partition.share.finished_count) == (4, 1)
    partition.share.move_log_start(6)
    assert partition.share.finished_count == 0


def test_what_a_new_leader_reads_is_counted() -> None:
    state = [StateBatch(1, 2, ACKNOWLEDGED, 1), StateBatch(4, 4, ARCHIVED, 1)]

    assert Partition(6, state=state).share.finished_count == 3


def test_the_end_of_a_session_counts_as_a_delivery_since_kafka_4_2() -> None:
    partition = Partition(2, isolates_bad_records=True)
    for count in (1, 2):
        assert partition.acquire("a") == [(0, 1, count)]
        partition.share.release_member("a", 0)

    assert partition.acquire("a") == [(0, 0, 3)]
    partition.share.release_member("a", 0)
    assert partition.share.start_offset == 1


def test_dead_letters_are_archived_once_they_are_sent() -> None:
    partition = Partition(4, has_dead_letter_queue=True)
    partition.acquire()
    assert partition.acknowledge_each(0, REJECT, REJECT, GAP, ACCEPT) == ErrorCode.NONE

    assert partition.dead == [DeadLetters(0, 1, 1, REJECTED)]
    assert (partition.share.start_offset, partition.counts) == (0, [2])
    assert partition.written[0][1][0].delivery_state == ARCHIVING
    assert partition.acknowledge((0, 0, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE
    partition.share.archive_dead_letters(partition.dead[0], 0)
    assert partition.written[1:] == [(0, [StateBatch(0, 1, ARCHIVED, 1)])]
    assert partition.counts[1:] == [4]
    assert (partition.share.start_offset, partition.share.finished_count) == (4, 0)


def test_a_new_leader_sends_the_dead_letters_that_the_former_one_did_not() -> None:
    state = [
        StateBatch(0, 1, ARCHIVING, 1),
        StateBatch(2, 2, ACKNOWLEDGED, 1),
        StateBatch(3, 3, ARCHIVING, DELIVERIES_MAX),
    ]
    partition = Partition(4, state=state, has_dead_letter_queue=True)
    partition.share.resume_dead_letters(0)

    assert partition.dead == [
        DeadLetters(0, 1, 1, REJECTED),
        DeadLetters(3, 3, DELIVERIES_MAX, DELIVERED_TOO_OFTEN),
    ]
    partition.share.move_log_start(1)
    for dead in partition.dead:
        partition.share.archive_dead_letters(dead, 0)
    assert (partition.share.start_offset, partition.share.finished_count) == (4, 0)


def test_a_lock_expires_and_counts_as_a_delivery() -> None:
    partition = Partition(2)
    partition.acquire(now_ms=0)

    assert partition.share.next_lock_expiry_ms() == LOCK_MS
    assert not partition.share.expire_locks(LOCK_MS - 1)
    assert partition.share.expire_locks(LOCK_MS)
    assert partition.share.next_lock_expiry_ms() is None
    assert partition.acknowledge((0, 1, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE
    assert partition.acquire("other", now_ms=LOCK_MS) == [(0, 1, 2)]
    assert partition.acknowledge((0, 1, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE
    assert partition.acknowledge((0, 1, ACCEPT), member="other") == ErrorCode.NONE


def test_the_end_of_a_session_takes_deliveries_back() -> None:
    partition = Partition(2, 2)
    partition.acquire("a", records_max=2)
    partition.acquire("b")

    assert partition.share.release_member("a", 0) is None

    assert partition.acquire("c") == [(0, 1, 1)]
    assert partition.acknowledge((2, 3, ACCEPT), member="b") == ErrorCode.NONE


def test_the_maximum_of_records_is_exceeded_to_the_end_of_a_batch_of_the_log() -> None:
    partition = Partition(3, 3, 3)

    assert partition.acquire(records_max=4) == [(0, 5, 1)]
    assert partition.acquire(records_max=1) == [(6, 8, 1)]


def test_acquired_records_are_split_where_a_batch_of_the_log_begins() -> None:
    partition = Partition(2, 2, 2, 2)

    assert partition.acquire(batch_size=3) == [(0, 3, 1), (4, 7, 1)]


def test_records_in_flight_are_limited() -> None:
    partition = Partition(2, 2, 2, locks_max=4)
    assert partition.acquire(records_max=4) == [(0, 3, 1)]

    assert not partition.share.can_acquire()
    partition.acknowledge((0, 1, RELEASE))
    assert partition.share.can_acquire()
    assert partition.acquire("other", records_max=2) == [(0, 0, 2), (1, 1, 2)]
    partition.acknowledge((0, 1, ACCEPT), member="other")
    assert partition.acquire("other") == [(4, 5, 1)]


def test_records_of_aborted_transactions_are_archived_and_markers_delivered() -> None:
    partition = Partition()
    partition.append(2, producer_id=7, is_transactional=True)
    partition.append(1)
    partition.append(1, producer_id=7, is_transactional=True, is_abort_marker=True)
    partition.append(1, producer_id=7, is_transactional=True)

    acquired = partition.acquire(aborted=[AbortedRange(7, 0)])

    assert acquired == [(2, 4, 1)]
    assert partition.acknowledge((0, 1, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE
    assert partition.acknowledge((2, 4, ACCEPT)) == ErrorCode.NONE
    assert partition.share.start_offset == 5


def test_the_start_follows_a_log_whose_records_are_deleted() -> None:
    partition = Partition(4, 4)
    assert partition.acquire("a", records_max=4) == [(0, 3, 1)]

    partition.share.move_log_start(2)

    assert partition.share.start_offset == 2
    assert partition.acknowledge((0, 3, RELEASE), member="a") == ErrorCode.NONE
    assert partition.acquire("b") == [(2, 2, 2), (3, 3, 2), (4, 7, 1)]
    partition.share.move_log_start(20)
    assert partition.share.next_fetch_offset() == 20
    assert partition.share.expire_locks(LOCK_MS)
    assert len(partition.share.records) == 0


def test_the_start_does_not_go_back_to_deleted_records_that_a_member_still_holds() -> None:
    """A member holds offset 1 when it is deleted, while offset 0 is archived."""
    partition = Partition(1, 1, 1)
    partition.acquire("a", records_max=1)
    partition.share.move_log_start(1)
    partition.acquire("b", records_max=1)
    partition.share.release_member("a", 0)
    partition.acquire("c", records_max=1)
    partition.share.move_log_start(2)

    assert partition.acknowledge((2, 2, ACCEPT), member="c") == ErrorCode.NONE

    assert (partition.share.start_offset, partition.written[-1][0]) == (2, 2)
    assert partition.share.expire_locks(LOCK_MS)
    assert (partition.share.start_offset, partition.share.next_fetch_offset()) == (3, 3)


def test_the_end_of_a_lock_does_not_move_the_start_back_into_deleted_records() -> None:
    partition = Partition(4)
    partition.acquire()
    partition.share.move_log_start(20)

    assert partition.share.expire_locks(LOCK_MS)

    assert (partition.share.start_offset, partition.share.next_fetch_offset()) == (20, 20)


def test_finished_records_behind_deleted_ones_leave_room_for_others() -> None:
    partition = Partition(1, 4, 1, locks_max=5)
    partition.acquire("a", records_max=1)
    partition.acquire("b", records_max=1)
    partition.acknowledge((1, 4, ACCEPT), member="b")
    partition.share.release_member("a", 0)

    partition.share.move_log_start(1)

    assert partition.acquire("c") == [(5, 5, 1)]


def test_finished_records_behind_compacted_ones_leave_room_for_others() -> None:
    partition = Partition(1, 4, 1, locks_max=5)
    partition.acquire("a", records_max=1)
    partition.acquire("b", records_max=1)
    partition.acknowledge((1, 4, ACCEPT), member="b")
    partition.share.release_member("a", 0)
    read = partition.share.next_fetch_offset(), partition.batches[1:2]

    assert partition.acquire("c", read=read) == []
    assert partition.acquire("c") == [(5, 5, 1)]


def test_records_of_a_long_aborted_transaction_leave_room_for_others() -> None:
    partition = Partition(locks_max=4)
    for _ in range(3):
        partition.append(2, producer_id=7, is_transactional=True)
    partition.append(1, producer_id=7, is_transactional=True, is_abort_marker=True)
    aborted = [AbortedRange(7, 0)]

    assert partition.acquire(records_max=4, aborted=aborted) == []
    assert partition.acquire(records_max=4, aborted=aborted) == [(6, 6, 1)]


def test_nothing_in_flight_starts_at_the_new_start_of_the_log() -> None:
    partition = Partition()

    partition.share.move_log_start(9)

    assert (partition.share.start_offset, partition.share.next_fetch_offset()) == (9, 9)


def test_compacted_records_are_archived_when_a_later_batch_is_read() -> None:
    partition = Partition(2, 2)
    partition.acquire()
    partition.acknowledge((0, 3, RELEASE))
    partition.batches.pop(0)

    assert partition.acquire() == [(2, 2, 2), (3, 3, 2)]
    partition.acknowledge((2, 3, ACCEPT))
    assert partition.share.start_offset == 4


@pytest.mark.parametrize(
    ("batch", "error_code"),
    [
        ((5, 6, ACCEPT), ErrorCode.INVALID_REQUEST),
        ((1, 2, ACCEPT), ErrorCode.INVALID_REQUEST),
        ((0, 1, ACCEPT), ErrorCode.INVALID_RECORD_STATE),
    ],
)
def test_records_that_the_member_does_not_have_are_refused(
    batch: tuple[int, int, int], error_code: ErrorCode
) -> None:
    partition = Partition(2)
    partition.acquire("owner")

    assert partition.acknowledge(batch) == error_code
    assert partition.acknowledge((0, 1, ACCEPT), member="owner") == ErrorCode.NONE


def test_nothing_changes_if_one_batch_of_a_request_is_refused() -> None:
    partition = Partition(2, 2)
    partition.acquire(records_max=2)
    partition.acquire("other")

    assert partition.acknowledge((0, 1, ACCEPT), (2, 3, ACCEPT)) == ErrorCode.INVALID_RECORD_STATE

    assert (partition.share.start_offset, partition.written) == (0, [])
    assert partition.acknowledge((0, 1, ACCEPT)) == ErrorCode.NONE


def test_nothing_changes_if_the_state_cannot_be_stored() -> None:
    partition = Partition(2)
    partition.acquire()
    partition.write_refusal = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "no")

    assert partition.acknowledge((0, 1, ACCEPT)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert partition.share.release_member("m", 0) is partition.write_refusal
    assert partition.share.start_offset == 0
    # A lock expires in any case.
    assert partition.share.expire_locks(LOCK_MS)
    assert partition.acquire("other") == [(0, 1, 2)]


def test_a_new_leader_goes_on_with_what_was_stored() -> None:
    state = [
        StateBatch(0, 1, ACKNOWLEDGED, 1),
        StateBatch(2, 3, AVAILABLE, 2),
        StateBatch(4, 5, ARCHIVED, 3),
    ]
    partition = Partition(6, 2, state=state)

    assert partition.share.start_offset == 2
    assert partition.acquire() == [(2, 3, 3), (6, 7, 1)]


def test_a_new_leader_delivers_gaps_in_what_was_stored() -> None:
    state = [StateBatch(2, 3, ACKNOWLEDGED, 1), StateBatch(6, 7, AVAILABLE, 1)]
    partition = Partition(2, 2, 2, 2, 2, state=state)

    assert partition.share.next_fetch_offset() == 0
    assert partition.acquire() == [(0, 1, 1), (4, 5, 1), (6, 7, 2), (8, 9, 1)]
    partition.acknowledge((0, 1, ACCEPT))
    assert partition.share.start_offset == 4
    partition.acknowledge((4, 9, ACCEPT))
    assert partition.share.start_offset == 10


def test_finished_records_behind_a_gap_leave_room_for_others() -> None:
    partition = Partition(1, 4, 1, state=[StateBatch(1, 4, ACKNOWLEDGED, 1)], locks_max=4)

    assert partition.acquire(records_max=1) == [(0, 0, 1)]
    assert partition.acknowledge((0, 0, ACCEPT)) == ErrorCode.NONE

    assert partition.acquire() == [(5, 5, 1)]


@pytest.mark.parametrize("log_start_offset", range(1, 10))
def test_a_new_leader_goes_on_after_a_gap_whose_records_are_deleted(log_start_offset: int) -> None:
    state = [StateBatch(2, 3, ACKNOWLEDGED, 1), StateBatch(6, 7, AVAILABLE, 1)]
    partition = Partition(*[1] * 10, state=state)
    del partition.batches[:log_start_offset]

    partition.share.move_log_start(log_start_offset)

    assert partition.share.next_fetch_offset() >= log_start_offset
    acquired = partition.acquire()
    finished = {2, 3}
    assert [offset for first, last, _count in acquired for offset in range(first, last + 1)] == [
        offset for offset in range(log_start_offset, 10) if offset not in finished
    ]


@pytest.mark.parametrize("sizes", [(10,), (5, 5)])
def test_a_new_leader_does_not_deliver_again_what_is_finished_before_a_gap(
    sizes: tuple[int, ...],
) -> None:
    state = [StateBatch(0, 2, ACKNOWLEDGED, 1), StateBatch(5, 6, ACKNOWLEDGED, 1)]
    partition = Partition(*sizes, state=state)

    assert partition.acquire() == [(3, 4, 1), (7, 9, 1)]
    partition.acknowledge((3, 4, ACCEPT), (7, 9, ACCEPT))
    assert (partition.share.start_offset, partition.acquire()) == (10, [])


def test_a_read_whose_records_others_have_finished_since_acquires_nothing() -> None:
    """Both members read from offset 5; the first one pauses, and is last to acquire."""
    partition = Partition(5, 1)
    partition.acquire("a")
    partition.acknowledge((0, 4, ACCEPT), member="a")
    partition.acknowledge((5, 5, RELEASE), member="a")
    paused = partition.read()
    partition.append(4)
    assert partition.acquire("b") == [(5, 5, 2), (6, 9, 1)]
    assert partition.acknowledge((5, 9, ACCEPT), member="b") == ErrorCode.NONE

    assert partition.acquire("a", read=paused) == []
    assert (partition.share.start_offset, partition.share.next_fetch_offset()) == (10, 10)


def test_a_read_of_records_that_others_hold_acquires_no_more_than_the_limit() -> None:
    partition = Partition(2, 2, 2, locks_max=4)
    paused = partition.read()
    assert partition.acquire("b", records_max=4) == [(0, 3, 1)]

    assert partition.acquire("a", read=paused) == []


def test_an_empty_read_acquires_nothing() -> None:
    partition = Partition(2)

    assert partition.acquire(records_max=0) == []
    partition.batches.clear()
    assert partition.acquire() == []


@dataclass
class Known:
    """What the model knows of an offset that was acquired at least once."""

    count: int
    holder: str | None
    expires_ms: int
    is_final: bool = False


MEMBERS = st.sampled_from(["a", "b", "c"])
LOCKS_MAX = 20
SIZE_MAX = 4


class SharePartitionMachine(RuleBasedStateMachine):
    """Members that fetch, acknowledge and disappear; records are deleted; locks expire.

    Fetches pause between their read and the acquisition, and leaders change.
    """

    isolates_bad_records = False

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.log_start = 0
        self.known: dict[int, Known] = {}
        self.paused: list[tuple[int, list[FetchedBatch]]] = []
        """What fetches have read that pause before they acquire."""
        self.last_start = 0

    @initialize(size=st.integers(1, SIZE_MAX))
    def begin(self, size: int) -> None:
        self.partition = Partition(
            size, locks_max=LOCKS_MAX, isolates_bad_records=self.isolates_bad_records
        )

    @rule(size=st.integers(1, SIZE_MAX))
    def append(self, size: int) -> None:
        self.partition.append(size)

    @rule(
        member=MEMBERS,
        records_max=st.integers(1, 9),
        batch_size=st.integers(1, 6),
        is_record_limit=st.booleans(),
    )
    def fetch(self, member: str, records_max: int, batch_size: int, is_record_limit: bool) -> None:
        self._fetch(member, records_max, batch_size, is_record_limit=is_record_limit)

    @rule()
    def read_and_pause(self) -> None:
        if self.partition.share.can_acquire():
            self.paused.append(self.partition.read())

    @precondition(lambda self: self.paused)
    @rule(member=MEMBERS, records_max=st.integers(1, 9), batch_size=st.integers(1, 6))
    def acquire_after_pause(self, member: str, records_max: int, batch_size: int) -> None:
        self._fetch(member, records_max, batch_size, self.paused.pop(0))

    def _fetch(
        self,
        member: str,
        records_max: int,
        batch_size: int,
        read: tuple[int, list[FetchedBatch]] | None = None,
        *,
        is_record_limit: bool = False,
    ) -> int:
        share = self.partition.share
        if read is None and share.next_fetch_offset() < self.log_start:
            share.move_log_start(self.log_start)
        acquired = self.partition.acquire(
            member,
            records_max=records_max,
            batch_size=batch_size,
            now_ms=self.now_ms,
            read=read,
            is_record_limit=is_record_limit,
        )
        if is_record_limit:
            assert sum(last - first + 1 for first, last, _count in acquired) <= records_max
        assert all(first <= last for first, last, _count in acquired)
        for first, last, count in acquired:
            for offset in range(first, last + 1):
                known = self.known.setdefault(offset, Known(0, None, 0))
                assert known.holder is None, f"{offset} has two holders"
                assert not known.is_final, f"{offset} was finished"
                known.count += 1
                assert known.count == count <= DELIVERIES_MAX
                known.holder, known.expires_ms = member, self.now_ms + LOCK_MS
        return len(acquired)

    @rule(
        member=MEMBERS,
        first=st.integers(-3, 12),
        kinds=st.lists(st.sampled_from([GAP, ACCEPT, RELEASE, REJECT]), min_size=1, max_size=9),
        is_uniform=st.booleans(),
        is_owned=st.booleans(),
    )
    def acknowledge(
        self, member: str, first: int, kinds: list[int], is_uniform: bool, is_owned: bool
    ) -> None:
        share = self.partition.share
        owned_offsets = [offset for offset, known in self.known.items() if known.holder == member]
        if is_owned and owned_offsets:
            first = owned_offsets[first % len(owned_offsets)]
            run = [offset in owned_offsets for offset in range(first, first + len(kinds))]
            kinds = kinds[: run.index(False) if False in run else len(run)]
        else:
            first = max(0, share.start_offset + first)
        last = first + len(kinds) - 1
        types = (kinds[0],) if is_uniform else tuple(kinds)
        start = share.start_offset
        refusal = share.acknowledge(member, [AcknowledgementBatch(first, last, types)], self.now_ms)
        offsets = range(max(first, start), last + 1)
        owned = all(
            offset in self.known and self.known[offset].holder == member for offset in offsets
        )
        assert (refusal is None) == (owned or last < start), refusal
        if refusal is not None:
            assert share.start_offset == start
            return
        for offset in offsets:
            kind = kinds[0] if is_uniform else kinds[offset - first]
            self._end(offset, is_final=kind != RELEASE)

    def _end(self, offset: int, *, is_final: bool) -> None:
        known = self.known[offset]
        known.holder = None
        known.is_final = (
            is_final or known.count >= DELIVERIES_MAX or offset < self.partition.share.start_offset
        )

    @rule(member=MEMBERS)
    def disconnect(self, member: str) -> None:
        assert self.partition.share.release_member(member, self.now_ms) is None
        for offset, known in self.known.items():
            if known.holder == member:
                if self.isolates_bad_records:
                    self._end(offset, is_final=False)
                    continue
                known.holder = None
                known.count -= 1
                known.is_final = offset < self.log_start

    @rule(member=MEMBERS, index=st.integers(0, 5))
    def renew(self, member: str, index: int) -> None:
        start = self.partition.share.start_offset
        owned = [o for o, known in self.known.items() if known.holder == member and o >= start]
        if owned:
            offset = owned[index % len(owned)]
            until_ms = self.now_ms + LOCK_MS
            refusal = self.partition.share.acknowledge(
                member,
                [AcknowledgementBatch(offset, offset, (RENEW,))],
                self.now_ms,
                renewed_until_ms=until_ms,
            )
            assert refusal is None
            self.known[offset].expires_ms = until_ms

    @rule(ms=st.sampled_from([1, LOCK_MS // 2, LOCK_MS]))
    def pass_time(self, ms: int) -> None:
        self.now_ms += ms
        self.partition.share.expire_locks(self.now_ms)
        for offset, known in self.known.items():
            if known.holder is not None and known.expires_ms <= self.now_ms:
                self._end(offset, is_final=False)

    @rule(count=st.integers(1, 5))
    def delete_records(self, count: int) -> None:
        """Move the log start to the begin of a later batch, as retention does."""
        begins = [batch.base_offset for batch in self.partition.batches]
        self.log_start = max(self.log_start, begins[min(count, len(begins) - 1)])
        self.partition.batches = [
            batch for batch in self.partition.batches if batch.base_offset >= self.log_start
        ]
        self.partition.share.move_log_start(self.log_start)
        for offset, known in self.known.items():
            if offset < self.log_start and known.holder is None:
                known.is_final = True

    @rule()
    def change_leader(self) -> None:
        """Begin with what was stored: what the former leader only delivered is a gap."""
        self.paused.clear()
        written = self.partition.written
        start = written[-1][0] if written else 0
        stored: dict[int, StateBatch] = {}
        for _start, batches in written:
            for batch in batches:
                for offset in range(batch.first_offset, batch.last_offset + 1):
                    stored[offset] = StateBatch(
                        offset, offset, batch.delivery_state, batch.delivery_count
                    )
        self.partition.lead(start, [stored[offset] for offset in sorted(stored) if offset >= start])
        self.partition.share.move_log_start(self.log_start)
        self.last_start = self.partition.share.start_offset
        for offset in [offset for offset in self.known if offset >= start]:
            is_deleted = offset < self.log_start
            if offset in stored:
                is_final = stored[offset].delivery_state in {ACKNOWLEDGED, ARCHIVED}
                count = stored[offset].delivery_count
                self.known[offset] = Known(count, None, 0, is_final=is_final or is_deleted)
            else:
                del self.known[offset]

    @invariant()
    def the_start_does_not_go_back(self) -> None:
        if hasattr(self, "partition"):
            assert self.partition.share.start_offset >= self.last_start
            self.last_start = self.partition.share.start_offset

    @invariant()
    def records_before_the_start_are_finished(self) -> None:
        if not hasattr(self, "partition"):
            return
        start = self.partition.share.start_offset
        for offset in range(self.log_start, start):
            assert self.known[offset].is_final, f"{offset} is lost"

    @invariant()
    def finished_records_are_counted(self) -> None:
        if hasattr(self, "partition"):
            share = self.partition.share
            assert share.finished_count == share.records.finished_count(
                share.start_offset, share.end_offset
            )

    @invariant()
    def the_number_in_flight_is_limited(self) -> None:
        if hasattr(self, "partition"):
            assert self.partition.share.in_flight_count <= LOCKS_MAX + 9 + SIZE_MAX

    def teardown(self) -> None:
        if not hasattr(self, "partition"):
            return
        share = self.partition.share
        self.pass_time(LOCK_MS)
        while self._fetch("last", 9, 6):
            for offset, known in self.known.items():
                if known.holder == "last":
                    batch = AcknowledgementBatch(offset, offset, (ACCEPT,))
                    assert share.acknowledge("last", [batch], self.now_ms) is None
                    known.holder, known.is_final = None, True
        assert share.next_fetch_offset() == self.partition.log_end
        assert share.start_offset == self.partition.log_end


class IsolatingSharePartitionMachine(SharePartitionMachine):
    """The same with the rules of Kafka 4.2."""

    isolates_bad_records = True


_SETTINGS = settings(max_examples=examples(100), stateful_step_count=30, deadline=None)
SharePartitionMachine.TestCase.settings = _SETTINGS
IsolatingSharePartitionMachine.TestCase.settings = _SETTINGS
TestSharePartitionMachine = SharePartitionMachine.TestCase
TestIsolatingSharePartitionMachine = IsolatingSharePartitionMachine.TestCase


def test_acquired_records_are_named_as_in_the_response() -> None:
    assert tuple(field.name for field in fields(AcquiredRecords)) == (
        "first_offset",
        "last_offset",
        "delivery_count",
    )
