"""How a cluster starts that is to load a recording of another cluster (`mock-kafka record`)."""

from collections.abc import Mapping
from typing import Any

_OTHER_FEATURES = {"kraft.version"}
"""Features that a cluster in one process does not have."""


def broker_count(snapshot: Mapping[str, Any]) -> int:
    """Return how many brokers the recorded cluster had; 1 if the snapshot is no recording."""
    return max(1, len(_brokers(snapshot)))


def recorded_config(snapshot: Mapping[str, Any]) -> dict[str, str]:
    """Return the configuration with which a cluster is like the recorded one.

    It has the node ids, racks, cluster id, API versions and levels of features; nothing if the
    snapshot is no recording.
    """
    cluster = snapshot.get("cluster") or {}
    brokers = _brokers(snapshot)
    config = {
        f"broker.{broker['node_id']}.broker.rack": broker["rack"]
        for broker in brokers
        if broker.get("rack")
    }
    if brokers:
        config["node.id"] = str(brokers[0]["node_id"])
    if cluster.get("cluster_id"):
        config["cluster.id"] = cluster["cluster_id"]
    if cluster.get("release"):
        config["broker.api.versions"] = cluster["release"]
        levels = cluster.get("features", {}).items()
        config["cluster.features"] = ",".join(
            f"{name}={level}" for name, level in levels if name not in _OTHER_FEATURES
        )
    return {key: value for key, value in config.items() if value}


def loadable(snapshot: Mapping[str, Any], *, has_authorizer: bool) -> Mapping[str, Any]:
    """Return what a cluster can load of a snapshot.

    The access control lists of a recording need an authorizer, and most tests have none.
    """
    if has_authorizer or not snapshot.get("cluster"):
        return snapshot
    return {**snapshot, "acls": []}


def _brokers(snapshot: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = (snapshot.get("cluster") or {}).get("brokers", [])
    return found
