"""Coordinators whose log has lost its end know what is left of it."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from broker.cluster.log_truncation import truncate_log
from broker.cluster.topics import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, Partition
from broker.groups.group import Group
from broker.groups.requests import CommitRequest, OffsetToCommit
from broker.transactions.transaction import Transaction
from tests.broker.cluster_builder import NOW_MS
from tests.broker.transactional_driver import TransactionDriver, transactional_cluster
from tests.examples import examples

GROUPS = ("g", "h")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.sampled_from(GROUPS)),
        st.tuples(st.just("add offsets"), st.sampled_from(GROUPS)),
        st.tuples(st.sampled_from(["produce", "end", "abort"]), st.just("")),
    ),
    max_size=10,
)


class Work:
    """Commits offsets, in transactions and without."""

    def __init__(self) -> None:
        self.cluster = transactional_cluster(
            1,
            **{
                "offsets.topic.num.partitions": "1",
                "transaction.state.log.num.partitions": "1",
                "group.initial.rebalance.delay.ms": "0",
            },
        )
        self.driver = TransactionDriver(self.cluster)
        _, self.producer = self.driver.init()
        self.sequence = self.offset = 0

    def do(self, steps: list[tuple[str, str]]) -> None:
        driver, producer = self.driver, self.producer
        for name, group in steps:
            self.offset += 1
            if name == "commit":
                offset = OffsetToCommit("t", 0, self.offset, 3, "m")
                request = CommitRequest(group, (offset,), -1, "")
                self.cluster.groups.table.commit(request, NOW_MS)
            elif name == "add offsets":
                driver.add_offsets(producer, group)
                driver.commit_offset(producer, group, self.offset)
            elif name == "produce":
                driver.add(producer, 0)
                driver.produce(producer, self.sequence)
                self.sequence += 1
            else:
                driver.end(producer, commit=name == "end")

    def partition(self, topic_name: str) -> Partition:
        topic = self.cluster.topics.get(topic_name)
        assert topic is not None
        return topic.partitions[0]

    def offsets(self) -> Any:
        table = self.cluster.groups.table
        return {
            group: (sorted(table.all_committed(group)), table.is_unstable(group, "t", 0))
            for group in GROUPS
        }

    def transaction(self) -> Any:
        known = self.cluster.transactions.get("tx")
        if known is None:
            return None
        names = set(Transaction.__slots__) - {"log", "last_producer_epoch", "marker_requests"}
        return {name: getattr(known, name) for name in names}


@given(STEPS, STEPS)
@settings(max_examples=examples(60), deadline=None)
def test_committed_offsets_are_those_of_the_records_that_are_left(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    never, lost = Work(), Work()
    never.do(before)
    lost.do(before)
    partition = lost.partition(GROUP_METADATA_TOPIC)
    offset = partition.log.log_end_offset
    lost.do(after)
    truncate_log(lost.cluster, partition, offset, NOW_MS)
    assert lost.offsets() == never.offsets()


@given(STEPS, STEPS, st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_a_transactional_id_is_what_its_last_record_says(
    before: list[tuple[str, str]], after: list[tuple[str, str]], is_known: bool
) -> None:
    never, lost = Work(), Work()
    offset = 0
    if is_known:
        never.do(before)
        lost.do(before)
        offset = lost.partition(TRANSACTION_STATE_TOPIC).log.log_end_offset
    lost.do(after)
    truncate_log(lost.cluster, lost.partition(TRANSACTION_STATE_TOPIC), offset, NOW_MS)
    assert lost.transaction() == (never.transaction() if is_known else None)


def test_a_group_whose_members_were_lost_is_there_without_them() -> None:
    work = Work()
    work.do([("commit", "g")])
    group = work.cluster.groups.table.get("g")
    assert isinstance(group, Group)
    for generation_id in (3, 4):
        group.generation_id = generation_id
        work.cluster.groups.table.write_metadata(group, NOW_MS)
    partition = work.partition(GROUP_METADATA_TOPIC)
    truncate_log(work.cluster, partition, partition.log.log_end_offset - 1, NOW_MS)
    again = work.cluster.groups.table.get("g")
    assert again is not group
    assert isinstance(again, Group)
    assert (len(again.offsets), again.generation_id) == (1, 3)
    truncate_log(work.cluster, partition, 0, NOW_MS)
    assert work.offsets() == {name: ([], False) for name in GROUPS}
