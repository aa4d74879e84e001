"""What the proxy knows of the cluster behind it: brokers with their addresses, names of topics.

It learns them from the responses that pass by. A broker gets a port of the proxy when its address
is first seen, and keeps it. Topics have no partitions here: rules and the journal need their names
by id.
"""

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from broker.addresses import Address
from broker.cluster.brokers import Broker
from broker.cluster.cluster import Cluster
from broker.cluster.topics import INTERNAL_TOPICS, Topic
from broker.config.broker_config import BrokerConfig
from broker.config.topic_config import TopicConfig
from protocol.pacing import may_pause
from proxy.traffic import Traffic
from quotas.entities import CONTROLLER_MUTATION_RATE, PRODUCER_IDS_RATE

ENFORCED_KEYS = (PRODUCER_IDS_RATE.name, CONTROLLER_MUTATION_RATE.name)
"""The quotas that the proxy keeps and enforces: those of KIP-936 and KIP-599."""
BOOTSTRAP_ID = -1
"""The node id of the bootstrap port, as in Kafka's clients."""


class MirrorCluster(Cluster):
    """The state that fault rules, the journal and quotas need, in place of a cluster of ours.

    `open_port` is called with a new broker, and sets the addresses of its listeners.
    """

    def __init__(
        self, config: BrokerConfig, *, cluster_id: str, new_uuid: Callable[[], UUID]
    ) -> None:
        super().__init__(
            config, 1, cluster_id=cluster_id, new_uuid=new_uuid, node_ids=(BOOTSTRAP_ID,)
        )
        self.open_port: Callable[[Broker], None] = lambda _broker: None
        self.upstream: dict[int, Address] = {}
        """The addresses of the brokers behind the proxy, by node id."""
        self.traffic = Traffic()
        self._hide_bootstrap()
        self._set_up_quotas()

    @may_pause
    def reset(self) -> None:
        """Reset all state but brokers and topics, which the cluster behind the proxy has."""
        topics = list(self.topics.all())
        super().reset()
        self._hide_bootstrap()
        self._set_up_quotas()
        for topic in topics:
            self.topics.add(topic)

    def _set_up_quotas(self) -> None:
        self.quotas.metrics.add(self.traffic.measure)
        self.quotas.clients.enforced_keys = ENFORCED_KEYS

    def _hide_bootstrap(self) -> None:
        self.brokers[BOOTSTRAP_ID].is_alive = False  # Metadata does not list it

    def advertised(self, listener: str, node_id: int, upstream: Address) -> Address:
        """Return the address of a broker on a listener of the proxy; it may be a new broker.

        `upstream` is what the cluster advertises for it.
        """
        if self.upstream.get(node_id) != upstream:
            self.upstream[node_id] = upstream
        broker = self.brokers.get(node_id)
        if broker is None:
            broker = Broker(node_id, "", -1)
            self.open_port(broker)
            self._add(broker)
        return broker.address(listener)

    def _add(self, broker: Broker) -> None:
        node_id = broker.node_id
        self._first_brokers = dict(sorted({**self._first_brokers, node_id: broker}.items()))
        self.brokers = dict(sorted({**self.brokers, node_id: broker}.items()))
        self.quotas.add_broker(node_id, self.config)
        self.add_fetch_sessions(node_id)

    def note_metadata(self, response: Any) -> None:
        """Learn racks, the controller and names of topics from a decoded Metadata response."""
        for found in response.brokers:
            broker = self.brokers.get(found.node_id)
            if broker is not None:
                broker.rack = found.rack
        if response.controller_id in self.brokers:
            self.controller_id = response.controller_id
        self.learn_topics(
            (topic.name, topic.topic_id) for topic in response.topics if not topic.error_code
        )

    def learn_topics(self, topics: Iterable[tuple[str | None, UUID | None]]) -> None:
        """Note the ids of topics; a topic that was created again has another one."""
        for name, topic_id in topics:
            if name is None or topic_id is None or name in INTERNAL_TOPICS:
                continue
            known = self.topics.get(name)
            if known is not None and known.topic_id == topic_id:
                continue
            if known is not None:
                self.topics.remove(known)
            self.topics.add(Topic(name, topic_id, [], TopicConfig(self.shared_config, {})))
