"""Where quotas of clients charge the Produce requests of a client that throttle nobody."""

from broker.cluster.cluster import Cluster
from broker.produce.batch_layout import IsKnownProducer
from broker.request.client_charge import ClientCharge


def is_none_known(_producer_id: int, _now_ms: int) -> bool:
    """Send all idempotent producers to the ordinary path: the connection has no gate yet."""
    return False


class ProduceCharge(ClientCharge):
    """The rates of a client, and whether a quota counts its producer ids (KIP-936)."""

    __slots__ = ("is_known_producer",)

    def __init__(
        self, cluster: Cluster, broker_id: int, principal: str, client_id: str | None, now_ms: int
    ) -> None:
        quotas = cluster.quotas.brokers[broker_id]
        super().__init__(quotas, quotas.produce, principal, client_id, now_ms)
        self.is_known_producer: IsKnownProducer | None = (
            is_none_known if cluster.quotas.clients.producer_ids_rate.is_enabled else None
        )
        """Says of a connection without a gate whose batches may be appended; None if all may be."""
