"""A transactional producer without sockets: requests go through the connection of a broker."""

from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA, TRANSACTION_STATE
from broker.cluster.transactions import follow_leaders
from protocol import codec
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.connection_driver import Client, request_frame
from tests.transaction_requests import TransactionRequests


class TransactionDriver(TransactionRequests):
    """Each request goes to the broker `broker_id`, at the time `now_ms`."""

    def __init__(self, cluster: Cluster, broker_id: int = 1, transactional_id: str = "tx") -> None:
        super().__init__(self._send, transactional_id=transactional_id)
        self.cluster = cluster
        self.broker_id = broker_id
        self.now_ms = NOW_MS

    def _send(self, request: Any, version: int) -> Any:
        client = Client(self.cluster, self.broker_id)
        api_key = ApiKey(request.API_KEY)
        client.send(request_frame(request, version, 1), self.now_ms)
        assert not client.bugs, client.bugs
        assert client.written, client.close_reason
        return codec.decode_response(client.written, api_key, version)


def transactional_cluster(broker_count: int = 1, /, **overrides: str) -> Cluster:
    """A cluster with a topic `t` of two partitions, on all brokers; broker 1 leads them."""
    cluster = make_cluster(broker_count, **overrides)
    replicas = tuple(range(1, broker_count + 1))
    cluster.create_topic("t", [replicas, replicas], {})
    ensure_internal_topic(cluster, GROUP_METADATA)
    ensure_internal_topic(cluster, TRANSACTION_STATE)
    follow_leaders(cluster)
    return cluster


def make_driver(**overrides: str) -> TransactionDriver:
    """A producer at a cluster of one broker."""
    return TransactionDriver(transactional_cluster(**overrides))
