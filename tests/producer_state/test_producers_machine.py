"""The producers of a partition against a model that keeps all batches at unbounded positions.

The model keeps every batch ever appended, at positions that never start over: position p is sent
as sequence number p mod 2^31. Both rules are then simple arithmetic.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from producer_state.producer_state_manager import ProducerStateManager
from producer_state.rules import Append, Decision, Duplicate, ProducerDescription, Refused
from protocol.errors import ErrorCode
from tests.examples import examples

SEQUENCES = 2**31
EXPIRATION_MS = 1000
EPOCH_MAX = 32767
APPENDED = "appended"
Response = str | tuple[ErrorCode, int, int] | ErrorCode


@dataclass(frozen=True)
class Stored:
    """A batch in the model's log: its positions, both included, and the response to a duplicate."""

    first: int
    last: int
    base_offset: int
    timestamp: int


@dataclass
class Known:
    """A producer in the model since it was last unknown, with its batches by epoch."""

    epoch: int
    batches: dict[int, list[Stored]] = field(default_factory=dict)
    last_timestamp: int = -1
    coordinator_epoch: int = -1
    open_at: int = -1

    @property
    def current(self) -> list[Stored]:
        return self.batches.get(self.epoch, [])


class Model:
    """The rules, applied to the whole history."""

    def __init__(self, batches: int, window: int) -> None:
        self.is_kafka = batches == 5
        self.window = window
        self.known: dict[int, Known] = {}

    def response(
        self, producer_id: int, epoch: int, sequence: int, count: int, *, is_transactional: bool
    ) -> Response:
        known = self.known.get(producer_id)
        if known is None:
            return APPENDED
        if epoch < known.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        stored = known.current if epoch == known.epoch else []
        following = stored[-1].last + 1 if stored else 0
        if sequence != following % SEQUENCES:
            return self.repeated(stored, sequence, count)
        if known.open_at >= 0 and not is_transactional:
            return ErrorCode.INVALID_TXN_STATE
        return APPENDED

    def repeated(self, stored: list[Stored], sequence: int, count: int) -> Response:
        if not stored:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        newest = stored[-1]
        # Of all positions with this sequence number, the last that is not ahead of the newest.
        first = newest.last - (newest.last - sequence) % SEQUENCES
        last = first + count - 1
        code = ErrorCode.NONE if self.is_kafka else ErrorCode.DUPLICATE_SEQUENCE_NUMBER
        for batch in reversed(stored[-5:] if self.is_kafka else [newest]):
            # By sequence numbers, the newest that has them: after 2^31 records they come again.
            if (batch.first % SEQUENCES, batch.last - batch.first) == (sequence, last - first):
                return (code, batch.base_offset, batch.timestamp)
        oldest = max(stored[0].first, newest.last - self.window + 1)
        if not self.is_kafka and oldest <= first and last <= newest.last:
            return (code, -1, -1)
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def append(
        self, producer_id: int, epoch: int, sequence: int, stored: Stored, *, is_transactional: bool
    ) -> None:
        known = self.known.setdefault(producer_id, Known(epoch))
        before = known.batches.get(epoch, [])
        # Positions go on from the batch before; without one they begin at the sequence number.
        first = before[-1].last + 1 if before else sequence
        assert first % SEQUENCES == sequence
        length = stored.last - stored.first
        known.epoch = epoch
        known.batches.setdefault(epoch, []).append(
            Stored(first, first + length, stored.base_offset, stored.timestamp)
        )
        known.last_timestamp = stored.timestamp
        if is_transactional and known.open_at < 0:
            known.open_at = stored.base_offset

    def expire(self, latest_expired_ms: int) -> int:
        gone = [
            producer_id
            for producer_id, known in self.known.items()
            if known.last_timestamp <= latest_expired_ms and known.open_at < 0
        ]
        for producer_id in gone:
            del self.known[producer_id]
        return len(gone)


def response_to(decision: Decision) -> Response:
    """Return a decision in the model's form."""
    if isinstance(decision, Append):
        return APPENDED
    if isinstance(decision, Refused):
        return decision.error_code
    assert isinstance(decision, Duplicate)
    return (decision.error_code, decision.base_offset, decision.timestamp)


producer_ids = st.integers(0, 5) | st.integers(0, 80) | st.just(2**63 - 1)
counts = st.integers(1, 4) | st.integers(1, 40)
# Some producers skip most sequence numbers, so that they wrap within few batches.
long_counts = counts | st.just(2**30) | st.integers(2**29, 2**31 - 1)
timestamps = st.integers(-1, 50) | st.integers(0, 3000)


class ProducersAgainstModel(RuleBasedStateMachine):
    batches: int

    def __init__(self) -> None:
        super().__init__()
        self.end_offset = 0
        self.now_ms = EXPIRATION_MS
        self.transactional: set[int] = set()
        """Producers that ever wrote a transactional batch or had a marker."""

    @initialize(window=st.sampled_from([1, 2, 5, 40, 1000, 10_000_000, 2**30]))
    def start(self, window: int) -> None:
        self.producers = ProducerStateManager(batches=self.batches, window=window)
        self.model = Model(self.batches, window)

    def send(
        self,
        producer_id: int,
        epoch: int,
        sequence: int,
        count: int,
        *,
        timestamp: int = 0,
        is_transactional: bool = False,
    ) -> Response:
        """Check one batch in both; they must agree, and append it if that is the decision."""
        if is_transactional:
            self.transactional.add(producer_id)
        expected = self.model.response(
            producer_id, epoch, sequence, count, is_transactional=is_transactional
        )
        # Some batches are offered to the shorter way.
        is_appended = (
            self.end_offset % 2 == 0
            and not is_transactional
            and self.producers.apply_next(
                producer_id, epoch, sequence, count - 1, self.end_offset, timestamp
            )
        )
        if is_appended:
            assert expected == APPENDED
        else:
            decision = self.producers.check(
                producer_id, epoch, sequence, count - 1, is_transactional=is_transactional
            )
            assert response_to(decision) == expected
        if expected == APPENDED and not is_appended:
            self.producers.apply(
                producer_id,
                epoch,
                sequence,
                count - 1,
                self.end_offset,
                timestamp,
                is_transactional=is_transactional,
            )
        if expected == APPENDED:
            stored = Stored(0, count - 1, self.end_offset, timestamp)
            self.model.append(
                producer_id, epoch, sequence, stored, is_transactional=is_transactional
            )
            self.end_offset += count
        return expected

    def some_known(self, data: st.DataObject) -> tuple[int, Known]:
        return data.draw(
            st.sampled_from(sorted(self.model.known.items(), key=lambda item: item[0]))
        )

    def next_sequence(self, known: Known) -> int:
        return (known.current[-1].last + 1) % SEQUENCES if known.current else 0

    @rule(
        producer_id=producer_ids,
        epoch=st.integers(0, 3) | st.just(EPOCH_MAX),
        sequence=st.integers(0, 3) | st.integers(SEQUENCES - 50, SEQUENCES - 1),
        count=counts,
        timestamp=timestamps,
        is_transactional=st.booleans(),
    )
    def send_anything(
        self,
        producer_id: int,
        epoch: int,
        sequence: int,
        count: int,
        timestamp: int,
        is_transactional: bool,
    ) -> None:
        self.send(
            producer_id,
            epoch,
            sequence,
            count,
            timestamp=timestamp,
            is_transactional=is_transactional,
        )

    @rule(first=st.integers(0, 1000), number=st.integers(1, 60), timestamp=timestamps)
    def let_many_producers_start(self, first: int, number: int, timestamp: int) -> None:
        for producer_id in range(first, first + number):
            if producer_id not in self.model.known:
                self.send(producer_id, 0, 0, 1, timestamp=timestamp)

    @precondition(lambda self: self.model.known)
    @rule(
        data=st.data(),
        batch_counts=st.lists(long_counts, min_size=1, max_size=7),
        timestamp=timestamps,
    )
    def go_on(self, data: st.DataObject, batch_counts: list[int], timestamp: int) -> None:
        """What a producer that works sends next is always appended."""
        producer_id, known = self.some_known(data)
        for count in batch_counts:
            response = self.send(
                producer_id,
                known.epoch,
                self.next_sequence(known),
                count,
                timestamp=timestamp,
                is_transactional=known.open_at >= 0,
            )
            assert response == APPENDED

    @precondition(lambda self: any(known.current for known in self.model.known.values()))
    @rule(data=st.data(), age=st.integers(0, 7))
    def send_an_old_batch_again(self, data: st.DataObject, age: int) -> None:
        """A retry never appends, and an offset in its response is that of the first append."""
        producer_id, known = self.some_known(data)
        stored = known.current
        if not stored:
            return
        batch = stored[max(0, len(stored) - 1 - age)]
        count = batch.last - batch.first + 1
        has_started_over = stored[-1].last - batch.first >= SEQUENCES - 1
        response = self.send(producer_id, known.epoch, batch.first % SEQUENCES, count)
        if has_started_over:
            return
        assert response != APPENDED
        if isinstance(response, tuple) and response[1] >= 0:
            assert response[1:] == (batch.base_offset, batch.timestamp)
        if batch is stored[-1] or (self.batches == 5 and batch in stored[-5:]):
            assert isinstance(response, tuple)
            assert response[1] == batch.base_offset

    @precondition(lambda self: any(len(known.batches) > 1 for known in self.model.known.values()))
    @rule(data=st.data())
    def send_a_batch_of_another_epoch_again(self, data: st.DataObject) -> None:
        """What was stored under one epoch is no duplicate under the next."""
        past = [
            (producer_id, known.epoch, batch)
            for producer_id, known in self.model.known.items()
            for epoch, stored in known.batches.items()
            for batch in stored
            if epoch != known.epoch
        ]
        if past:
            producer_id, epoch, batch = data.draw(st.sampled_from(past))
            count = batch.last - batch.first + 1
            self.send(producer_id, epoch, batch.first % SEQUENCES, count)

    @precondition(lambda self: any(known.open_at >= 0 for known in self.model.known.values()))
    @rule(data=st.data(), count=counts)
    def go_on_outside_the_open_transaction(self, data: st.DataObject, count: int) -> None:
        producer_id = data.draw(
            st.sampled_from([key for key, known in self.model.known.items() if known.open_at >= 0])
        )
        known = self.model.known[producer_id]
        response = self.send(producer_id, known.epoch, self.next_sequence(known), count)
        assert response == ErrorCode.INVALID_TXN_STATE

    @precondition(lambda self: any(known.current for known in self.model.known.values()))
    @rule(data=st.data(), first=st.integers(-60, 5), count=counts | long_counts)
    def send_near_the_newest(self, data: st.DataObject, first: int, count: int) -> None:
        """Parts of batches, several at once, ahead, straddling: a duplicate was wholly stored."""
        producer_id, known = self.some_known(data)
        if not known.current or known.open_at >= 0:
            return
        stored = list(known.current)
        position = stored[-1].last + first
        response = self.send(producer_id, known.epoch, position % SEQUENCES, count)
        has_started_over = stored[-1].last - stored[0].first >= SEQUENCES - 100
        if isinstance(response, tuple) and not has_started_over:
            assert stored[0].first <= position
            assert position + count - 1 <= stored[-1].last

    @precondition(lambda self: any(known.current for known in self.model.known.values()))
    @rule(data=st.data(), distance=st.integers(-3, 3), count=st.integers(1, 3))
    def send_at_the_window_s_edge(self, data: st.DataObject, distance: int, count: int) -> None:
        producer_id, known = self.some_known(data)
        if not known.current or known.open_at >= 0:
            return
        position = known.current[-1].last - self.model.window + distance
        self.send(producer_id, known.epoch, position % SEQUENCES, count)

    @precondition(lambda self: any(known.current for known in self.model.known.values()))
    @rule(data=st.data(), distance=st.integers(-3, 3), count=st.integers(1, 6))
    def send_at_the_floor(self, data: st.DataObject, distance: int, count: int) -> None:
        producer_id, known = self.some_known(data)
        if not known.current or known.open_at >= 0:
            return
        self.send(producer_id, known.epoch, (known.current[0].first + distance) % SEQUENCES, count)

    @precondition(lambda self: self.model.known)
    @rule(
        data=st.data(),
        by=st.integers(1, 2) | st.integers(-2, 3),
        sequence=st.just(0) | st.integers(0, 1),
        timestamp=timestamps,
    )
    def change_epoch(self, data: st.DataObject, by: int, sequence: int, timestamp: int) -> None:
        producer_id, known = self.some_known(data)
        epoch = min(max(0, known.epoch + by), EPOCH_MAX)
        self.send(
            producer_id,
            epoch,
            sequence,
            2,
            timestamp=timestamp,
            is_transactional=known.open_at >= 0,
        )

    @rule(
        producer_id=producer_ids,
        by=st.integers(-1, 2),
        coordinator_epoch=st.integers(0, 2),
        timestamp=timestamps,
    )
    def write_marker(
        self, producer_id: int, by: int, coordinator_epoch: int, timestamp: int
    ) -> None:
        known = self.model.known.get(producer_id)
        epoch = min(max(0, (known.epoch if known else 0) + by), EPOCH_MAX)
        if known is None:
            expected = ErrorCode.NONE
        elif epoch < known.epoch:
            expected = ErrorCode.INVALID_PRODUCER_EPOCH
        elif coordinator_epoch < known.coordinator_epoch:
            expected = ErrorCode.TRANSACTION_COORDINATOR_FENCED
        else:
            expected = ErrorCode.NONE
        assert self.producers.check_marker(producer_id, epoch, coordinator_epoch) == expected
        if expected != ErrorCode.NONE:
            return
        self.producers.apply_marker(producer_id, epoch, coordinator_epoch, timestamp)
        self.transactional.add(producer_id)
        known = self.model.known.setdefault(producer_id, Known(epoch))
        known.epoch = epoch
        known.coordinator_epoch = coordinator_epoch
        known.last_timestamp = timestamp
        known.open_at = -1
        self.end_offset += 1

    @rule(passed_ms=st.integers(0, 30) | st.integers(0, 2500), expiration_ms=st.just(EXPIRATION_MS))
    def expire(self, passed_ms: int, expiration_ms: int) -> None:
        self.now_ms += passed_ms
        expected = self.model.expire(self.now_ms - expiration_ms)
        assert sum(self.producers.expire_in_steps(self.now_ms, expiration_ms)) == expected

    @rule(passed_ms=st.integers(0, 1000), steps=st.integers(0, 5), late_ids=st.lists(producer_ids))
    def expire_in_steps(self, passed_ms: int, steps: int, late_ids: list[int]) -> None:
        """Producers that write while others are being forgotten stay; it may also be given up."""
        self.now_ms += passed_ms
        latest_expired_ms = self.now_ms - EXPIRATION_MS
        expiring = self.producers.expire_in_steps(self.now_ms, EXPIRATION_MS)
        for _, _ in zip(range(steps), expiring, strict=False):
            pass
        self.forget_what_is_gone(latest_expired_ms)
        for producer_id in late_ids:
            if producer_id not in self.model.known:
                self.send(producer_id, 0, 0, 1, timestamp=self.now_ms)
        if steps % 2:
            self.finish(expiring)
            self.model.expire(latest_expired_ms)

    def forget_what_is_gone(self, latest_expired_ms: int) -> None:
        """A pass that isn't finished has forgotten any of those that are due, and no others."""
        kept = {row.producer_id for row in self.producers.describe()}
        for producer_id in set(self.model.known) - kept:
            known = self.model.known.pop(producer_id)
            assert known.last_timestamp <= latest_expired_ms
            assert known.open_at < 0

    def finish(self, expiring: Iterator[int]) -> None:
        for _ in expiring:
            pass

    @invariant()
    def the_same_producers_are_described(self) -> None:
        expected = [
            ProducerDescription(
                producer_id,
                known.epoch,
                known.current[-1].last % SEQUENCES if known.current else -1,
                known.last_timestamp,
                known.coordinator_epoch,
                known.open_at,
            )
            for producer_id, known in sorted(self.model.known.items(), key=lambda item: item[0])
        ]
        assert self.producers.describe() == expected
        assert len(self.producers) == len(expected)


class KafkaAgainstModel(ProducersAgainstModel):
    batches = 5


class Kip758AgainstModel(ProducersAgainstModel):
    batches = 1


TestKafkaAgainstModel = KafkaAgainstModel.TestCase
TestKip758AgainstModel = Kip758AgainstModel.TestCase
TestKafkaAgainstModel.settings = settings(max_examples=examples(60), stateful_step_count=40)
TestKip758AgainstModel.settings = settings(max_examples=examples(60), stateful_step_count=40)
