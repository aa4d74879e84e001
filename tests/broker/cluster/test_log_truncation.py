"""Logs that lose their end: what is left is as if the rest had never been written."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from broker.administration.election import ElectionType, elect_leader
from broker.administration.epoch_end import epoch_end_offset
from broker.cluster.failover import start_broker, stop_broker
from broker.cluster.log_segments import DEFAULT_SETTINGS
from broker.cluster.log_truncation import truncate_log
from broker.cluster.paused_followers import pause_follower, resume_follower
from broker.cluster.topics import NO_LEADER
from broker.cluster.transactions import append_marker
from broker.transactions.marker import Marker
from protocol.errors import ErrorCode
from protocol.records import read_header, with_header
from tests.batches import make_batch
from tests.broker.cluster.replicated_log import (
    ALL_BYTES,
    UNCLEAN,
    append,
    ends,
    replicated,
    values_of,
)
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.examples import examples


def test_an_unclean_leader_has_only_what_it_had_fetched() -> None:
    cluster, _topic, partition = replicated()
    append(cluster, b"both")
    stop_broker(cluster, 2, NOW_MS)
    assert append(cluster, b"lost", acks=-1).error_code == ErrorCode.NONE
    assert partition.replica_ends == {2: 1}
    stop_broker(cluster, 1, NOW_MS)
    assert partition.leader_id == NO_LEADER
    start_broker(cluster, 2, NOW_MS)

    assert (partition.leader_id, partition.isr) == (2, (2,))
    assert (values_of(partition), ends(partition)) == ([b"both"], (1, 1))
    append(cluster, b"new")
    start_broker(cluster, 1, NOW_MS)
    assert (partition.isr, dict(partition.replica_ends)) == ((1, 2), {})
    assert values_of(partition) == [b"both", b"new"]
    assert epoch_end_offset(partition, 0) == (0, 1)
    assert cluster.log_bytes == partition.log.size_bytes


def test_the_old_leader_leads_again_without_a_loss() -> None:
    cluster, _topic, partition = replicated()
    stop_broker(cluster, 2, NOW_MS)
    append(cluster, b"a")
    stop_broker(cluster, 1, NOW_MS)
    start_broker(cluster, 1, NOW_MS)
    start_broker(cluster, 2, NOW_MS)
    stop_broker(cluster, 1, NOW_MS)
    assert (partition.leader_id, values_of(partition)) == (2, [b"a"])


def test_an_eligible_leader_loses_only_what_was_not_committed() -> None:
    cluster = make_cluster(3)
    topic = cluster.create_topic("t", [(1, 2)], {"min.insync.replicas": "2"})
    (partition,) = topic.partitions
    append(cluster, b"committed", acks=-1)
    stop_broker(cluster, 2, NOW_MS)
    append(cluster, b"not committed")
    assert ends(partition) == (1, 2)
    stop_broker(cluster, 1, NOW_MS)
    start_broker(cluster, 2, NOW_MS)

    assert (partition.leader_id, values_of(partition)) == (2, [b"committed"])
    start_broker(cluster, 1, NOW_MS)
    assert ends(partition) == (1, 1)


def test_elect_leaders_elects_the_first_replica_that_is_up_and_the_others_follow_it() -> None:
    cluster = make_cluster(3)
    (partition,) = cluster.create_topic("t", [(1, 2, 3)], {}).partitions
    append(cluster, b"a")
    pause_follower(cluster, partition, 2, NOW_MS)
    append(cluster, b"b")
    pause_follower(cluster, partition, 3, NOW_MS)
    append(cluster, b"c")
    stop_broker(cluster, 1, NOW_MS)
    assert partition.leader_id == NO_LEADER
    resume_follower(cluster, partition, 3, NOW_MS)
    assert elect_leader(cluster, "t", 0, ElectionType.UNCLEAN, NOW_MS) is None
    assert (partition.leader_id, partition.isr, values_of(partition)) == (2, (2, 3), [b"a"])


def test_a_replica_that_was_down_when_its_topic_was_made_has_nothing() -> None:
    cluster = make_cluster(2)
    stop_broker(cluster, 2, NOW_MS)
    topic = cluster.create_topic("t", [(1, 2)], UNCLEAN)
    append(cluster, b"a")
    stop_broker(cluster, 1, NOW_MS)
    start_broker(cluster, 2, NOW_MS)
    assert ends(topic.partitions[0]) == (0, 0)


def test_a_replica_behind_deleted_records_begins_where_it_ends() -> None:
    cluster, _topic, partition = replicated()
    append(cluster, b"a")
    stop_broker(cluster, 2, NOW_MS)
    append(cluster, b"b")
    cluster.delete_records_before(partition, 2, NOW_MS)
    stop_broker(cluster, 1, NOW_MS)
    start_broker(cluster, 2, NOW_MS)
    assert (partition.log.log_start_offset, *ends(partition)) == (1, 1, 1)


def test_a_batch_that_is_cut_keeps_its_first_records_and_their_sequences() -> None:
    cluster, _topic, partition = replicated()
    append(cluster, b"a", b"b", b"c", producer_id=7, producer_epoch=0, base_sequence=0)
    epoch = partition.leader_epoch
    truncate_log(cluster, partition, 2, NOW_MS)

    assert (values_of(partition), ends(partition)) == ([b"a", b"b"], (2, 2))
    assert partition.leader_id == 1
    assert partition.leader_epoch > epoch
    entry = partition.producers.entry(7)
    assert entry is not None
    assert entry.batches[0].last_sequence == 1
    next_batch = {"producer_id": 7, "producer_epoch": 0}
    assert append(cluster, b"c", **next_batch, base_sequence=2).base_offset == 2
    out_of_order = append(cluster, b"e", **next_batch, base_sequence=5)
    assert out_of_order.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("plain"), st.integers(1, 3)),
        st.tuples(st.just("idempotent"), st.integers(1, 3)),
        st.tuples(st.just("begin"), st.integers(4, 6)),
        st.tuples(st.sampled_from(["commit", "abort"]), st.integers(4, 6)),
        st.tuples(st.just("leader"), st.integers(1, 3)),
        st.tuples(st.just("segments"), st.just(0)),
    ),
    max_size=12,
)


class Writer:
    """Writes to a partition, the same in each cluster."""

    def __init__(self, batches: int) -> None:
        self.cluster, self.topic, self.partition = replicated(
            (1, 2, 3), **{"producer.state.batches": str(batches)}
        )
        self.topic.segment_settings = DEFAULT_SETTINGS._replace(segment_bytes=200)
        self.sequences: dict[int, int] = {}

    def write(self, steps: list[tuple[str, int]]) -> None:
        for name, number in steps:
            if name == "plain":
                self._append(make_batch(*[b"v"] * number))
            elif name in {"idempotent", "begin"}:
                sequence = self.sequences.get(number, 0)
                self.sequences[number] = sequence + 2
                batch = make_batch(
                    b"v",
                    b"w",
                    producer_id=number,
                    producer_epoch=0,
                    base_sequence=sequence,
                    is_transactional=name == "begin",
                )
                self._append(batch)
            elif name == "leader":
                self.cluster.move_leader(self.partition, number, NOW_MS)
            elif name == "segments":
                self.partition.log.extend_segments(self.topic.segment_settings, 100)
            else:
                marker = Marker(number, 0, 3, name == "commit", 0)
                append_marker(self.cluster, self.topic, self.partition, marker, NOW_MS)

    def _append(self, batch: bytes) -> None:
        partition, header = self.partition, read_header(batch, 0)
        log, epoch = partition.log, partition.leader_epoch
        base_offset = log.log_end_offset
        count = header.last_offset_delta + 1
        if header.producer_id >= 0:
            partition.producers.apply(
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                header.last_offset_delta,
                base_offset,
                header.max_timestamp,
                is_transactional=bool(header.attributes & 0x10),
            )
        stored = header._replace(base_offset=base_offset, partition_leader_epoch=epoch)
        log.append(with_header(batch, stored), count, epoch)
        self.cluster.appended(self.topic, partition, len(batch), NOW_MS)

    def state(self) -> Any:
        """All that clients can see of the partition, without its current leader epoch."""
        partition, log = self.partition, self.partition.log
        log.extend_segments(self.topic.segment_settings, 100)
        assert log.segments is not None
        segments = [
            (known.base_offset, known.size_bytes, known.largest_timestamp)
            for known in log.segments.segments
        ]
        return (
            log.read(0, ALL_BYTES, at_least_one=True),
            log.epoch_starts,
            (ends(partition), log.size_bytes, self.cluster.log_bytes, partition.last_stable_offset),
            list(log.transaction_index.overlapping(0, ALL_BYTES)),
            [partition.producers.entry(producer_id) for producer_id in range(1, 7)],
            segments,
        )


@given(STEPS, STEPS, st.sampled_from([1, 5]), st.booleans())
@settings(max_examples=examples(200), deadline=None)
def test_a_log_that_lost_its_end_is_as_if_it_had_never_had_it(
    before: list[tuple[str, int]], after: list[tuple[str, int]], batches: int, is_asked: bool
) -> None:
    never, lost = Writer(batches), Writer(batches)
    never.write(before)
    lost.write(before)
    partition, cluster = lost.partition, lost.cluster
    offset, follower = partition.log.log_end_offset, partition.isr[-1]
    if not is_asked:
        if follower == partition.leader_id:
            follower = next(n for n in partition.isr if n != partition.leader_id)
        for node_id in {1, 2, 3} - {follower, partition.leader_id}:
            stop_broker(cluster, node_id, NOW_MS)
        pause_follower(cluster, partition, follower, NOW_MS)
        after = [step for step in after if step[0] != "leader"]
    lost.write(after)
    if is_asked:
        truncate_log(cluster, partition, offset, NOW_MS)
    else:
        stop_broker(cluster, partition.leader_id, NOW_MS)
        assert partition.leader_id == follower

    assert lost.state() == never.state()
