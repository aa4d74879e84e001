"""Requests that end a transaction of many partitions take turns.

`scripts/bench attack` measures the CPU time of the turns.
"""

from broker.cluster.transactions import SHORT_OFFSETS_MAX, SHORT_PARTITIONS_MAX
from broker.transactions.transaction import COMPLETE
from protocol.pacing import LOOK_EVERY
from tests.attack.attacked_broker import PausingBroker
from tests.attack.long_transactions import LongTransactions


def test_the_end_of_a_transaction_of_many_partitions_takes_a_turn_for_each() -> None:
    partitions = 2 * SHORT_PARTITIONS_MAX
    broker = PausingBroker()
    transactions = LongTransactions(broker, partitions)
    for name, send in transactions.requests():
        cost = send()
        assert cost.turns >= partitions, name
        assert transactions.transaction.state in COMPLETE, name
        assert not broker.bugs, name


def test_the_end_of_a_transaction_of_few_partitions_takes_no_turns() -> None:
    broker = PausingBroker()
    transactions = LongTransactions(broker, SHORT_PARTITIONS_MAX)
    for name, send in transactions.requests():
        cost = send()
        assert cost.turns < SHORT_PARTITIONS_MAX, name
        assert transactions.transaction.state in COMPLETE, name


def test_the_end_of_a_transaction_that_commits_many_offsets_takes_turns() -> None:
    offsets = 2 * SHORT_OFFSETS_MAX
    broker = PausingBroker()
    transactions = LongTransactions(broker, 1)
    pending = broker.cluster.groups.table.transactional_offsets
    for name, send in transactions.requests_with_offsets(offsets):
        assert len(pending) == 1, name
        cost = send()
        assert cost.turns >= offsets // LOOK_EVERY, name
        assert transactions.transaction.state in COMPLETE, name
        assert not len(pending), name
        assert not broker.bugs, name
