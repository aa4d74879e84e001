"""The ISR, and the eligible leader replicas, which have all committed records (KIP-966).

Sources: Kafka's `PartitionChangeBuilder`, `ConfigurationControlManager` and
`Partition.prepareIsrExpand`.
"""

from collections.abc import Callable, Iterable, Sequence

from broker.cluster.topics import NO_LEADER, Partition, Topic
from broker.config.api_versions import release_of
from broker.config.broker_config import BrokerConfig
from protocol.hash_order import ids_in_hash_order, in_hash_order, int_hash
from protocol.pacing import may_pause
from protocol.releases import Release

ISR_IS_A_HASH_SET_SINCE: Release = (4, 2)
"""First release whose leaders add a replica to a hash set; older ones append it."""
_MIN_ISR_KEY = "min.insync.replicas"


@may_pause
def replace_isr(
    topic: Topic, partition: Partition, isr: Sequence[int], *, keeps_eligible: bool
) -> None:
    """Replace the ISR; a replica that leaves it while it is too small can still lead.

    `keeps_eligible` is false without the feature, and for the ISR of an unclean leader.
    """
    candidates = dict.fromkeys((*partition.eligible_leader_replicas, *partition.isr))
    partition.replace_isr(isr)
    partition.eligible_leader_replicas = ()
    if keeps_eligible and len(isr) < min(topic.min_insync_replicas, len(partition.replicas)):
        partition.eligible_leader_replicas = tuple(
            node_id
            for node_id in in_hash_order(candidates, int_hash)
            if node_id in partition.replicas and node_id not in isr
        )


def full_isr(
    partition: Partition,
    is_alive: Callable[[int], bool],
    config: BrokerConfig,
    *,
    can_be_empty: bool,
) -> Sequence[int]:
    """Return the ISR with all replicas that are up, and without those that are down or paused.

    One that is down stays as the only one, unless the ISR can be empty. The order is that of the
    leader's release.
    """
    alive = [n for n in partition.replicas if is_alive(n) and partition.follows(n)]
    may_stay = alive if alive or can_be_empty else partition.replicas
    kept = [n for n in partition.isr if n in may_stay]
    isr = (*kept, *(n for n in alive if n not in kept))
    release = release_of(config.for_broker(partition.leader_id))
    if len(isr) > len(kept) and release >= ISR_IS_A_HASH_SET_SINCE:
        isr = tuple(ids_in_hash_order(isr))
    return isr if isr or can_be_empty else partition.replicas[:1]


def clean_leader(
    partition: Partition, candidates: Iterable[int], is_alive: Callable[[int], bool]
) -> int:
    """Return the first candidate that may lead and is up, or NO_LEADER.

    Those in sync may lead, and without any of them the eligible leader replicas.
    """
    may_lead = partition.isr or partition.eligible_leader_replicas
    return next((n for n in candidates if n in may_lead and is_alive(n)), NO_LEADER)


def last_known_leader(partition: Partition, is_alive: Callable[[int], bool]) -> int:
    """Return the leader that was the last one in sync, if nobody else may lead and it is up."""
    node_id = partition.last_known_leader_id
    if partition.isr or partition.eligible_leader_replicas or not is_alive(node_id):
        return NO_LEADER
    return node_id


def with_common_min_insync_replicas(config: BrokerConfig) -> BrokerConfig:
    """Return it with `min.insync.replicas` of all brokers, which the controller reads.

    Kafka's format command and an upgrade of the feature do that, and remove it from single brokers.
    """
    layer = dict(config.dynamic_layer(None))
    layer.setdefault(_MIN_ISR_KEY, str(config[_MIN_ISR_KEY]))
    config = config.with_dynamic(None, layer)
    for broker_id, own_layer in config.dynamic_by_broker.items():
        if _MIN_ISR_KEY in own_layer:
            rest = {key: value for key, value in own_layer.items() if key != _MIN_ISR_KEY}
            config = config.with_dynamic(broker_id, rest)
    return config
