"""Coordinators whose log has lost its end know what is left of it."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import SHARE_GROUP_STATE
from broker.cluster.log_truncation import truncate_log
from broker.cluster.topics import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from broker.groups.group import Group
from broker.share_groups.in_flight import StateBatch
from broker.share_groups.share_state import SharePartitionKey, ShareState
from tests.broker.cluster.coordinator_work import GROUPS, STEPS, Work
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.examples import examples


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


SHARE_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["initialize", "read", "write", "write", "write", "delete"]),
        st.integers(0, 1),
        st.integers(0, 6),
    ),
    max_size=12,
)


class ShareWork:
    """Leaders of two share partitions write their states; a snapshot follows three updates."""

    def __init__(self, release: str) -> None:
        self.cluster = make_cluster(
            1,
            **{
                "share.coordinator.state.topic.num.partitions": "1",
                "share.coordinator.snapshot.update.records.per.snapshot": "3",
                "broker.api.versions": release,
            },
        )
        topic = ensure_internal_topic(self.cluster, SHARE_GROUP_STATE)
        assert topic is not None
        (self.partition,) = topic.partitions
        source = self.cluster.create_topic("t", [(1,), (1,)], {})
        self.keys = [SharePartitionKey("g", source.topic_id, index) for index in range(2)]
        self.now_ms = NOW_MS

    def do(self, steps: list[tuple[str, int, int]]) -> None:
        states = self.cluster.share.states
        for name, index, number in steps:
            self.now_ms += 1
            key = self.keys[index]
            known = states.get(key)
            epoch = 0 if known is None else known.state_epoch
            leader_epoch = 0 if known is None else known.leader_epoch
            if name == "initialize":
                states.initialize(key, epoch + number % 2, number - 1, self.now_ms)
            elif name == "read":
                states.read(key, leader_epoch + number % 2, self.now_ms)
            elif name == "delete":
                states.delete(key, self.now_ms)
            else:
                states.write(
                    key,
                    state_epoch=epoch,
                    leader_epoch=leader_epoch,
                    start_offset=number,
                    finished_count=number % 3,
                    state_batches=[
                        StateBatch(number + 1, number + 3, 2, 1),
                        StateBatch(number + 5, number + 9, number % 2 * 4, 2),
                    ],
                    now_ms=self.now_ms,
                )

    def states(self) -> list[ShareState | None]:
        """Return the states but for their updates, of which the log has only the latest."""
        states = [self.cluster.share.states.get(key) for key in self.keys]
        return [None if state is None else replace(state, update_count=0) for state in states]


@given(SHARE_STEPS, SHARE_STEPS, st.sampled_from(["4.1", "4.4"]))
@settings(max_examples=examples(100), deadline=None)
def test_the_state_of_share_partitions_is_that_of_the_records_that_are_left(
    before: list[tuple[str, int, int]], after: list[tuple[str, int, int]], release: str
) -> None:
    work = ShareWork(release)
    work.do(before)
    known, offset = work.states(), work.partition.log.log_end_offset
    work.do(after)
    truncate_log(work.cluster, work.partition, offset, NOW_MS)
    assert work.states() == known


@given(SHARE_STEPS)
@settings(max_examples=examples(10), deadline=None)
def test_the_state_of_share_partitions_can_be_loaded_after_old_records_were_deleted(
    before: list[tuple[str, int, int]],
) -> None:
    work = ShareWork("4.4")
    work.do([("initialize", 0, 1), ("initialize", 1, 1), *before, ("initialize", 0, 2)])
    work.do([("write", 0, number % 7) for number in range(2500)])
    work.cluster.timers.run_due(work.now_ms + 1000)
    log = work.partition.log
    assert log.log_start_offset > 0
    assert log.log_end_offset - log.log_start_offset <= 1010
    known, offset = work.states(), log.log_end_offset
    work.do([("write", 0, 3), ("write", 1, 3)])
    truncate_log(work.cluster, work.partition, offset, NOW_MS)
    assert work.states() == known
    work.do([("write", 0, number % 7) for number in range(2500)])
    work.cluster.timers.run_due(work.now_ms + 1000)
    assert log.log_end_offset - log.log_start_offset <= 1010
