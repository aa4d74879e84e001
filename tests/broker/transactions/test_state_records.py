"""The records of transactional ids, built by hand, are those of the schema."""

from hypothesis import given
from hypothesis import strategies as st

from broker.transactions.state_records import (
    TRANSACTION_STATUS,
    transaction_batch,
    transaction_key,
    transaction_value,
)
from broker.transactions.transaction import Transaction, TransactionState
from protocol.batch_builder import uncompressed_batch
from protocol.coordinator_records import TRANSACTION_RECORDS, decode_key, decode_value
from protocol.data_messages import encode_data

_TOPICS = st.text("ab-_.", min_size=1, max_size=249)
_PARTITIONS = st.dictionaries(st.tuples(_TOPICS, st.integers(0, 2**31 - 1)), st.none(), max_size=20)
_INT64 = st.integers(-1, 2**63 - 1)


@given(
    transactional_id=st.text(max_size=200) | st.just("long" * 100),
    state=st.sampled_from(TransactionState),
    partitions=_PARTITIONS,
    producer_id=_INT64,
    previous_producer_id=_INT64,
    next_producer_id=_INT64,
    has_producer_ids=st.booleans(),
    producer_epoch=st.integers(-1, 2**15 - 1),
    timeout_ms=st.integers(0, 2**31 - 1),
    last_update_ms=_INT64,
    start_ms=_INT64,
    client_version=st.sampled_from([0, 2]),
    level=st.sampled_from([0, 1, 2]),
    base_offset=st.integers(0, 2**63 - 1),
    leader_epoch=st.integers(0, 2**31 - 1),
    timestamp_ms=st.integers(0, 2**63 - 1),
)
def test_a_record_decodes_to_its_transaction(
    transactional_id: str,
    state: TransactionState,
    partitions: dict[tuple[str, int], None],
    producer_id: int,
    previous_producer_id: int,
    next_producer_id: int,
    has_producer_ids: bool,
    producer_epoch: int,
    timeout_ms: int,
    last_update_ms: int,
    start_ms: int,
    client_version: int,
    level: int,
    base_offset: int,
    leader_epoch: int,
    timestamp_ms: int,
) -> None:
    transaction = Transaction(
        transactional_id,
        producer_id,
        timeout_ms,
        last_update_ms,
        previous_producer_id,
        next_producer_id,
        producer_epoch,
        state=state,
        partitions=partitions,
        start_ms=start_ms,
        transaction_version=client_version,
    )
    encoded = transaction_value(transaction, level, has_producer_ids=has_producer_ids)
    record = transaction_key(transactional_id), encoded
    batch = uncompressed_batch((record,), base_offset, leader_epoch, timestamp_ms)
    for _ in range(2):  # built, then built from what is remembered
        found_batch = transaction_batch(
            transaction,
            level,
            base_offset,
            leader_epoch,
            timestamp_ms,
            has_producer_ids=has_producer_ids,
        )
        assert found_batch == batch
    key = decode_key(TRANSACTION_RECORDS, record[0])
    assert key.transactional_id == transactional_id
    value = decode_value(TRANSACTION_RECORDS, key, encoded)
    assert encode_data(value, min(level, 1)) == encoded
    assert value.producer_id == producer_id
    others = (value.previous_producer_id, value.next_producer_id)
    are_written = has_producer_ids and level > 0
    assert others == ((previous_producer_id, next_producer_id) if are_written else (-1, -1))
    assert value.producer_epoch == producer_epoch
    assert value.transaction_timeout_ms == timeout_ms
    assert value.transaction_status == TRANSACTION_STATUS[state]
    assert value.transaction_last_update_timestamp_ms == last_update_ms
    assert value.transaction_start_timestamp_ms == start_ms
    assert value.client_transaction_version == (client_version if level else 0)
    if state is TransactionState.EMPTY:
        assert value.transaction_partitions is None
    else:
        found = {
            (part.topic, index)
            for part in value.transaction_partitions
            for index in part.partition_ids
        }
        assert found == partitions.keys()


def test_states_have_the_numbers_of_kafka() -> None:
    assert {state.value: number for state, number in TRANSACTION_STATUS.items()} == {
        "Empty": 0,
        "Ongoing": 1,
        "PrepareCommit": 2,
        "PrepareAbort": 3,
        "CompleteCommit": 4,
        "CompleteAbort": 5,
        "Dead": 6,
        "PrepareEpochFence": 7,
    }
