"""The leader's rule for batches of idempotent producers.

Brokers of one cluster may differ in `producer.state.batches` and in the window of KIP-758, as in a
rolling upgrade. All replicas share one producer state in the form of the leader's rule. It is
converted when the leader or its configuration changes, never for a batch.
"""

from collections.abc import Iterable

from broker.cluster.topics import NO_LEADER, Partition
from broker.config.broker_config import BrokerConfig
from producer_state.producer_state_manager import ProducerStateManager


def has_limit_of_ids(config: BrokerConfig, node_ids: Iterable[int]) -> bool:
    """Return whether a broker stops with too many producer ids (`broker.max.producer.ids`)."""
    return any(config.for_broker(node_id)["broker.max.producer.ids"] >= 0 for node_id in node_ids)


def new_producers(config: BrokerConfig, leader_id: int) -> ProducerStateManager:
    """Return empty producer state for a leader; NO_LEADER for the cluster's own rule."""
    batches, window = _rule_of(config, leader_id)
    return ProducerStateManager(batches=batches, window=window)


def adopt_rule_of_leader(config: BrokerConfig, partition: Partition) -> None:
    """Convert a partition's producer state to its leader's rule, if that differs.

    Without a leader the state stays as it is.
    """
    if partition.leader_id != NO_LEADER:
        batches, window = _rule_of(config, partition.leader_id)
        partition.producers.convert(batches=batches, window=window)


def _rule_of(config: BrokerConfig, node_id: int) -> tuple[int, int]:
    values = config.for_broker(node_id)
    return values["producer.state.batches"], values["max.in.flight.sequence.number.per.connection"]
