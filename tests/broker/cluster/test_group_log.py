"""The topic `__consumer_offsets` has the state of all groups, whatever they did."""

from struct import pack
from typing import Any

import pytest
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from hypothesis.strategies import integers, sampled_from

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA
from broker.groups import deleted_offsets, group_table
from broker.groups.requests import CommitRequest, JoinRequest, OffsetToCommit, SyncRequest
from broker.groups.results import JoinResult, SyncResult
from protocol.coordinator_records import (
    GROUP_RECORDS,
    CoordinatorRecord,
    GroupMetadataKey,
    OffsetCommitKey,
    decode_key,
    decode_value,
)
from protocol.errors import ErrorCode
from protocol.records import (
    CONTROL_FLAG,
    LOG_OVERHEAD_BYTES,
    TRANSACTIONAL_FLAG,
    has_valid_crc,
    read_header,
    read_records,
)
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.transactional_driver import TransactionDriver, make_driver

GROUPS = ("g", "h", "i")
TOPICS = ("a", "b")
MINUTE_MS = 60_000


def replay(cluster: Cluster) -> tuple[dict[tuple[str, str, int], Any], dict[str, Any]]:
    """Return the values of committed offsets and of groups that the records end in."""
    offsets: dict[tuple[str, str, int], Any] = {}
    groups: dict[str, Any] = {}
    topic = cluster.topics.get("__consumer_offsets")
    for partition in () if topic is None else topic.partitions:
        for batch in partition.log.rewind():
            for record in read_records(batch):
                key = decode_key(GROUP_RECORDS, record.key or b"")
                value = decode_value(GROUP_RECORDS, key, record.value)
                assert cluster.group_log.partition_index(key.group) == partition.partition_index
                if isinstance(key, OffsetCommitKey):
                    offsets[key.group, key.topic, key.partition] = value
                else:
                    assert isinstance(key, GroupMetadataKey)
                    groups[key.group] = value
    return (
        {key: value for key, value in offsets.items() if value is not None},
        {key: value for key, value in groups.items() if value is not None},
    )


def commit(
    cluster: Cluster, group_id: str, *offsets: OffsetToCommit, now_ms: int = NOW_MS
) -> tuple[ErrorCode, ...]:
    return cluster.groups.table.commit(CommitRequest(group_id, offsets), now_ms)


class GroupsAndTheirLog(RuleBasedStateMachine):
    """After any requests, a replay of the topic gives the offsets and the members of all groups."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = make_cluster(3, **{"offsets.topic.num.partitions": "3"})
        for name in TOPICS:
            self.cluster.create_topic(name, [(1,), (2,)], {})
        ensure_internal_topic(self.cluster, GROUP_METADATA)
        self.now_ms = NOW_MS
        self.members: dict[str, JoinResult] = {}

    @rule(
        group_id=sampled_from(GROUPS),
        topic=sampled_from(TOPICS),
        index=integers(0, 1),
        offset=integers(0, 9),
        metadata=sampled_from(["", "note", "é" * 100]),
        retention_ms=sampled_from([-1, 1000]),
    )
    def commit(
        self,
        group_id: str,
        topic: str,
        index: int,
        offset: int,
        metadata: str,
        retention_ms: int,
    ) -> None:
        member = self.members.get(group_id)
        self.cluster.groups.table.commit(
            CommitRequest(
                group_id,
                (OffsetToCommit(topic, index, offset, 5, metadata),),
                generation_id=member.generation_id if member else -1,
                member_id=member.member_id if member else "",
                retention_ms=retention_ms,
            ),
            self.now_ms,
        )

    @rule(group_id=sampled_from(GROUPS))
    def join_and_sync(self, group_id: str) -> None:
        joined: list[JoinResult] = []
        subscription = pack(">hi", 0, 1) + pack(">h", 1) + b"a" + pack(">i", -1)
        member = self.members.get(group_id)
        request = JoinRequest(
            group_id,
            member.member_id if member else "",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols={"range": subscription},
            client_id="client",
            client_host="/127.0.0.1",
        )
        self.cluster.groups.join(request, joined.append, self.now_ms)
        self.cluster.timers.run_due(self.now_ms)
        if not joined or joined[0].error_code is not ErrorCode.NONE:
            self.members.pop(group_id, None)
            return
        self.members[group_id] = joined[0]
        synced: list[SyncResult] = []
        request_sync = SyncRequest(
            group_id, joined[0].member_id, joined[0].generation_id, {joined[0].member_id: b"all"}
        )
        self.cluster.groups.sync(request_sync, synced.append, self.now_ms)

    @rule(minutes=sampled_from([0, 1, 9, 100, 20_000]))
    def wait(self, minutes: int) -> None:
        for _ in range(3):
            self.now_ms += minutes * MINUTE_MS // 3
            self.cluster.timers.run_due(self.now_ms)

    @rule(group_id=sampled_from(GROUPS))
    def delete_group(self, group_id: str) -> None:
        self.cluster.groups.table.delete_group(group_id, self.now_ms)

    @rule(group_id=sampled_from(GROUPS), topic=sampled_from(TOPICS))
    def delete_offsets(self, group_id: str, topic: str) -> None:
        self.cluster.groups.table.delete_offsets(group_id, [(topic, 0), (topic, 1)], self.now_ms)

    @rule(name=sampled_from(TOPICS))
    def recreate_topic(self, name: str) -> None:
        topic = self.cluster.topics.get(name)
        assert topic is not None
        self.cluster.delete_topic(topic, self.now_ms)
        self.cluster.create_topic(name, [(1,), (2,)], {})

    @rule()
    def lose_the_topic(self) -> None:
        topic = self.cluster.topics.get("__consumer_offsets")
        assert topic is not None
        self.cluster.delete_topic(topic, self.now_ms)
        ensure_internal_topic(self.cluster, GROUP_METADATA)
        self.members.clear()

    def waiting_deletions(self) -> set[tuple[str, str, int]]:
        """Return the deleted offsets whose records are not written yet."""
        return set()

    @invariant()
    def the_records_have_the_state_of_the_groups(self) -> None:
        offsets, groups = replay(self.cluster)
        committed = {
            (group_id, topic, index): found
            for group_id in self.cluster.groups.table.group_ids()
            for topic, index, found in self.cluster.groups.table.all_committed(group_id)
        }
        assert committed.keys() <= offsets.keys()
        assert offsets.keys() - committed.keys() <= self.waiting_deletions()
        for key, found in committed.items():
            value = offsets[key]
            assert (value.offset, value.metadata) == (found.offset, found.metadata)
            assert value.commit_timestamp == found.committed_ms
            if found.expires_ms is None:
                assert value.leader_epoch == found.leader_epoch
            else:
                assert value.expire_timestamp == found.expires_ms
        for group_id, value in groups.items():
            description = self.cluster.groups.describe(group_id)
            assert description is not None
            if description.state.value == "Stable":
                assert [member.member_id for member in value.members] == [
                    member.member_id for member in description.members
                ]
                assert [member.assignment for member in value.members] == [b"all"]
                assert (value.protocol_type, value.protocol) == ("consumer", "range")
            if description.state.value == "Empty":
                assert (value.members, value.leader, value.protocol) == ([], None, None)


TestGroupsAndTheirLog = GroupsAndTheirLog.TestCase


class GroupsAndTheirLogInSteps(GroupsAndTheirLog):
    """The same with deletions that wait for a timer."""

    def __init__(self) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(deleted_offsets, "RECORDS_PER_STEP", 1)
        self.patch.setattr(group_table, "OFFSETS_PER_STEP", 1)
        super().__init__()

    def teardown(self) -> None:
        try:
            while self.waiting_deletions():
                self.do_one_step()
            self.the_records_have_the_state_of_the_groups()
        finally:
            self.patch.undo()

    def waiting_deletions(self) -> set[tuple[str, str, int]]:
        waiting = self.cluster.groups.table._deleted._waiting
        return {
            (group_id, name, index)
            for group_id, topics in waiting.items()
            for name, indexes in topics.items()
            for index in indexes
        }

    @rule()
    def do_one_step(self) -> None:
        self.now_ms += 1
        self.cluster.timers.run_due(self.now_ms)


TestGroupsAndTheirLogInSteps = GroupsAndTheirLogInSteps.TestCase


def test_without_a_topic_nothing_is_committed() -> None:
    cluster = make_cluster()
    assert commit(cluster, "g", OffsetToCommit("a", 0, 1)) == (ErrorCode.NOT_COORDINATOR,)
    assert cluster.groups.table.committed("g", "a", 0) is None


def test_a_commit_needs_min_insync_replicas() -> None:
    cluster = make_cluster(2, **{"min.insync.replicas": "2"})
    ensure_internal_topic(cluster, GROUP_METADATA)
    assert commit(cluster, "g", OffsetToCommit("a", 0, 1)) == (ErrorCode.NONE,)
    partition = cluster.group_log.partition("g")
    assert partition is not None
    partition.isr = partition.isr[:1]
    error_codes = commit(cluster, "g", OffsetToCommit("a", 0, 2), OffsetToCommit("a", 1, 2))
    assert error_codes == (ErrorCode.COORDINATOR_NOT_AVAILABLE,) * 2
    committed = cluster.groups.table.committed("g", "a", 0)
    assert committed is not None
    assert committed.offset == 1
    assert partition.log.log_end_offset == 1


def test_a_commit_is_one_batch_or_fails() -> None:
    cluster = make_cluster(1, **{"message.max.bytes": "300"})
    ensure_internal_topic(cluster, GROUP_METADATA)
    assert commit(cluster, "g", OffsetToCommit("a", 0, 1, metadata="x" * 150)) == (ErrorCode.NONE,)
    error_codes = commit(cluster, "g", *(OffsetToCommit("a", n, 1) for n in range(9)))
    assert error_codes == (ErrorCode.UNKNOWN_SERVER_ERROR,) * 9
    partition = cluster.group_log.partition("g")
    assert partition is not None
    assert partition.log.batch_count == 1


def test_deletions_that_do_not_fit_a_batch_are_several() -> None:
    cluster = make_cluster(1, **{"message.max.bytes": "300"})
    ensure_internal_topic(cluster, GROUP_METADATA)
    for index in range(20):
        commit(cluster, "g", OffsetToCommit("a", index, 1))
    assert cluster.groups.table.delete_group("g", NOW_MS) is ErrorCode.NONE
    assert replay(cluster) == ({}, {})


@pytest.mark.slow
def test_the_records_of_many_commits_take_bounded_memory() -> None:
    cluster = make_cluster(1, **{"log.memory.max.bytes": "1000"})
    ensure_internal_topic(cluster, GROUP_METADATA)
    for number in range(50_000):
        commit(cluster, "g", OffsetToCommit("a", number % 10, number), now_ms=NOW_MS + number)
    partition = cluster.group_log.partition("g")
    assert partition is not None
    records: list[CoordinatorRecord] = [
        (record.key or b"", record.value)
        for batch in partition.log.rewind()
        for record in read_records(batch)
    ]
    assert len(records) <= 1011
    assert partition.log.log_end_offset == 50_000
    assert partition.log.log_start_offset == 0
    offsets, _groups = replay(cluster)
    assert sorted(value.offset for value in offsets.values()) == list(range(49_990, 50_000))


class TestOffsetsOfATransaction:
    """The group's partition has a transactional batch at once, and a marker at the end."""

    def read(self, driver: TransactionDriver, isolation_level: int) -> tuple[list[int], list[Any]]:
        """Return the attributes of the batches, and the aborted transactions."""
        partition = driver.cluster.group_log.partition("g")
        assert partition is not None
        reader = TransactionDriver(driver.cluster, partition.leader_id)
        reader.topic = GROUP_METADATA.name
        fetched = reader.fetch(0, isolation_level, index=partition.partition_index)
        attributes = []
        position = 0
        while position < len(fetched.records):
            header = read_header(fetched.records, position)
            attributes.append(header.attributes)
            position += LOG_OVERHEAD_BYTES + header.batch_length
        return attributes, fetched.aborted or []

    @pytest.mark.parametrize("commit", [True, False])
    def test_readers_see_them_when_it_is_committed(self, commit: bool) -> None:
        driver = make_driver()
        partition = driver.cluster.group_log.partition("g")
        assert partition is not None
        _, producer = driver.init()
        assert driver.commit_offset(producer, "g", 3, version=5) == ErrorCode.NONE
        (batch,) = partition.log.rewind()
        header = read_header(batch, 0)
        assert (header.producer_id, header.producer_epoch) == producer
        assert (header.base_sequence, header.attributes) == (0, TRANSACTIONAL_FLAG)
        (record,) = read_records(batch)
        key = decode_key(GROUP_RECORDS, record.key or b"")
        assert (key.group, key.topic, key.partition) == ("g", "t", 0)
        assert decode_value(GROUP_RECORDS, key, record.value).offset == 3
        assert (partition.last_stable_offset, partition.log.log_end_offset) == (0, 1)
        assert self.read(driver, 1) == ([], [])
        assert self.read(driver, 0) == ([TRANSACTIONAL_FLAG], [])

        assert driver.end(producer, commit=commit, version=5)[0] == ErrorCode.NONE
        marker = TRANSACTIONAL_FLAG | CONTROL_FLAG
        aborted = [] if commit else [(producer.producer_id, 0)]
        assert self.read(driver, 1) == ([TRANSACTIONAL_FLAG, marker], aborted)
        assert partition.last_stable_offset == partition.log.log_end_offset == 2
        assert driver.fetch_offset("g") == (ErrorCode.NONE, 3 if commit else -1)

    def test_they_need_min_insync_replicas(self) -> None:
        driver = make_driver()
        partition = driver.cluster.group_log.partition("g")
        topic = driver.cluster.topics.get(GROUP_METADATA.name)
        assert partition is not None
        assert topic is not None
        _, producer = driver.init()
        partition.replicas = (1, 2)
        driver.cluster.alter_topic_config(topic, {"min.insync.replicas": "2"})
        error_code = driver.commit_offset(producer, "g", 3, version=5)
        assert error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert partition.log.log_end_offset == 0
        driver.cluster.alter_topic_config(topic, {})
        assert driver.commit_offset(producer, "g", 3, version=5) == ErrorCode.NONE
        driver.cluster.alter_topic_config(topic, {"min.insync.replicas": "2"})
        assert driver.end(producer, commit=True, version=5)[0] == ErrorCode.NONE
        assert driver.describe().transaction_state == "PrepareCommit"
        assert driver.fetch_offset("g") == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)

    def test_they_can_be_compressed(self) -> None:
        driver = make_driver(**{"offsets.topic.compression.codec": "1"})
        _, producer = driver.init()
        for offset in range(3):
            assert driver.commit_offset(producer, "g", offset, version=5) == ErrorCode.NONE
        partition = driver.cluster.group_log.partition("g")
        assert partition is not None
        headers = [read_header(batch, 0) for batch in partition.log.rewind()]
        assert {(h.producer_id, h.producer_epoch, h.base_sequence) for h in headers} == {
            (*producer, 0)
        }
        for batch, header in zip(partition.log.rewind(), headers, strict=True):
            assert has_valid_crc(batch, 0, len(batch), header.crc)

    def test_many_of_them_take_bounded_memory(self) -> None:
        driver = make_driver()
        _, producer = driver.init()
        for number in range(700):
            assert driver.commit_offset(producer, "g", number, version=5) == ErrorCode.NONE
            _, producer = driver.end(producer, commit=number % 2 == 0, version=5)
        partition = driver.cluster.group_log.partition("g")
        assert partition is not None
        assert partition.log.log_end_offset == 1400
        assert partition.log.batch_count < 1010
        assert len(partition.log.transaction_index) < 350
        assert driver.fetch_offset("g") == (ErrorCode.NONE, 698)

    def test_without_the_topic_none_is_pending(self) -> None:
        driver = make_driver()
        _, producer = driver.init()
        driver.commit_offset(producer, "g", 3, version=5)
        topic = driver.cluster.topics.get(GROUP_METADATA.name)
        assert topic is not None
        driver.cluster.delete_topic(topic, NOW_MS)
        assert not driver.cluster.groups.table.transactional_offsets.has_pending("g")
        assert driver.end(producer, commit=True, version=5)[0] == ErrorCode.NONE
        assert driver.describe().transaction_state == "CompleteCommit"
