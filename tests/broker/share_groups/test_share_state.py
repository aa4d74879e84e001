"""The state that share coordinators keep, and its records."""

from typing import Any
from uuid import UUID

from broker.errors import Refusal
from broker.share_groups.in_flight import StateBatch
from broker.share_groups.sessions import TopicIdPartition
from broker.share_groups.share_state import SharePartitionKey, ShareState, ShareStates
from protocol.coordinator_records import (
    SHARE_RECORDS,
    CoordinatorRecord,
    decode_key,
    decode_value,
)
from protocol.errors import ErrorCode
from protocol.releases import Release

TOPIC_ID = UUID(int=1)
KEY = SharePartitionKey("g", TOPIC_ID, 0)
DONE = StateBatch(0, 4, 2, 1)


class Log:
    """Share states with a list of what was appended."""

    def __init__(self, updates_per_snapshot: int = 2, release: Release = (4, 1)) -> None:
        self.records: list[CoordinatorRecord] = []
        self.refusal: Refusal | None = None
        self.states = ShareStates(
            has_partition=lambda topic_id, index: topic_id == TOPIC_ID and index < 2,
            append_record=self._append,
            updates_per_snapshot=updates_per_snapshot,
            release=release,
        )

    def _append(
        self, _key: SharePartitionKey, record: CoordinatorRecord, _now_ms: int
    ) -> Refusal | None:
        if self.refusal is None:
            self.records.append(record)
        return self.refusal

    def decoded(self) -> list[tuple[str, Any]]:
        found = []
        for encoded_key, encoded in self.records:
            key = decode_key(SHARE_RECORDS, encoded_key)
            name = type(key).__name__.removesuffix("Key")
            found.append((name, decode_value(SHARE_RECORDS, key, encoded)))
        return found

    def write(self, *batches: StateBatch, **fields: int) -> ErrorCode:
        values = {"state_epoch": 1, "leader_epoch": 0, "start_offset": 0, "now_ms": 0} | fields
        refusal = self.states.write(KEY, state_batches=batches, **values)
        return ErrorCode.NONE if refusal is None else refusal.error_code


def code(result: ShareState | Refusal | None) -> ErrorCode:
    return result.error_code if isinstance(result, Refusal) else ErrorCode.NONE


def test_a_leader_reads_what_the_last_one_wrote() -> None:
    log = Log()
    assert log.states.initialize(KEY, 1, -1, 0) is None
    assert log.write(DONE, start_offset=0) == ErrorCode.NONE
    assert log.write(StateBatch(5, 6, 0, 2), start_offset=5) == ErrorCode.NONE

    state = log.states.read(KEY, 3, 0)

    assert isinstance(state, ShareState)
    assert (state.start_offset, state.state_batches) == (5, (StateBatch(5, 6, 0, 2),))
    # From now on the old leader may not write any more.
    assert log.write(DONE) == ErrorCode.FENCED_LEADER_EPOCH
    assert code(log.states.read(KEY, 2, 0)) == ErrorCode.FENCED_LEADER_EPOCH


def test_every_few_updates_become_a_snapshot() -> None:
    log = Log(updates_per_snapshot=2)
    log.states.initialize(KEY, 1, -1, 0)
    for offset in range(4):
        log.write(StateBatch(offset, offset, 2, 1), start_offset=offset)

    assert [name for name, _value in log.decoded()] == [
        "ShareSnapshot",
        "ShareUpdate",
        "ShareUpdate",
        "ShareSnapshot",
        "ShareUpdate",
    ]
    snapshot = log.decoded()[3][1]
    assert (snapshot.snapshot_epoch, snapshot.start_offset) == (1, 2)
    assert [batch.first_offset for batch in snapshot.state_batches] == [2]


def test_a_new_state_fences_writers_of_the_old_one() -> None:
    log = Log()
    log.states.initialize(KEY, 1, -1, 0)
    log.states.initialize(KEY, 3, 10, 0)

    assert log.write(DONE, state_epoch=1) == ErrorCode.FENCED_STATE_EPOCH
    assert code(log.states.initialize(KEY, 2, 0, 0)) == ErrorCode.FENCED_STATE_EPOCH
    assert log.write(DONE, state_epoch=4) == ErrorCode.NONE
    assert log.decoded()[-1][0] == "ShareSnapshot"


def test_a_state_that_was_not_begun_is_neither_read_nor_written() -> None:
    log = Log()

    assert log.write(DONE) == ErrorCode.INVALID_REQUEST
    assert code(log.states.read(KEY, 0, 0)) == ErrorCode.INVALID_REQUEST
    assert log.states.delete(KEY, 0) is None
    assert log.records == []


def test_partitions_that_do_not_exist_are_refused() -> None:
    log, states = Log(), Log().states
    negative, unknown = KEY._replace(partition_index=-1), KEY._replace(partition_index=2)

    for key, error_code in (
        (negative, ErrorCode.INVALID_REQUEST),
        (unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        assert code(states.initialize(key, 1, -1, 0)) == error_code
        assert code(states.delete(key, 0)) == error_code
    assert code(states.read(negative, 0, 0)) == ErrorCode.INVALID_REQUEST
    log.states.initialize_all("g", 1, [TopicIdPartition(TOPIC_ID, 0)], 0)
    refused = states.write(
        negative, state_epoch=1, leader_epoch=0, start_offset=0, state_batches=[], now_ms=0
    )
    assert code(refused) == ErrorCode.INVALID_REQUEST


def test_nothing_changes_if_the_log_does_not_take_the_record() -> None:
    log = Log()
    log.states.initialize(KEY, 1, -1, 0)
    log.refusal = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, None)

    assert log.write(DONE) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert code(log.states.read(KEY, 1, 0)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert log.states.initialize_all("g", 2, [TopicIdPartition(TOPIC_ID, 0)], 0) == [False]
    assert code(log.states.delete(KEY, 0)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    state = log.states.get(KEY)
    assert state is not None
    assert (state.leader_epoch, state.state_batches) == (0, ())


def test_deleted_states_leave_a_tombstone() -> None:
    log = Log()
    log.states.initialize(KEY, 1, -1, 0)

    log.states.forget_topic(TOPIC_ID, 0)

    assert log.decoded()[-1] == ("ShareSnapshot", None)
    assert log.states.keys() == []
    log.states.initialize(KEY, 1, -1, 0)
    log.states.forget_all()
    assert log.states.get(KEY) is None


def count(log: Log) -> int:
    state = log.states.get(KEY)
    assert state is not None
    return state.finished_count


def test_since_kafka_4_2_the_count_of_finished_records_is_kept_in_updates_and_snapshots() -> None:
    log = Log(updates_per_snapshot=1, release=(4, 2))
    log.states.initialize(KEY, 1, -1, 0)
    assert count(log) == -1
    log.states.initialize(KEY, 1, 0, 0)
    assert count(log) == 0

    log.write(DONE, finished_count=5)
    log.write(DONE, finished_count=7)

    written = [(name, value.delivery_complete_count) for name, value in log.decoded()]
    assert written == [
        ("ShareSnapshot", -1),
        ("ShareSnapshot", 0),
        ("ShareUpdate", 5),
        ("ShareSnapshot", 7),
    ]


def test_since_kafka_4_2_neither_start_nor_count_go_back() -> None:
    log = Log(release=(4, 2))
    log.states.initialize(KEY, 1, 10, 0)
    log.write(start_offset=10, finished_count=4)

    log.write(start_offset=10, finished_count=3)
    assert count(log) == 4
    log.write(start_offset=5, finished_count=9)
    assert count(log) == 4
    log.write(start_offset=12, finished_count=1)
    state = log.states.read(KEY, 3, 0)
    assert isinstance(state, ShareState)
    assert (state.start_offset, count(log)) == (12, 1)


def test_since_kafka_4_2_epochs_must_not_be_negative() -> None:
    log = Log(release=(4, 2))
    log.states.initialize(KEY, 1, 0, 0)

    assert code(log.states.initialize(KEY, -1, 0, 0)) == ErrorCode.INVALID_REQUEST
    assert code(log.states.read(KEY, -1, 0)) == ErrorCode.INVALID_REQUEST
    assert log.write(leader_epoch=-1) == ErrorCode.INVALID_REQUEST
    assert log.write(state_epoch=-1) == ErrorCode.INVALID_REQUEST
    assert log.write(state_epoch=4) == ErrorCode.NONE


def test_before_kafka_4_2_there_is_no_count() -> None:
    log = Log()
    log.states.initialize(KEY, 1, 0, 0)
    log.write(DONE, finished_count=5)

    assert count(log) == -1


def test_the_message_of_an_old_state_epoch_speaks_of_share_groups_before_kafka_4_4() -> None:
    for release, words in (((4, 3), "the share-group state epoch"), ((4, 4), "the state epoch")):
        states = Log(release=release).states
        assert states.initialize(KEY, 2, 0, 0) is None
        refusal = states.initialize(KEY, 1, 0, 0)
        assert isinstance(refusal, Refusal)
        assert words in (refusal.error_message or "")


def test_a_state_without_a_snapshot_for_long_gets_one_once() -> None:
    log = Log(updates_per_snapshot=10, release=(4, 4))
    log.states.initialize(KEY, 1, 0, 1000)
    log.write(DONE, now_ms=2000)

    assert log.states.next_cold_ms(500) == 1500
    assert not list(log.states.snapshot_cold([KEY], 500, 1499))
    assert len(list(log.states.snapshot_cold([KEY], 500, 3000))) == 1
    assert log.states.next_cold_ms(500) is None
    assert not list(log.states.snapshot_cold([KEY], 500, 9000))

    name, value = log.decoded()[-1]
    assert (name, value.snapshot_epoch) == ("ShareSnapshot", 1)
    assert (value.create_timestamp, value.write_timestamp) == (1000, 3000)
    assert [batch.last_offset for batch in value.state_batches] == [4]


def test_cold_states_are_written_again_beside_one_that_is_new() -> None:
    log = Log(updates_per_snapshot=10, release=(4, 4))
    other = KEY._replace(partition_index=1)
    log.states.initialize(KEY, 1, 0, 0)
    list(log.states.snapshot_cold([KEY], 500, 500))
    log.states.initialize(other, 1, 0, 900)

    assert len(list(log.states.snapshot_cold([KEY, other], 500, 1100))) == 1
    state = log.states.get(KEY)
    assert state is not None
    assert (state.snapshot_epoch, state.written_ms) == (2, 1100)


def test_only_a_snapshot_that_is_due_to_updates_ends_their_count() -> None:
    """As in Kafka: neither a cold snapshot nor a new initialization does."""
    log = Log(updates_per_snapshot=2, release=(4, 4))
    log.states.initialize(KEY, 1, 0, 0)
    log.write(DONE)
    list(log.states.snapshot_cold([KEY], 500, 500))
    log.states.initialize(KEY, 1, 0, 600)
    log.write(DONE)
    log.write(DONE)
    log.write(DONE)

    names = [name for name, _ in log.decoded()]
    assert names == [f"Share{name}" for name in ("Snapshot", "Update", "Snapshot", "Snapshot")] + [
        f"Share{name}" for name in ("Update", "Snapshot", "Update")
    ]
