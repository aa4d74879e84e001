"""Transactions of many partitions take turns, and nothing that comes between two turns hurts them.

The limit for short transactions is one partition here, and the clock ends a turn at each place
where a request may pause.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster import transactions
from broker.cluster.topics import TRANSACTION_STATE_TOPIC, Partition
from broker.dispatch.turns import TURN_NS
from broker.transactions.transaction import PREPARED, Transaction
from protocol.records import CONTROL_FLAG, read_header
from tests.broker.dispatch import produce_runs
from tests.broker.dispatch.produce_runs import PARTITIONS, TOPICS, Change, Produce
from tests.broker.dispatch.transactional_runs import TransactionalRun

PLACES = [(topic, index) for topic in TOPICS for index in range(PARTITIONS)]
TIMEOUT_MS = 10_000
BEGIN: tuple[Change, ...] = (
    ("init", "a"),
    *(("add_partition", "a", topic, index) for topic, index in PLACES),
)
PRODUCE = Produce(transactional_id="a", version=11, topics=TOPICS, indexes=tuple(range(PARTITIONS)))
# The connection of a request that takes turns handles no others until then.
TRIGGERS: tuple[Change, ...] = (
    *(("end", "a", is_commit, version, 0, 1) for is_commit in (True, False) for version in (4, 5)),
    ("init", "a", 1),
    ("let_time_out",),
)


@pytest.fixture(autouse=True, scope="module")
def _pauses() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transactions, "SHORT_PARTITIONS_MAX", 1)
        patch.setattr(produce_runs, "HANDLING_NS", TURN_NS)
        yield


class LongRun(TransactionalRun):
    """A run with a transaction in all partitions, with or without turns."""

    def __init__(self, *, has_turns: bool) -> None:
        super().__init__()
        self.scheduled: list[Callable[[], None]] = []
        for step in BEGIN:
            self.do(step)
        self.do(PRODUCE)
        if has_turns:
            self.dispatcher.turns.call_later = lambda _delay_s, call: self.scheduled.append(call)

    @property
    def transaction(self) -> Transaction:
        found = self.cluster.transactions.get("a")
        assert found is not None
        return found

    @property
    def partitions(self) -> dict[tuple[str, int], Partition]:
        """Those of the topics of clients that exist."""
        return {
            (topic.name, partition.partition_index): partition
            for topic in self.cluster.topics.all()
            if not topic.is_internal
            for partition in topic.partitions
        }

    def let_time_out(self) -> None:
        """Abort the transaction after its timeout."""
        self.now_ms += TIMEOUT_MS + 1
        self.abort_timed_out()
        while self.scheduled and self.transaction.state not in PREPARED:
            self.take_turn()

    def take_turn(self) -> None:
        self.scheduled.pop(0)()

    def go_on(self, changes: Sequence[Change] = ()) -> int:
        """Take all turns, with a change before each of the first; return how many there were."""
        left = list(changes)
        count = 0
        while self.scheduled:
            if left:
                self.do(left.pop(0))
            self.take_turn()
            count += 1
        for change in left:
            self.do(change)
            self.go_on()
        return count

    def recover(self) -> None:
        """Have all brokers and leaders be there again, and write the markers that are missing."""
        for node_id in (1, 2):
            self.do(("make_available", node_id, "UP"))
        for name in (*TOPICS, TRANSACTION_STATE_TOPIC):
            self.do(("configure", name, "min.insync.replicas", "1"))
            topic = self.cluster.topics.get(name)
            for index in range(len(topic.partitions) if topic else 0):
                self.do(("lead", name, index, 1))
        for _ in range(2):
            self.go_on()
            self.do(("advance", transactions.RETRY_MS))
        self.go_on()

    def outcome(self) -> dict[str, Any]:
        """Return what a client can see of the transaction, without epochs of leaders."""
        found = self.transaction
        return {
            "logs": {place: batches(one) for place, one in self.partitions.items()},
            "stable": {place: one.last_stable_offset for place, one in self.partitions.items()},
            "aborted": {
                place: [(n.producer_id, n.first_offset) for n in one.log.transaction_index._aborted]
                for place, one in self.partitions.items()
            },
            "state": (found.state, tuple(found.partitions), found.has_marker_writer),
            "producer": (found.producer_id, found.producer_epoch, found.last_producer_epoch),
            "prepared": list(self.cluster.transactions.prepared),
            "bugs": self.bugs,
        }


def batches(partition: Partition) -> list[tuple[int, int, int, bool]]:
    """Return offset, producer id, epoch, and whether it is a marker, of each batch."""
    headers = [read_header(batch, 0) for batch in partition.log.rewind()]
    return [
        (h.base_offset, h.producer_id, h.producer_epoch, h.attributes & CONTROL_FLAG != 0)
        for h in headers
    ]


names = st.sampled_from(TOPICS)
all_names = st.sampled_from((*TOPICS, TRANSACTION_STATE_TOPIC))
indexes = st.integers(0, 1)
changes = st.one_of(
    st.tuples(st.just("lead"), all_names, indexes, st.sampled_from((-1, 1, 2))),
    st.tuples(
        st.just("make_available"),
        st.sampled_from((1, 2)),
        st.sampled_from(("UP", "DOWN", "ISOLATED")),
    ),
    st.tuples(st.just("delete"), names),
    st.tuples(
        st.just("configure"), names, st.just("min.insync.replicas"), st.sampled_from(("1", "2"))
    ),
    st.tuples(st.just("keep_in_sync"), names, indexes, st.sampled_from(((1,), (2,), (1, 2)))),
    st.tuples(st.just("end"), st.just("a"), st.booleans(), st.just(4)),
    st.tuples(st.just("end"), st.just("a"), st.booleans(), st.just(5), st.just(-1)),
    st.tuples(st.just("abort_timed_out")),
    st.tuples(st.just("advance"), st.sampled_from((1, 1_000))),
)


@given(trigger=st.sampled_from(TRIGGERS), made=st.lists(changes, max_size=12))
def test_changes_between_turns_lead_to_the_same_markers_as_changes_after_them(
    trigger: Change, made: list[Change]
) -> None:
    outcomes = []
    for has_turns in (False, True):
        run = LongRun(has_turns=has_turns)
        run.do(trigger)
        assert bool(run.scheduled) == has_turns
        assert (run.transaction.state in PREPARED) == has_turns
        turns = run.go_on(made)
        assert (turns > 0) == has_turns
        run.recover()
        outcomes.append(run.outcome())
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_turn_writes_one_marker(trigger: Change) -> None:
    run = LongRun(has_turns=True)
    run.do(trigger)
    left = [len(run.transaction.partitions)]
    while run.scheduled:
        run.take_turn()
        left.append(len(run.transaction.partitions))
    assert all(before - after <= 1 for before, after in pairwise(left))
    assert left[-1] == 0
    assert not run.cluster.transactions.prepared
    assert not run.transaction.has_marker_writer


@pytest.mark.parametrize("version", [4, 5])
def test_each_end_of_a_connection_takes_turns(version: int) -> None:
    run = LongRun(has_turns=True)
    for is_commit in (True, False, True, True):
        run.do(("end", "a", is_commit, version, 0, 1))
        assert run.transaction.state in PREPARED
        assert run.go_on() >= len(PLACES) - 1
        run.do(("advance", 1))
        assert run.transaction.state not in PREPARED
        for step in BEGIN[1:]:
            run.do(step)
            run.go_on()


def test_a_coordinator_that_has_forgotten_the_transaction_writes_no_more_markers() -> None:
    run = LongRun(has_turns=True)
    run.do(TRIGGERS[0])
    forgotten, ends = run.transaction, {}
    run.do(("delete", TRANSACTION_STATE_TOPIC))
    for place, partition in run.partitions.items():
        ends[place] = partition.log.log_end_offset
    run.go_on()
    assert {place: one.log.log_end_offset for place, one in run.partitions.items()} == ends
    assert forgotten.state in PREPARED
    assert not run.bugs


def test_a_reset_of_the_cluster_ends_the_writer() -> None:
    run = LongRun(has_turns=True)
    run.do(TRIGGERS[0])
    run.dispatcher.turns.clear()
    run.do(("reset",))
    run.go_on()
    assert run.cluster.transactions.get("a") is None
    assert not run.partitions
    assert not run.bugs


def test_what_a_change_of_leaders_releases_is_written_in_turns() -> None:
    run = LongRun(has_turns=True)
    for topic, index in PLACES:
        run.do(("lead", topic, index, -1))
    run.do(TRIGGERS[0])
    run.go_on()
    assert len(run.transaction.partitions) == len(PLACES)
    topic, index = PLACES[0]
    assert run.cluster.on_leaders_change is not None
    for topic, index in PLACES:
        run.lead(topic, index, 1)
        assert len(run.transaction.partitions) == len(PLACES)  # the caller changes the cluster
    run.do(("advance", 0))
    assert run.go_on() >= len(PLACES) - 1
    assert not run.transaction.partitions
    assert run.transaction.state not in PREPARED


REQUESTS: tuple[Produce | Change, ...] = (
    ("add_partition", "a", TOPICS[0], 0),
    PRODUCE,
    Produce(transactional_id="a", version=12, topics=TOPICS, indexes=(0,)),
    ("end", "a", True, 4),
    ("end", "a", False, 5),
    ("end", "a", True, 5, -1),
    ("end", "a", False, 5, -1),
    ("init", "a"),
)


@pytest.mark.parametrize("request_step", REQUESTS)
@pytest.mark.parametrize("trigger", TRIGGERS[:4])
def test_requests_between_turns_get_what_those_to_a_transaction_that_waits_for_leaders_get(
    trigger: Change, request_step: Produce | Change
) -> None:
    last_topic, last_index = PLACES[-1]
    waiting = LongRun(has_turns=False)
    waiting.do(("lead", last_topic, last_index, -1))
    waiting.do(trigger)
    paused = LongRun(has_turns=True)
    paused.do(trigger)
    while len(paused.transaction.partitions) > 1:
        paused.take_turn()
    assert paused.transaction.state is waiting.transaction.state in PREPARED
    states, responses = [], []
    for run in (waiting, paused):
        run.written.clear()
        run.do(request_step)
        responses.append(list(run.written))
        states.append((run.transaction.state, len(run.transaction.partitions)))
    assert responses[0] == responses[1]
    assert states[0] == states[1]
    paused.go_on()  # from Python 3.15 a suspended generator that is left is an error
    assert not paused.transaction.partitions
