"""The end of the usual transaction in one step: what is unusual is refused, and changes nothing.

`tests/broker/produce/test_transactional_batches.py` compares what the step does with the rules.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from broker.cluster.brokers import Availability
from broker.cluster.topics import Partition
from broker.cluster.usual_transaction import end_transaction
from broker.pending_response import PendingResponse
from broker.transactions.marker import Marker, MarkerRequest
from broker.transactions.transaction import LAST_EPOCH, Transaction, TransactionState
from tests.broker.dispatch.produce_runs import Change, Produce
from tests.broker.dispatch.transactional_runs import TransactionalRun
from tests.simulation.patches import edit

PRODUCE = Produce(transactional_id="a", version=12)
END: Change = ("end", "a")
COMPLETE: tuple[Produce | Change, ...] = (("init", "a"), PRODUCE, END)
STATE_TOPIC = "__transaction_state"
Steps = Sequence[Produce | Change]


class UnusualRun(TransactionalRun):
    """A run whose state may be one that requests hardly ever reach."""

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self.changed: dict[str, Any] = {}
        """Arguments that are not the usual ones."""
        for step in steps:
            self.do(step)

    @property
    def transaction(self) -> Transaction:
        transaction = self.cluster.transactions.get("a")
        assert transaction is not None
        return transaction

    @property
    def partition(self) -> Partition:
        topic = self.cluster.topics.get("t") or self.deleted
        return topic.partitions[0]

    def delete(self, topic: str) -> None:
        deleted = self.cluster.topics.get(topic)
        assert deleted is not None
        self.deleted = deleted
        super().delete(topic)

    def end_at_once(self) -> bool:
        arguments = {
            "broker_id": 1,
            "transactional_id": "a",
            "producer_id": self.transaction.producer_id,
            "producer_epoch": self.transaction.producer_epoch,
            "now_ms": self.now_ms,
            "is_commit": True,
        }
        return end_transaction(self.cluster, **{**arguments, **self.changed})

    def change(self, name: str, value: Any) -> None:
        self.changed = {name: value}

    def rename_producer(self) -> None:
        self.changed = {"producer_id": self.transaction.producer_id}
        self.transaction.producer_id = 77

    def fence_producer(self) -> None:
        self.changed = {"producer_epoch": self.transaction.producer_epoch}
        self.transaction.producer_epoch += 1

    def use_last_epoch(self) -> None:
        """Let the coordinator have fenced the last epoch, as a marker in the partition says."""
        self.transaction.producer_epoch = LAST_EPOCH + 1
        self.mark(LAST_EPOCH + 1)

    def mark(self, epoch: int) -> None:
        self.partition.producers.apply_marker(self.transaction.producer_id, epoch, 0, self.now_ms)

    def be_prepared(self) -> None:
        self.transaction.state = TransactionState.PREPARE_COMMIT

    def wait_for_marker(self) -> None:
        marker = Marker(0, 0, 0, True)
        request = MarkerRequest(marker, 1, self.now_ms, PendingResponse(lambda: None))
        self.transaction.marker_requests["t", 0] = request

    def remove_broker(self, node_id: int) -> None:
        del self.cluster.brokers[node_id]

    def make_dead(self, node_id: int) -> None:
        self.cluster.brokers[node_id].is_alive = False

    def isolate(self, node_id: int) -> None:
        self.cluster.brokers[node_id].availability = Availability.ISOLATED

    def make_internal(self) -> None:
        topic = self.cluster.topics.get("t")
        assert topic is not None
        topic.is_internal = True


def test_the_usual_transaction_ends_in_one_step() -> None:
    run, states = UnusualRun(COMPLETE), []
    for is_commit in (True, False):
        run.do(PRODUCE)
        states.append(run.transaction.state)
        run.change("is_commit", is_commit)
        assert run.end_at_once()
        states.append(run.transaction.state)
    assert states == ["Ongoing", "CompleteCommit", "Ongoing", "CompleteAbort"]


COORDINATED_BY_2: list[Produce | Change] = [("lead", STATE_TOPIC, index, 2) for index in (0, 1)]
TOO_FEW_IN_SYNC: list[Produce | Change] = [
    ("configure", STATE_TOPIC, "min.insync.replicas", "2"),
    ("keep_in_sync", STATE_TOPIC, 0, (1,)),
    ("keep_in_sync", STATE_TOPIC, 1, (1,)),
]
MARKER_CHECK = "partition.producers.check_marker(producer_id, marker_epoch, coordinator_epoch)"
WRONG = {MARKER_CHECK: "_NONE", "not log.append_end(": "None is log.append_end("}
END_CHECKS: tuple[tuple[str, Steps], ...] = (
    ("transaction is None", [("change", "transactional_id", "b")]),
    ("transaction.state is not _ONGOING", [END]),
    ("transaction.producer_id != producer_id", [("rename_producer",)]),
    (
        "not transaction.producer_epoch == producer_epoch < LAST_EPOCH",
        [("fence_producer",)],
    ),
    ("transaction.marker_requests", [("wait_for_marker",)]),
    ("log.partition.leader_id != broker_id", COORDINATED_BY_2),
    ("coordinator is None", [("remove_broker", 1)]),
    ("not coordinator.is_alive", [("make_dead", 1)]),
    ("coordinator.availability is not _UP", [("isolate", 1)]),
    ("log.check() is not _NONE", TOO_FEW_IN_SYNC),
    ("sender is not None and sender.is_needed", [("add_marker_rule", None)]),
    ("topic is None\n            or partition is None", [("delete", "t")]),
    ("topic.is_internal", [("make_internal",)]),
    ("topic.is_log_append_time", [("configure", "t", "message.timestamp.type", "LogAppendTime")]),
    (
        "len(partition.isr) < topic.min_insync_replicas",
        [("configure", "t", "min.insync.replicas", "2"), ("keep_in_sync", "t", 0, (1,))],
    ),
    (
        "not (partition.leader_id == broker_id or is_reachable(cluster, partition.leader_id))",
        [("lead", "t", 0, 2), ("isolate", 2)],
    ),
    (MARKER_CHECK, [("mark", 9)]),
    ("not log.append_end(", [("use_version", 0)]),
)


@pytest.mark.parametrize(("check", "steps"), END_CHECKS)
def test_an_unusual_end_is_left_to_others(check: str, steps: Steps) -> None:
    assert_left(UnusualRun.end_at_once, end_transaction, check, [*COMPLETE, PRODUCE, *steps])


def assert_left(
    step: Callable[[UnusualRun], bool], function: Any, check: str, steps: Steps
) -> None:
    """The step changes nothing, but it would without the check."""
    run = UnusualRun(steps)
    before = run.result()
    assert not step(run)
    assert run.result() == before

    with pytest.MonkeyPatch.context() as patch:
        edit(patch, function, check, WRONG.get(check, "False"))
        try:
            went_on = step(UnusualRun(steps))
        except (AssertionError, AttributeError):
            went_on = True
        assert went_on
