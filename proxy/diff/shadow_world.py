"""Start our broker beside a real cluster, with the world of that cluster."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from broker.addresses import Address
from broker.clock import BrokerClock
from broker.cluster.cluster import Cluster
from broker.config.authorizer_settings import ALLOWS_WITHOUT_ACL, SUPER_USERS
from broker.config.broker_config import BROKER_KEYS, BrokerConfig
from broker.config.keys import ConfigError
from broker.http_admin.recorded_parts import RecordedCluster
from broker.http_admin.snapshot_document import Snapshot
from broker.http_admin.snapshot_load import load_snapshot
from broker.http_admin.state import Admin
from broker.server.server import Server
from client.resources import ConfigResource
from protocol.configs import ResourceType
from proxy.diff.placement import adopt_brokers, adopt_placement, create_internal_topics
from proxy.diff.shadow import Shadow
from proxy.diff.shadow_broker import ShadowBroker
from proxy.recording.recording import Recording, RecordingOptions
from proxy.recording.scrubbing import UNSCRUBBED
from proxy.recording.world_admin import open_world_admin

BYTES_MAX = 256 * 1024 * 1024
"""Of all records that are read at the start."""
HIDDEN_KEYS = (SUPER_USERS, ALLOWS_WITHOUT_ACL)
"""Settings of the authorizer, which DescribeConfigs of Apache Kafka returns without their value."""
_PORT = 9092
_OWN_PREFIXES = (
    "advertised.",
    "broker.",
    "control.plane.",
    "controller.",
    "inter.broker.",
    "listener",
    "log.dir",
    "metadata.",
    "node.",
    "principal.",
    "process.",
    "sasl.",
    "security.",
    "ssl.",
)
"""Keys of one machine, of its listeners and of the quorum; and those of our broker alone."""


@dataclass(frozen=True, slots=True)
class RealWorld:
    """What was read of a real cluster; `metadata` is a response with all topics."""

    snapshot: Snapshot
    metadata: Any
    config: Mapping[str, str]
    """The configuration of its first broker."""
    missing: tuple[str, ...]
    """What could not be read."""


def read_world(
    bootstrap_servers: str,
    properties: Mapping[str, str],
    records_max: int | None,
    hidden: Mapping[str, str],
) -> RealWorld:
    """Read a cluster, with the last `records_max` records of each partition, or all; this blocks.

    `hidden` has values of `HIDDEN_KEYS`, which no cluster shows.

    Raises:
        ClientError: it cannot be reached, or refuses to name its topics.
        ToolError: a property is invalid.
    """
    missing: list[str] = []
    options = RecordingOptions(
        UNSCRUBBED,
        records_max=records_max,
        bytes_max=BYTES_MAX,
        has_aborted=True,
        has_leader_epochs=True,  # our broker has those of the cluster
    )
    recording = Recording(bootstrap_servers, properties, options, note=missing.append)
    snapshot = recording.document(recording.read())
    assert snapshot.cluster is not None
    with open_world_admin(bootstrap_servers, properties) as admin:
        metadata = admin.all_topics()
        resource = ConfigResource(ResourceType.BROKER, str(metadata.brokers[0].node_id))
        described = admin.describe_configs([resource]).get(resource, [])
    config = {}
    if isinstance(described, list):
        config = {entry.name: entry.value for entry in described if entry.value is not None}
        config |= hidden
        missing += [
            f"{entry.name}, which the cluster does not show: give it with -o"
            for entry in described
            if entry.name in HIDDEN_KEYS and entry.name not in hidden
        ]
    else:
        missing.append(f"the configuration of the brokers: {described}")
    return RealWorld(snapshot, metadata, config, tuple(missing))


def shadow_config(world: RealWorld) -> BrokerConfig:
    """Return a configuration with which our broker behaves like those of the cluster."""
    cluster = world.snapshot.cluster or RecordedCluster()
    texts = {
        **cluster.config,
        "producer.state.batches": "5",
        "journal.enable": "false",
    }
    first = BrokerConfig.from_overrides(texts)
    for name, text in world.config.items():
        key = BROKER_KEYS.get(name)
        if key is None or not key.is_enforced or name.startswith(_OWN_PREFIXES):
            continue
        try:
            value = BrokerConfig.from_overrides({**texts, name: text})[name]
        except ConfigError:
            continue  # a value that only Kafka has, such as the name of a class
        # A default of ours may mean more than its value, as the replicas of an internal topic.
        if value != first[name]:
            texts[name] = text
    return BrokerConfig.from_overrides(texts)


async def start_shadow(world: RealWorld, clock: BrokerClock) -> tuple[Shadow, Server]:
    """Return the shadow of a cluster, and the server that runs its timers.

    Raises:
        Problem: our broker refuses a part of the world.
    """
    recorded = world.snapshot.cluster or RecordedCluster()
    cluster = Cluster(
        shadow_config(world),
        max(1, len(recorded.brokers)),
        cluster_id=recorded.cluster_id or "",
        new_uuid=uuid4,
    )
    server = Server(cluster, clock)
    for broker in cluster.brokers.values():
        broker.host, broker.port = "shadow", _PORT
        broker.endpoints["PLAINTEXT"] = Address(broker.host, broker.port)
        broker.rack = cluster.config.for_broker(broker.node_id)["broker.rack"] or None
    server.start()
    await load_snapshot(Admin(server, clock), world.snapshot, ())
    shadow = Shadow(ShadowBroker(cluster, server.dispatcher), release=recorded.release or "4.4")
    create_internal_topics(cluster, world.metadata)
    adopt_brokers(cluster, world.metadata, clock.now_ms())
    adopt_placement(cluster, world.metadata, shadow.ids, clock.now_ms())
    shadow.report.missing += world.missing
    for topic in world.snapshot.topics:
        for index, partition in enumerate(topic.partitions):
            shadow.records.note_recorded(
                (topic.name, index),
                [record.offset for record in partition.records if record.offset is not None],
                partition.log_end_offset or 0,
            )
    return shadow, server
