"""How our broker starts that is to be like a recorded cluster."""

from broker.http_admin.recorded_parts import RecordedCluster

_OTHER_FEATURES = frozenset({"kraft.version"})
"""Features that a cluster in one process does not have."""


def recorded_texts(cluster: RecordedCluster) -> dict[str, str]:
    """Return the configuration of the start: node ids, racks, cluster id, release and features."""
    texts = {
        f"broker.{broker.node_id}.broker.rack": broker.rack
        for broker in cluster.brokers
        if broker.rack
    }
    if cluster.brokers:
        texts["node.id"] = str(cluster.brokers[0].node_id)
    if cluster.cluster_id:
        texts["cluster.id"] = cluster.cluster_id
    if cluster.release:
        texts["broker.api.versions"] = cluster.release
        levels = [
            f"{name}={level}"
            for name, level in cluster.features.items()
            if name not in _OTHER_FEATURES
        ]
        if levels:
            texts["cluster.features"] = ",".join(levels)
    return texts
