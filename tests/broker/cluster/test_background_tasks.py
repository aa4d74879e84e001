"""Retention and the expiry of producers run regularly, in short steps; idle periods are skipped."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.cluster import background_tasks, failover
from broker.cluster.background_tasks import start_background_tasks
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.groups.requests import CommitRequest, OffsetToCommit
from broker.security.delegation_tokens import Principal
from tests.broker.cluster.stored_records import DAY_MS, append, stored_bytes
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.transactional_driver import TransactionDriver, transactional_cluster
from tests.examples import examples


def test_retention_runs_at_every_interval() -> None:
    cluster = make_cluster()
    deletes = cluster.create_topic("a", [(1,)], {"retention.ms": str(DAY_MS)})
    compacts = cluster.create_topic("b", [(1,)], {"cleanup.policy": "compact"})
    forever = cluster.create_topic("c", [(1,)], {"retention.ms": "-1"})
    topics = (deletes, compacts, forever)
    start_background_tasks(cluster, NOW_MS)
    for day in (0, 1):
        for topic in topics:
            append(cluster, topic, 100, timestamp=NOW_MS + day * DAY_MS)

    starts = []
    for now_ms in (NOW_MS + 2 * DAY_MS, NOW_MS + 2 * DAY_MS + 300_000, NOW_MS + 4 * DAY_MS):
        cluster.timers.run_due(now_ms)
        starts.append([topic.partitions[0].log.log_start_offset for topic in topics])

    # The second record keeps its segment.
    assert starts == [[0, 0, 0], [2, 0, 0], [2, 0, 0]]
    assert cluster.log_bytes == stored_bytes(cluster) == 400


def starts_by_segments(config: dict[str, str], timestamps: list[int], size_bytes: int) -> list[int]:
    """Return the log start offset before the first check of retention, and after it."""
    cluster = make_cluster()
    topic = cluster.create_topic("a", [(1,)], {"segment.bytes": "1048576", **config})
    start_background_tasks(cluster, NOW_MS)
    for timestamp in timestamps:
        append(cluster, topic, size_bytes, timestamp=timestamp)
    starts = []
    for now_ms in (NOW_MS + 29_999, NOW_MS + 30_000):
        cluster.timers.run_due(now_ms)
        starts.append(topic.partitions[0].log.log_start_offset)
    return starts


@pytest.mark.parametrize(
    ("retention_bytes", "batch_bytes", "start"),
    [
        (1000, 1000, 0),  # one segment of 50 kB
        (1000, 100_000, 40),  # 10 of 100 kB are a segment
        (2_000_000, 100_000, 30),
        (0, 100_000, 50),  # Kafka begins an empty segment
        (5_000_000, 100_000, 0),
    ],
)
def test_retention_by_size_deletes_whole_segments(
    retention_bytes: int, batch_bytes: int, start: int
) -> None:
    config = {"retention.bytes": str(retention_bytes)}
    assert starts_by_segments(config, [NOW_MS] * 50, batch_bytes) == [0, start]


def test_retention_by_time_deletes_whole_segments() -> None:
    times = [NOW_MS - 3 * DAY_MS + index * 1000 for index in range(50)]
    assert starts_by_segments({"retention.ms": str(DAY_MS)}, times, 100_000) == [0, 50]
    # The newest record of the third segment keeps it, and the others behind it.
    times[25] = NOW_MS
    assert starts_by_segments({"retention.ms": str(DAY_MS)}, times, 100_000) == [0, 20]
    # A segment ends after segment.ms, by the timestamps of the records.
    by_time = {"retention.bytes": "700", "segment.ms": "10000"}
    assert starts_by_segments(by_time, times[:25], 100) == [0, 11]


@pytest.mark.parametrize("policy", ["compact", ""])
def test_a_topic_without_the_policy_delete_loses_nothing_by_size_and_time(policy: str) -> None:
    config = {"retention.bytes": "0", "retention.ms": "0", "cleanup.policy": policy}
    assert starts_by_segments(config, [NOW_MS] * 50, 100_000) == [0, 0]


@pytest.mark.parametrize("timestamp", [-1, -86_400_000])
def test_records_without_a_time_are_kept_from_their_append_on(timestamp: int) -> None:
    cluster = make_cluster()
    topic = cluster.create_topic("a", [(1,)], {"retention.ms": str(DAY_MS)})
    start_background_tasks(cluster, NOW_MS)
    log = topic.partitions[0].log
    append(cluster, topic, 100, timestamp=timestamp)  # at NOW_MS

    cluster.timers.run_due(NOW_MS + DAY_MS)
    assert log.log_start_offset == 0
    cluster.timers.run_due(NOW_MS + DAY_MS + 300_000)
    assert log.log_start_offset == 1


def test_what_was_appended_before_a_change_of_the_segments_keeps_its_own() -> None:
    cluster = make_cluster()
    topic = cluster.create_topic("a", [(1,)], {"retention.bytes": "0"})
    for _ in range(20):
        append(cluster, topic, 100_000)
    cluster.alter_topic_config(topic, {"retention.bytes": "100", "segment.bytes": "1048576"})
    for _ in range(5):
        append(cluster, topic, 100_000)
    background_tasks.apply_retention(cluster, NOW_MS)
    # The first segment has 2 MB: the batch behind the change begins the next.
    assert topic.partitions[0].log.log_start_offset == 20


def test_what_was_deleted_of_a_segment_counts_until_the_segment_is_deleted() -> None:
    cluster = make_cluster()
    topic = cluster.create_topic("a", [(1,)], {"segment.bytes": "1048576"})
    log = topic.partitions[0].log
    for _ in range(25):
        append(cluster, topic, 100_000)
    cluster.delete_records_before(topic.partitions[0], 15, NOW_MS)
    assert (log.size_bytes, log.segment_bytes) == (1_000_000, 2_500_000)
    background_tasks.apply_retention(cluster, NOW_MS)
    assert (log.size_bytes, log.segment_bytes) == (1_000_000, 1_500_000)
    assert log.log_start_offset == 15


def test_retention_is_first_checked_half_a_minute_after_the_start() -> None:
    cluster = make_cluster(**{"log.retention.check.interval.ms": "100000"})
    topic = cluster.create_topic("a", [(1,)], {"retention.ms": "1000"})
    start_background_tasks(cluster, NOW_MS)

    starts = []
    for now_ms in (29_999, 30_000, 129_999, 130_000):
        append(cluster, topic, 100, timestamp=NOW_MS)
        cluster.timers.run_due(NOW_MS + now_ms)
        starts.append(topic.partitions[0].log.log_start_offset)

    assert starts == [0, 2, 2, 4]


def test_the_delay_of_the_first_retention_check_is_a_key() -> None:
    cluster = make_cluster(**{"log.initial.task.delay.ms": "5"})
    topic = cluster.create_topic("a", [(1,)], {"retention.ms": "1"})
    start_background_tasks(cluster, NOW_MS)
    append(cluster, topic, 100, timestamp=NOW_MS)

    cluster.timers.run_due(NOW_MS + 4)
    assert topic.partitions[0].log.log_start_offset == 0
    cluster.timers.run_due(NOW_MS + 5)
    assert topic.partitions[0].log.log_start_offset == 1


def expired_batches(count: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Cluster, Topic]:
    """Return a cluster, whose turns are short, with batches that expire a day later."""
    monkeypatch.setattr(background_tasks, "RETENTION_BATCHES_PER_STEP", 10)
    monkeypatch.setattr(background_tasks, "RETENTION_BATCHES_PER_TURN", 10)
    monkeypatch.setattr(background_tasks, "RETENTION_LOOK_BATCHES", 1)
    cluster = make_cluster(**{"log.retention.check.interval.ms": "100000"})
    topic = cluster.create_topic("a", [(1,), (1,)], {"retention.ms": str(DAY_MS)})
    for _ in range(count):
        for partition in (0, 1):
            append(cluster, topic, 100, partition=partition, timestamp=NOW_MS)
    for part in topic.partitions:
        part.log.extend_segments(topic.segment_settings, count)
    start_background_tasks(cluster, NOW_MS + DAY_MS)
    cluster.timers.run_due(NOW_MS + DAY_MS + 30_001)
    return cluster, topic


def test_many_expired_batches_are_deleted_in_short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, topic = expired_batches(35, monkeypatch)
    logs = [partition.log for partition in topic.partitions]
    counts = [sum(log.batch_count for log in logs)]
    now_ms = NOW_MS + DAY_MS + 30_001
    while cluster.timers.next_due_ms() == now_ms + 1:
        now_ms += 1
        cluster.timers.run_due(now_ms)
        counts.append(sum(log.batch_count for log in logs))

    # The rest of a partition and the first batches of the next one are one turn.
    assert counts == [60, 50, 40, 25, 15, 5, 0]
    assert cluster.log_bytes == stored_bytes(cluster) == 0
    # Done: the next check begins an interval after this one has begun.
    append(cluster, topic, 100, timestamp=NOW_MS)
    cluster.timers.run_due(NOW_MS + DAY_MS + 129_999)
    assert logs[0].batch_count == 1
    cluster.timers.run_due(NOW_MS + DAY_MS + 130_000)
    assert logs[0].batch_count == 0


def test_many_new_batches_become_segments_in_short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, topic = expired_batches(0, monkeypatch)
    log, now_ms = topic.partitions[0].log, NOW_MS + 2 * DAY_MS
    for _ in range(25):
        append(cluster, topic, 100, timestamp=now_ms)
    cluster.timers.run_due(now_ms)
    ends: list[int] = []
    while not ends or ends[-1] < 25:
        assert log.segments is not None
        ends.append(log.segments.end_offset)
        now_ms += 1
        cluster.timers.run_due(now_ms)
    assert ends == [10, 20, 25]


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_a_look_at_many_partitions_takes_turns_though_it_deletes_nothing(policy: str) -> None:
    cluster = make_cluster()
    cluster.create_topic("a", [(1,)] * 3_500, {"cleanup.policy": policy})
    start_background_tasks(cluster, NOW_MS)
    now_ms, turns = NOW_MS + 30_000, 1
    cluster.timers.run_due(now_ms)
    while cluster.timers.next_due_ms() == now_ms + 1:
        now_ms += 1
        cluster.timers.run_due(now_ms)
        turns += 1
    assert turns == 4


@pytest.mark.parametrize("change", ["delete", "keep"])
def test_what_changes_between_two_steps_of_retention_counts(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, topic = expired_batches(15, monkeypatch)
    if change == "delete":
        cluster.delete_topic(topic, NOW_MS)
    else:
        cluster.alter_topic_config(topic, {"retention.ms": "-1"})

    cluster.timers.run_due(NOW_MS + DAY_MS + 40_000)

    assert cluster.log_bytes == stored_bytes(cluster) == (0 if change == "delete" else 2000)


def test_a_hundred_thousand_producers_expire_in_short_steps() -> None:
    cluster = make_cluster(
        **{
            "producer.id.expiration.ms": "200",
            "producer.id.expiration.check.interval.ms": "100",
        }
    )
    producers = cluster.create_topic("t", [(1,)], {}).partitions[0].producers
    start_background_tasks(cluster, NOW_MS)
    for producer_id in range(100_000):
        producers.apply(producer_id, 0, 0, 0, 0, NOW_MS)

    cluster.timers.run_due(NOW_MS + 200)
    after_one_turn = len(producers)
    assert 0 < after_one_turn < 100_000

    now_ms = NOW_MS + 200
    while cluster.timers.next_due_ms() == now_ms + 1:
        now_ms += 1
        cluster.timers.run_due(now_ms)
    assert len(producers) == 0
    # Done: the next check begins where an interval begins.
    assert now_ms < NOW_MS + 300
    assert cluster.timers.next_due_ms() == NOW_MS + 300


def test_producers_expire_by_the_setting_of_the_leader() -> None:
    cluster = make_cluster(
        2,
        **{
            "broker.2.producer.id.expiration.ms": "500",
            "producer.id.expiration.ms": "200",
            "producer.id.expiration.check.interval.ms": "100",
        },
    )
    partitions = cluster.create_topic("t", [(1, 2), (2, 1)], {}).partitions
    start_background_tasks(cluster, NOW_MS)
    for partition in partitions:
        partition.producers.apply(7, 0, 0, 0, 0, NOW_MS)

    cluster.timers.run_due(NOW_MS + 200)
    assert [len(partition.producers) for partition in partitions] == [0, 1]
    cluster.timers.run_due(NOW_MS + 500)
    assert [len(partition.producers) for partition in partitions] == [0, 0]


def test_expired_delegation_tokens_are_removed_at_every_interval() -> None:
    cluster = make_cluster(
        **{
            "delegation.token.secret.key": "key",
            "delegation.token.expiry.time.ms": "3000",
            "delegation.token.expiry.check.interval.ms": "5000",
        }
    )
    start_background_tasks(cluster, NOW_MS)
    counts = []
    for time_ms in (0, 4000, 5000, 9999, 10_000):
        cluster.timers.run_due(NOW_MS + time_ms)
        counts.append(len(cluster.delegation_tokens))
        alice = Principal("User", "alice")
        cluster.delegation_tokens.create(alice, alice, (), -1, NOW_MS + time_ms)
    assert counts == [0, 1, 1, 2, 1]


# Skipped periods -----------------------------------------------------------------------------

SHORT_INTERVALS = {
    "log.retention.check.interval.ms": "7000",
    "log.initial.task.delay.ms": "3000",
    "producer.id.expiration.check.interval.ms": "5000",
    "producer.id.expiration.ms": "20000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "2000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "10000",
    "transactional.id.expiration.ms": "30000",
    "offsets.retention.check.interval.ms": "4000",
    "offsets.retention.minutes": "1",
    "delegation.token.secret.key": "key",
    "delegation.token.expiry.check.interval.ms": "6000",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}
OWNER = Principal("User", "alice")


class Passing:
    """A cluster with everything that a background task removes or ends."""

    def __init__(self, *, skips: bool) -> None:
        self.cluster = transactional_cluster(2, **SHORT_INTERVALS)
        self.topic = self.cluster.create_topic("a", [(1, 2), (2, 1)], {"retention.ms": "15000"})
        self.now_ms = NOW_MS
        self._skips = skips
        start_background_tasks(self.cluster, NOW_MS)

    def append(self, partition: int, age_ms: int) -> None:
        """Append a batch; its timestamp may also be in the future."""
        timestamp = self.now_ms - age_ms
        append(self.cluster, self.topic, 100, partition=partition, timestamp=timestamp)
        producers = self.topic.partitions[partition].producers
        producers.apply(age_ms % 3, 0, 0, 0, 0, timestamp)

    def change_retention(self, retention_ms: int) -> None:
        self.cluster.alter_topic_config(self.topic, {"retention.ms": str(retention_ms)})

    def begin_transaction(self, number: int, timeout_ms: int) -> None:
        for node_id in (1, 2):  # one of them is the coordinator, if it is up
            driver = TransactionDriver(self.cluster, node_id, transactional_id=f"tx{number}")
            driver.now_ms = self.now_ms
            _error_code, producer = driver.init(timeout_ms=timeout_ms)
            driver.add(producer, 0, 1)

    def commit(self, group: int, retention_ms: int) -> None:
        offsets = (OffsetToCommit("a", 0, 1), OffsetToCommit("t", 1, 1))
        request = CommitRequest(f"g{group}", offsets, retention_ms=retention_ms)
        self.cluster.groups.table.commit(request, self.now_ms)

    def delete_group(self, group: int) -> None:
        self.cluster.groups.table.delete_group(f"g{group}", self.now_ms)

    def create_token(self, lifetime_ms: int) -> None:
        self.cluster.delegation_tokens.create(OWNER, OWNER, (), lifetime_ms, self.now_ms)

    def stop_broker(self, node_id: int, starts_after_ms: int) -> None:
        """Stop a broker, so that markers wait; a timer starts it again."""
        failover.stop_broker(self.cluster, node_id, self.now_ms, elect=False)
        self.cluster.timers.schedule(
            self.now_ms + starts_after_ms,
            lambda now_ms: failover.start_broker(self.cluster, node_id, now_ms),
        )

    def advance(self, duration_ms: int) -> None:
        timers = self.cluster.timers
        self.now_ms += duration_ms
        while True:
            if self._skips:
                timers.skip_idle(self.now_ms)
            due_ms = timers.next_due_ms()
            if due_ms is None or due_ms > self.now_ms:
                break
            timers.run_due(due_ms)

    def state(self) -> dict[str, Any]:
        cluster = self.cluster
        partitions = [partition for topic in cluster.topics.all() for partition in topic.partitions]
        return {
            "logs": [
                (part.log.log_start_offset, part.log.log_end_offset, part.log.size_bytes)
                for part in partitions
            ],
            "markers": [bytes(batch) for part in partitions for batch in part.log._batches],
            "producers": [(len(part.producers), part.last_stable_offset) for part in partitions],
            "transactions": [
                (found.transactional_id, found.state, found.producer_epoch, found.last_update_ms)
                for found in cluster.transactions.all()
            ],
            "prepared": list(cluster.transactions.prepared),
            "groups": {
                group_id: list(cluster.groups.table.all_committed(group_id))
                for group_id in cluster.groups.table.group_ids()
            },
            "tokens": len(cluster.delegation_tokens),
            "timers": sorted(timer.due_ms - NOW_MS for timer in cluster.timers.waiting_tasks),
        }


SPAN_MS = st.integers(0, 60_000)
BOTH = st.integers(0, 1)
DEEDS = st.one_of(
    st.tuples(st.just("append"), BOTH, st.integers(-20_000, 20_000)),
    st.tuples(st.just("change_retention"), st.sampled_from([-1, 1_000, 30_000])),
    st.tuples(st.just("begin_transaction"), BOTH, st.integers(1_000, 60_000)),
    st.tuples(st.just("commit"), BOTH, st.sampled_from([-1, 10_000])),
    st.tuples(st.just("delete_group"), BOTH),
    st.tuples(st.just("create_token"), SPAN_MS),
    st.tuples(st.just("stop_broker"), st.integers(1, 2), SPAN_MS),
    st.tuples(st.just("advance"), SPAN_MS),
)


@settings(max_examples=examples(100))
@given(st.lists(DEEDS, max_size=10))
def test_a_clock_that_skips_idle_periods_leaves_the_state_of_one_that_does_not(
    deeds: list[tuple[Any, ...]],
) -> None:
    skipping, stepping = Passing(skips=True), Passing(skips=False)
    for name, *arguments in [*deeds, ("advance", 30_000), ("advance", 200_000)]:
        for passing in (skipping, stepping):
            getattr(passing, name)(*arguments)
        assert skipping.state() == stepping.state()
