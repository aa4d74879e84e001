"""The cluster at an earlier time: the metadata of a broker that lags behind the controller."""

from copy import copy
from typing import Any

from broker.addresses import Address
from broker.cluster.brokers import Broker
from broker.cluster.cluster import Cluster
from broker.cluster.group_log import GroupLog
from broker.cluster.topics import Partition, TopicTable
from broker.cluster.transaction_log import TransactionLog


class StaleView:
    """Brokers, topics, leaders, coordinators and controller of one moment; all else is current.

    It creates no topics automatically.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.config = {**cluster.config, "auto.create.topics.enable": False}
        self.controller_id = cluster.controller_id
        self.brokers = {node_id: copy(broker) for node_id, broker in cluster.brokers.items()}
        self.topics = TopicTable()
        self._group_log = GroupLog(self.topics, cluster.config)
        self._transaction_log = TransactionLog(self.topics, cluster.config)
        for topic in cluster.topics.all():
            old = copy(topic)
            old.partitions = [copy(partition) for partition in topic.partitions]
            self.topics.add(old)

    def addresses(self, listener: str) -> list[tuple[Broker, Address]]:
        """Return every broker with the address that it advertises on a listener."""
        return [(broker, broker.address(listener)) for broker in self.brokers.values()]

    def coordinator_id(self, group_id: str) -> int | None:
        """Return the broker that coordinated a group."""
        return self._leader_id(self._group_log.partition(group_id))

    def transaction_coordinator_id(self, transactional_id: str) -> int | None:
        """Return the broker that coordinated a transactional id."""
        return self._leader_id(self._transaction_log.partition(transactional_id))

    def _leader_id(self, partition: Partition | None) -> int | None:
        if partition is None or not self.is_alive(partition.leader_id):
            return None
        return partition.leader_id

    def is_alive(self, node_id: int) -> bool:
        """Return whether a broker was up."""
        broker = self.brokers.get(node_id)
        return broker is not None and broker.is_alive

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)
