"""Transactional ids: InitProducerId, partitions, ends, timeouts and expiry."""

from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from broker.transactions.coordinator import ProducerIdAndEpoch, TransactionCoordinator
from broker.transactions.transaction import (
    COMPLETE,
    LAST_EPOCH,
    PREPARED,
    Transaction,
    TransactionState,
)
from protocol.errors import ErrorCode

NOW_MS = 1_700_000_000_000
TIMEOUT_MS = 60_000
CONFIG = {
    "transaction.max.timeout.ms": 900_000,
    "transactional.id.expiration.ms": 1_000_000,
    "transaction.two.phase.commit.enable": False,
}
PARTITION = ("t", 0)


class Driver:
    """One transactional id at a coordinator, with markers written when the test says so."""

    def __init__(self, version: int = 2, **config: Any) -> None:
        self.version = version
        self.coordinator = TransactionCoordinator(CONFIG | config, lambda: self.version)
        self.new_producer_id = count().__next__

    def init(
        self, expected: tuple[int, int] | None = None, timeout_ms: int = TIMEOUT_MS, **flags: Any
    ) -> tuple[ErrorCode, ProducerIdAndEpoch]:
        result = self.coordinator.init_producer_id(
            "tx",
            timeout_ms,
            None if expected is None else ProducerIdAndEpoch(*expected),
            new_producer_id=self.new_producer_id,
            now_ms=NOW_MS,
            **flags,
        )
        return result.error_code, result.producer

    def started(self) -> ProducerIdAndEpoch:
        error_code, producer = self.init()
        assert error_code is ErrorCode.NONE
        return producer

    def add(
        self, producer: ProducerIdAndEpoch, now_ms: int = NOW_MS, version: int | None = None
    ) -> ErrorCode:
        return self.coordinator.add_partitions(
            "tx",
            producer,
            [PARTITION],
            transaction_version=self.version if version is None else version,
            now_ms=now_ms,
        )

    def end(self, producer: ProducerIdAndEpoch, *, commit: bool) -> Any:
        return self.coordinator.end(
            "tx",
            producer,
            is_commit=commit,
            transaction_version=self.version,
            new_producer_id=self.new_producer_id,
            now_ms=NOW_MS,
        )

    @property
    def transaction(self) -> Transaction:
        found = self.coordinator.get("tx")
        assert found is not None
        return found

    def write_markers(self) -> None:
        for transaction in tuple(self.coordinator.prepared.values()):
            transaction.partitions.clear()
            self.coordinator.complete(transaction, NOW_MS)


def test_a_new_transactional_id_gets_epoch_0_and_the_next_instance_epoch_1() -> None:
    driver = Driver()
    assert driver.init() == (ErrorCode.NONE, (0, 0))
    assert driver.init() == (ErrorCode.NONE, (0, 1))


@pytest.mark.parametrize(("version", "epoch_after"), [(0, 2), (1, 2), (2, 2)])
def test_an_ongoing_transaction_is_aborted_before_the_next_instance(
    version: int, epoch_after: int
) -> None:
    driver = Driver(version)
    first = driver.started()
    assert driver.add(first) is ErrorCode.NONE
    assert driver.init()[0] is ErrorCode.CONCURRENT_TRANSACTIONS
    assert driver.transaction.state is TransactionState.PREPARE_ABORT
    assert driver.transaction.producer_epoch == 1
    assert driver.transaction.last_producer_epoch == (0 if version == 2 else -1)
    assert driver.init()[0] is ErrorCode.CONCURRENT_TRANSACTIONS
    assert driver.add(first) is ErrorCode.PRODUCER_FENCED
    driver.write_markers()
    assert driver.init() == (ErrorCode.NONE, (0, epoch_after))


def test_a_retry_of_an_epoch_bump_gets_the_same_epoch() -> None:
    driver = Driver()
    first = driver.started()
    assert driver.init(first) == (ErrorCode.NONE, (0, 1))
    assert driver.init(first) == (ErrorCode.NONE, (0, 1))
    assert driver.init() == (ErrorCode.NONE, (0, 2))
    assert driver.init(first)[0] is ErrorCode.PRODUCER_FENCED
    assert driver.init((5, 2))[0] is ErrorCode.PRODUCER_FENCED


def test_a_new_producer_id_follows_the_last_epoch() -> None:
    driver = Driver()
    driver.started()
    driver.transaction.producer_epoch = LAST_EPOCH
    assert driver.init((0, LAST_EPOCH)) == (ErrorCode.NONE, (1, 0))
    assert driver.init((0, LAST_EPOCH)) == (ErrorCode.NONE, (1, 0))  # a retry
    driver.transaction.producer_epoch = LAST_EPOCH
    assert driver.init() == (ErrorCode.NONE, (2, 0))
    driver.transaction.producer_epoch = LAST_EPOCH
    assert driver.init((2, 7))[0] is ErrorCode.UNKNOWN_SERVER_ERROR


def test_the_end_with_the_last_epoch_returns_a_new_producer_id() -> None:
    driver = Driver()
    driver.started()
    driver.transaction.producer_epoch = LAST_EPOCH
    producer = ProducerIdAndEpoch(0, LAST_EPOCH)
    assert driver.add(producer) is ErrorCode.NONE
    assert driver.end(producer, commit=True) == (ErrorCode.NONE, 1, 0)
    # The marker fences the old id with the highest epoch.
    assert (driver.transaction.producer_id, driver.transaction.producer_epoch) == (0, 32767)
    assert driver.end(producer, commit=True)[0] is ErrorCode.CONCURRENT_TRANSACTIONS
    driver.write_markers()
    assert driver.end(producer, commit=True) == (ErrorCode.NONE, 1, 0)
    assert driver.end(producer, commit=False)[0] is ErrorCode.INVALID_TXN_STATE
    assert driver.add(ProducerIdAndEpoch(1, 0)) is ErrorCode.NONE


def test_nobody_goes_on_with_the_epoch_that_fences_the_last_one() -> None:
    driver = Driver()
    driver.started()
    driver.transaction.producer_epoch = LAST_EPOCH
    producer = ProducerIdAndEpoch(0, LAST_EPOCH)
    driver.add(producer)
    driver.coordinator.abort(driver.transaction, NOW_MS)
    driver.write_markers()
    fencing = ProducerIdAndEpoch(0, LAST_EPOCH + 1)
    assert driver.transaction.producer_epoch == fencing.producer_epoch
    for commit in (False, True):
        assert driver.end(producer, commit=commit) == (ErrorCode.PRODUCER_FENCED, -1, -1)
        assert driver.end(fencing, commit=commit) == (ErrorCode.PRODUCER_FENCED, -1, -1)
    assert driver.add(fencing) is ErrorCode.PRODUCER_FENCED
    assert driver.init() == (ErrorCode.NONE, (1, 0))


@pytest.mark.parametrize("commit", [False, True])
def test_a_fenced_producer_does_not_get_the_epoch_of_an_older_client(commit: bool) -> None:
    driver = Driver()
    fenced = driver.started()
    newer = driver.started()
    assert newer.producer_epoch == fenced.producer_epoch + 1
    # A client of version 1 keeps its epoch at the end.
    driver.version = 1
    assert driver.add(newer) is ErrorCode.NONE
    assert driver.end(newer, commit=commit) == (ErrorCode.NONE, -1, -1)
    driver.write_markers()
    driver.version = 2
    assert driver.end(fenced, commit=commit) == (ErrorCode.PRODUCER_FENCED, -1, -1)


@pytest.mark.parametrize(
    ("timeout_ms", "flags", "error_code"),
    [
        (0, {}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (900_001, {}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (900_000, {}, ErrorCode.NONE),
        (1, {"enable_2pc": True}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (1, {"keep_prepared": True}, ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_the_request_is_checked_as_in_kafka(
    timeout_ms: int, flags: dict[str, bool], error_code: ErrorCode
) -> None:
    assert Driver().init(None, timeout_ms, **flags)[0] is error_code


def test_two_phase_commit_has_no_timeout() -> None:
    driver = Driver(**{"transaction.two.phase.commit.enable": True})
    error_code, producer = driver.init(timeout_ms=-1, enable_2pc=True)
    assert error_code is ErrorCode.NONE
    driver.add(producer)
    assert driver.coordinator.timed_out(NOW_MS + 2**40) == []


def test_a_transaction_times_out_after_its_timeout() -> None:
    driver = Driver()
    driver.add(driver.started())
    assert driver.coordinator.timed_out(NOW_MS + TIMEOUT_MS) == []
    (transaction,) = driver.coordinator.timed_out(NOW_MS + TIMEOUT_MS + 1)
    driver.coordinator.abort(transaction, NOW_MS)
    assert transaction.state is TransactionState.PREPARE_ABORT
    assert driver.coordinator.timed_out(NOW_MS + TIMEOUT_MS + 1) == []


def test_an_idle_transactional_id_expires_and_an_ongoing_one_stays() -> None:
    driver = Driver()
    producer = driver.started()
    driver.coordinator.expire(NOW_MS + 999_999)
    assert driver.coordinator.get("tx") is not None
    driver.add(producer)
    driver.coordinator.expire(NOW_MS + 1_000_000)
    assert driver.coordinator.get("tx") is not None
    driver.end(producer, commit=False)
    driver.coordinator.expire(NOW_MS + 1_000_000)
    assert driver.coordinator.get("tx") is not None
    driver.write_markers()
    driver.coordinator.expire(NOW_MS + 1_000_000)
    assert driver.coordinator.get("tx") is None
    assert driver.add(producer) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert driver.end(producer, commit=True)[0] is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    # A producer with the id of before is as good as a new one.
    assert driver.init(producer) == (ErrorCode.NONE, (1, 0))


def test_partitions_are_verified() -> None:
    driver = Driver(1)
    producer = driver.started()
    verify = driver.coordinator.verify_partition
    assert verify("tx", producer, PARTITION) is ErrorCode.TRANSACTION_ABORTABLE
    driver.add(producer)
    assert verify("tx", producer, PARTITION) is ErrorCode.NONE
    assert verify("tx", producer, ("t", 1)) is ErrorCode.TRANSACTION_ABORTABLE
    other_epoch = ProducerIdAndEpoch(producer.producer_id, 1)
    assert verify("tx", other_epoch, PARTITION) is ErrorCode.PRODUCER_FENCED
    other_id = ProducerIdAndEpoch(9, 0)
    assert verify("tx", other_id, PARTITION) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert verify("", producer, PARTITION) is ErrorCode.INVALID_REQUEST
    driver.end(producer, commit=True)
    assert verify("tx", producer, PARTITION) is ErrorCode.CONCURRENT_TRANSACTIONS


EPOCHS = st.integers(0, 6)


class OneTransactionalId(RuleBasedStateMachine):
    """Any order of requests of any instance: only the current one ever begins or ends anything."""

    @initialize(version=st.sampled_from([1, 2]))
    def begin(self, version: int) -> None:
        self.driver = Driver(version)
        self.instance = self.driver.started()
        self.outcomes: dict[int, set[bool]] = {}

    @property
    def current(self) -> tuple[int, int]:
        transaction = self.driver.transaction
        return transaction.producer_id, transaction.producer_epoch

    @rule()
    def start_instance(self) -> None:
        before = self.driver.transaction.state
        error_code, producer = self.driver.init()
        if before in PREPARED or before is TransactionState.ONGOING:
            assert error_code is ErrorCode.CONCURRENT_TRANSACTIONS
        else:
            assert error_code is ErrorCode.NONE
            assert producer > self.instance
            self.instance = producer

    @rule(epoch=EPOCHS)
    def add(self, epoch: int) -> None:
        before = self.driver.transaction.state
        error_code = self.driver.add(ProducerIdAndEpoch(0, epoch))
        if (0, epoch) != self.current:
            assert error_code is ErrorCode.PRODUCER_FENCED
        elif before in PREPARED:
            assert error_code is ErrorCode.CONCURRENT_TRANSACTIONS
        else:
            assert error_code is ErrorCode.NONE
            assert self.driver.transaction.state is TransactionState.ONGOING

    @rule(epoch=EPOCHS, commit=st.booleans())
    def end(self, epoch: int, commit: bool) -> None:
        before, known = self.driver.transaction.state, self.current
        result = self.driver.end(ProducerIdAndEpoch(0, epoch), commit=commit)
        after = self.driver.transaction.state
        if before is TransactionState.ONGOING and known == (0, epoch):
            assert result.error_code is ErrorCode.NONE
            expected = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
            assert after is expected
        elif after is not before:
            # Only version 2 aborts without a transaction, and only for the current instance.
            assert (self.driver.version, commit, known) == (2, False, (0, epoch))
            assert after is TransactionState.PREPARE_ABORT
        if result.error_code is ErrorCode.NONE and self.driver.version == 2:
            assert result[1:] == self.current

    @rule()
    def write_markers(self) -> None:
        self.driver.write_markers()
        assert self.driver.transaction.state not in PREPARED

    @rule()
    def time_out(self) -> None:
        for transaction in self.driver.coordinator.timed_out(NOW_MS + TIMEOUT_MS + 1):
            epoch = transaction.producer_epoch
            self.driver.coordinator.abort(transaction, NOW_MS)
            assert transaction.producer_epoch == epoch + 1

    @invariant()
    def only_prepared_transactions_wait_for_markers(self) -> None:
        transaction = self.driver.transaction
        assert (transaction.state in PREPARED) == ("tx" in self.driver.coordinator.prepared)
        if transaction.state in COMPLETE or transaction.state is TransactionState.EMPTY:
            assert not transaction.partitions


TestOneTransactionalId = OneTransactionalId.TestCase
TestOneTransactionalId.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
