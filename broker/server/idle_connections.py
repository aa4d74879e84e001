"""Connections that are idle for `connections.max.idle.ms` are closed, as in Kafka's `Selector`."""

from collections.abc import Collection, Iterable

from broker.cluster.cluster import Cluster
from broker.server.client_protocol import ClientProtocol
from broker.timers import PeriodicTask


def start_idle_check(cluster: Cluster, protocols: Collection[ClientProtocol], now_ms: int) -> None:
    """Check the connections in `protocols` regularly, until the cluster's timers are cleared."""
    idle_ms_max: int = cluster.config["connections.max.idle.ms"]
    if idle_ms_max <= 0:
        return  # they may be idle for good

    def close_idle(now_ms: int) -> Iterable[None]:
        for protocol in list(protocols):
            idle_ms = now_ms - protocol.last_active_ms
            if idle_ms >= idle_ms_max and not protocol.is_waiting:
                protocol.close_idle(idle_ms)
        return ()

    def next_idle_ms() -> int | None:
        times = (
            protocol.last_active_ms + idle_ms_max
            for protocol in protocols
            if not (protocol.is_waiting or protocol.is_aborted)
        )
        return min(times, default=None)

    interval_ms = max(1, idle_ms_max // 8)
    task = PeriodicTask(cluster.timers, interval_ms, close_idle, next_idle_ms)
    task.start(now_ms + interval_ms)
