"""The clusters of a lane: one process for each configuration, reset between experiments."""

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, cast

from atlas.situation import Situation
from atlas.steps import GROUP
from client import open_admin
from client.resources import ConfigChange, ConfigResource
from mock_kafka import MockKafka
from protocol.configs import ConfigOperation, ResourceType

if TYPE_CHECKING:
    from mock_kafka.arguments import Resource

CLUSTERS_MAX = 4
"""How many a lane keeps; the one that was not used for longest is stopped."""
ADVANCE = "advance"
"""The name of the rules that only count, to move the clock."""
AS_KAFKA = {"num.partitions": 1, "producer.state.batches": 5}
"""What differs from our defaults: no Kafka has KIP-758 yet, so only situations about it do."""
_RELEASE_KEY = "broker.api.versions"


class Clusters:
    """Clusters by the number of brokers and their configuration."""

    def __init__(self) -> None:
        self._clusters: OrderedDict[Any, MockKafka] = OrderedDict()

    def ready(self, situation: Situation) -> MockKafka:
        """Return an empty cluster for a situation; it has new ports.

        Clients from before get refused connections, so that they are not seen in the next
        experiment.
        """
        config: dict[str, Any] = {**AS_KAFKA, **situation.config}
        if situation.release is not None:
            config[_RELEASE_KEY] = situation.release
        users = None
        security = situation.arguments.get("security")
        if security and "sasl.users" not in config:
            users = {security["username"]: security["password"]}
        settings = sorted((name, str(value)) for name, value in config.items())
        key = (situation.brokers, str(users), *settings)
        cluster = self._clusters.pop(key, None)
        if cluster is not None and not cluster.is_running:
            cluster.stop()
            cluster = None
        if cluster is None:
            if len(self._clusters) >= CLUSTERS_MAX:
                _, oldest = self._clusters.popitem(last=False)
                oldest.stop()
            cluster = MockKafka(situation.brokers, config, users=users).start()
        else:
            cluster.reset(ports="new")
        self._clusters[key] = cluster
        return cluster

    def close(self) -> None:
        """Stop all clusters."""
        while self._clusters:
            self._clusters.popitem()[1].stop()


def prepare(cluster: MockKafka, situation: Situation, seed: int) -> None:
    """Bring an empty cluster into the situation: topics, records, rights, and last the rules."""
    for name, topic in situation.topics.items():
        replication_factor = min(situation.brokers, 3)
        cluster.create_topic(name, topic.partitions, replication_factor, topic.config)
    for name, count in situation.records.items():
        partitions = situation.topics[name].partitions
        for partition in range(partitions):
            values = [str(index) for index in range(count) if index % partitions == partition]
            cluster.produce(name, *values, partition=partition)
    if situation.workload == "admin" and "group" in situation.arguments:
        _commit(cluster, str(situation.arguments["group"]), next(iter(situation.topics)))
    if situation.workload == "share":
        read_from_the_start(cluster.bootstrap_servers, situation.arguments.get("group", GROUP))
    for quota in situation.quotas:
        cluster.quota(**quota)
    for rule in situation.acls:
        cluster.allow(rule.principal, rule.operations, **cast("Resource", rule.resource))
    if situation.faults:
        cluster.add_faults([_seeded(rule, seed) for rule in situation.faults])


def _commit(cluster: MockKafka, group: str, topic: str) -> None:
    """Have a group without members, which has committed an offset."""
    document = cluster.snapshot()
    document["offsets"].append({"group": group, "topic": topic, "partition": 0, "offset": 0})
    cluster.load_snapshot(document)


def read_from_the_start(bootstrap_servers: str, group: str) -> None:
    """Have a share group begin with the records that are there; Kafka's default is `latest`."""
    resource = ConfigResource(ResourceType.GROUP, group)
    change = ConfigChange("share.auto.offset.reset", ConfigOperation.SET, "earliest")
    with open_admin(bootstrap_servers) as admin:
        admin.incremental_alter_configs({resource: [change]})


_RANDOM = {"probability", "jitter_ms", "corrupt_bytes", "change_records"}


def _seeded(rule: dict[str, Any], seed: int) -> dict[str, Any]:
    """Have a rule whose results are random depend on the seed of the experiment."""
    if not _RANDOM & rule.keys():
        return rule
    return {**rule, "seed": rule.get("seed", 0) + seed}


def has_happened(cluster: MockKafka, situation: Situation) -> bool:
    """Return whether a rule has fired, if the situation has rules."""
    rules = cluster.control.ask("GET", "/v1/faults")
    return not situation.faults or any(
        rule["fired"] for rule in rules if rule["rule"].get("name") != ADVANCE
    )


def heal(cluster: MockKafka) -> None:
    """Remove all rules, and start the brokers that a rule has stopped."""
    cluster.clear_faults()
    for broker in cluster.control.ask("GET", "/v1/brokers"):
        if broker["availability"] != "up":
            cluster.start_broker(broker["node_id"])
