"""Random commits, in transactions and without, at coordinators whose state is looked at."""

from typing import Any

from hypothesis import strategies as st

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition
from broker.groups.requests import CommitRequest, OffsetToCommit
from broker.transactions.transaction import Transaction
from tests.broker.cluster_builder import NOW_MS
from tests.broker.transactional_driver import TransactionDriver, transactional_cluster

GROUPS = ("g", "h")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.sampled_from(GROUPS)),
        st.tuples(st.just("add offsets"), st.sampled_from(GROUPS)),
        st.tuples(st.sampled_from(["produce", "end", "abort"]), st.just("")),
    ),
    max_size=10,
)


OVERRIDES = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}


class Work:
    """Commits offsets, in transactions and without."""

    def __init__(self) -> None:
        self.cluster = transactional_cluster(1, **OVERRIDES)
        self.driver = TransactionDriver(self.cluster)
        _, self.producer = self.driver.init()
        self.sequence = self.offset = 0

    def move_to(self, cluster: Cluster) -> None:
        """Go on with another cluster, which has loaded what this one had."""
        self.cluster = cluster
        self.driver = TransactionDriver(cluster)

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
