"""All quotas of a cluster: settings, and the counters of the cluster and its brokers."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from broker.cluster.replication_quota import ReplicationQuota
from protocol.pacing import may_pause
from quotas.client_quotas import ClientQuotas
from quotas.client_rate import FETCH, PRODUCE, REQUEST, ClientRateQuotaManager
from quotas.connection_rate import AcceptRate, ConnectionRateQuotaManager
from quotas.controller_mutation import ControllerMutationQuotaManager
from quotas.definitions import parse_definitions
from quotas.entities import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    PRODUCER_IDS_RATE,
    REQUEST_PERCENTAGE,
)
from quotas.metrics import MetricsRegistry
from quotas.producer_ids import ProducerIdQuotaManager
from quotas.shadow import ShadowReport


class BrokerQuotas:
    """The counters of one broker: a quota applies per broker, as in Kafka."""

    __slots__ = ("accept_rate", "connections", "fetch", "produce", "producer_ids", "request")

    def __init__(
        self, quotas: ClientQuotas, config: Mapping[str, Any], new_seed: Callable[[], bytes]
    ) -> None:
        limits = quotas.limits
        samples = config["quota.window.num"], config["quota.window.size.seconds"]
        self.produce = ClientRateQuotaManager(limits[PRODUCER_BYTE_RATE.name], PRODUCE, *samples)
        self.fetch = ClientRateQuotaManager(limits[CONSUMER_BYTE_RATE.name], FETCH, *samples)
        self.request = ClientRateQuotaManager(limits[REQUEST_PERCENTAGE.name], REQUEST, *samples)
        self.connections = ConnectionRateQuotaManager(
            limits[CONNECTION_CREATION_RATE.name], *samples
        )
        self.accept_rate = AcceptRate(*samples)
        self.producer_ids = ProducerIdQuotaManager(
            limits[PRODUCER_IDS_RATE.name],
            sample_count=config["producer.id.quota.window.num"],
            window_seconds=config["producer.id.quota.window.size.seconds"],
            layer_count=config["producer.id.quota.cache.layer.count"],
            false_positive_rate=config["producer.id.quota.cache.false.positive.rate"],
            new_seed=new_seed,
        )


class QuotaManagers:
    """The quotas of a cluster (`cluster.quotas`).

    `clients` has the settings (AlterClientQuotas, or the key `client.quotas` at the start).
    `brokers` has the counters by broker id. `shadow` counts what quotas in shadow mode would have
    throttled. `metrics` reads all of them. `replication` is that of reassignments.
    """

    __slots__ = (
        "_new_seed",
        "brokers",
        "clients",
        "controller_mutation",
        "metrics",
        "replication",
        "shadow",
    )

    @may_pause
    def __init__(
        self,
        config: Mapping[str, Any],
        broker_ids: Iterable[int],
        *,
        new_seed: Callable[[], bytes],
    ) -> None:
        """`new_seed` gives 16 random bytes for a broker, at its first producer id after a start."""
        self._new_seed = new_seed
        self.clients = ClientQuotas()
        for entity, values in parse_definitions(config["client.quotas"]):
            self.clients.alter(entity, values)
        self.controller_mutation = ControllerMutationQuotaManager(
            self.clients.limits[CONTROLLER_MUTATION_RATE.name],
            config["controller.quota.window.num"],
            config["controller.quota.window.size.seconds"],
        )
        self.metrics = MetricsRegistry()
        self.metrics.add(self.controller_mutation.measurements)
        self.replication = ReplicationQuota()
        self.shadow = ShadowReport()
        self.metrics.add(self.shadow.measurements)
        self.brokers: dict[int, BrokerQuotas] = {}
        for broker_id in broker_ids:
            self.add_broker(broker_id, config)

    def add_broker(self, broker_id: int, config: Mapping[str, Any]) -> None:
        """Add the counters of a broker, if it has none."""
        if broker_id in self.brokers:
            return
        self.brokers[broker_id] = quotas = BrokerQuotas(self.clients, config, self._new_seed)
        tags = {"broker-id": str(broker_id)}
        for manager in (
            quotas.produce,
            quotas.fetch,
            quotas.request,
            quotas.connections,
            quotas.producer_ids,
        ):
            self.metrics.add(manager.measurements, tags)
