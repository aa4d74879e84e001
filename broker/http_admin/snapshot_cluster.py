"""What a snapshot has of the cluster itself: features, configurations, brokers, delegation tokens.

Only what differs from the start is saved, so that a document loads into other clusters.
"""

from collections.abc import Iterable, Mapping, Sequence

from broker.administration.config_alteration import alter_configs
from broker.administration.config_operations import Alteration, Operation
from broker.administration.feature_update import FeatureUpdate, UpgradeType, update_features
from broker.cluster.brokers import Availability
from broker.cluster.cluster import Cluster
from broker.cluster.topics import NO_LEADER
from broker.config.api_versions import release_of
from broker.config.broker_config import key_of
from broker.errors import Refusal
from broker.http_admin.operation import Problem
from broker.http_admin.snapshot_document import (
    SavedBroker,
    SavedConfig,
    SavedToken,
    Snapshot,
)
from broker.http_admin.state import Admin
from broker.security.delegation_tokens import USER_TYPE, DelegationTokens, Principal
from protocol.configs import ConfigOperation, ResourceType
from protocol.pacing import may_pause, paced, paced_elements


def saved_features(cluster: Cluster) -> dict[str, int]:
    """Return the levels that were changed at run time; 0 is one that was removed."""
    start, now = cluster.features_at_start, cluster.features.levels
    return {
        name: now.get(name, 0)
        for name in sorted(start.keys() | now.keys())
        if start.get(name, 0) != now.get(name, 0)
    }


def saved_brokers(cluster: Cluster) -> list[SavedBroker]:
    """Return the brokers that are not up."""
    return [
        SavedBroker(broker.node_id, broker.is_alive, broker.availability.value)
        for broker in cluster.brokers.values()
        if not broker.is_alive or broker.availability is not Availability.UP
    ]


@may_pause
def saved_configs(cluster: Cluster) -> list[SavedConfig]:
    """Return what was set at run time on brokers, groups and client metrics, without secrets."""
    config, start = cluster.config, cluster.config_at_start
    found = [_changed(SavedConfig("broker", "", {}), config.dynamic_default, start.dynamic_default)]
    for node_id, layer in config.dynamic_by_broker.items():
        found.append(_changed(SavedConfig("broker", str(node_id), {}), layer, {}))
    for (resource_type, name), layer in paced(config.resources.items()):
        is_group = resource_type is ResourceType.GROUP
        saved = SavedConfig("group" if is_group else "client_metrics", name, dict(layer))
        found.append(saved)
    return [saved for saved in found if saved.config]


def _changed(saved: SavedConfig, layer: Mapping[str, str], start: Mapping[str, str]) -> SavedConfig:
    """Add the keys of a broker's layer that have another value than at the start."""
    saved.config = {
        name: text
        for name, text in layer.items()
        if start.get(name) != text and not key_of(name).is_sensitive
    }
    return saved


@may_pause
def saved_tokens(tokens: DelegationTokens) -> list[SavedToken]:
    """Return the delegation tokens, without what proves them."""
    return [
        SavedToken(
            token.token_id,
            token.owner.name,
            token.requester.name,
            [renewer.name for renewer in token.renewers],
            token.issue_timestamp_ms,
            token.max_timestamp_ms,
            token.expiry_timestamp_ms,
        )
        for token in paced(tokens.described(None))
    ]


# Loading -----------------------------------------------------------------------------------------


@may_pause
def load_cluster(admin: Admin, snapshot: Snapshot, *, takes_id: bool) -> None:
    """Load all but the brokers into a cluster that was reset, before its topics.

    Raises:
        Problem: 422, the cluster refuses a part.
    """
    cluster = admin.cluster
    if takes_id and snapshot.cluster_id is not None:
        cluster.cluster_id = snapshot.cluster_id
    cluster.producer_ids.skip_to(snapshot.next_producer_id)
    _load_features(cluster, snapshot.features)
    for saved in paced_elements(snapshot.configs):
        _load_config(cluster, saved)
    _load_tokens(cluster.delegation_tokens, snapshot.delegation_tokens)


@may_pause
def _load_features(cluster: Cluster, levels: Mapping[str, int]) -> None:
    updates = [
        FeatureUpdate(
            name,
            level,
            UpgradeType.UPGRADE
            if level >= cluster.features.level(name)
            else UpgradeType.SAFE_DOWNGRADE,
        )
        for name, level in levels.items()
    ]
    release = release_of(cluster.shared_config)
    results = update_features(cluster, updates, release, validate_only=False)
    _refuse_first("features", results.values())


@may_pause
def _load_config(cluster: Cluster, saved: SavedConfig) -> None:
    alteration = Alteration(
        ResourceType[saved.resource_type.upper()],
        saved.resource_name,
        tuple(Operation(name, ConfigOperation.SET, text) for name, text in saved.config.items()),
        is_replacement=False,
    )
    node_id = next(iter(cluster.brokers))
    if saved.resource_type == "broker" and saved.resource_name.isdecimal():
        node_id = int(saved.resource_name)
        if node_id not in cluster.brokers:
            raise Problem(422, f"configs: there is no broker {node_id}")
    results = alter_configs(cluster, node_id, [alteration], validate_only=False)
    _refuse_first(f"configs: {saved.resource_type} {saved.resource_name!r}", results)


def _load_tokens(tokens: DelegationTokens, saved: Sequence[SavedToken]) -> None:
    if saved and not tokens.is_enabled:
        raise Problem(422, "delegation_tokens: the brokers have no delegation.token.secret.key")
    for token in saved:
        tokens.restore(
            token.token_id,
            Principal(USER_TYPE, token.owner),
            Principal(USER_TYPE, token.requester),
            tuple(Principal(USER_TYPE, name) for name in token.renewers),
            issue_timestamp_ms=token.issue_timestamp,
            max_timestamp_ms=token.max_timestamp,
            expiry_timestamp_ms=token.expiry_timestamp,
        )


def check_brokers(cluster: Cluster, saved: Iterable[SavedBroker]) -> None:
    """Check that all brokers exist.

    Raises:
        Problem: 422, one does not.
    """
    for entry in saved:
        if entry.node_id not in cluster.brokers:
            raise Problem(422, f"brokers: there is no broker {entry.node_id}")


@may_pause
def open_brokers(cluster: Cluster, saved: Iterable[SavedBroker]) -> None:
    """Have each broker be up, or as it was saved; their leaders are those of the partitions."""
    by_id = {entry.node_id: entry for entry in saved}
    for broker in cluster.brokers.values():
        entry = by_id.get(broker.node_id)
        if entry is not None:
            broker.is_alive = entry.is_alive
    alive_ids = cluster.alive_broker_ids()
    if cluster.controller_id not in alive_ids:
        cluster.controller_id = next(iter(alive_ids), NO_LEADER)
        cluster.controller_epoch += 1
    cluster.note_change()
    for broker in cluster.brokers.values():
        entry = by_id.get(broker.node_id)
        availability = Availability("up" if entry is None else entry.availability)
        cluster.set_availability(broker, availability)


def _refuse_first(where: str, results: Iterable[Refusal | None]) -> None:
    """Raise the first refusal as a problem."""
    for refusal in results:
        if refusal is not None:
            raise Problem(422, f"{where}: {refusal.error_code.name}: {refusal.message}")
