"""Connections that are idle for `connections.max.idle.ms` are closed, as in Kafka's `Selector`.

Kafka's `Selector` looks for the oldest connection with every poll, so it closes one at its time.
"""

from collections.abc import Collection, Iterable

from broker.cluster.cluster import Cluster
from broker.server.client_protocol import ClientProtocol
from broker.timers import DueTask


def start_idle_check(cluster: Cluster, protocols: Collection[ClientProtocol], now_ms: int) -> None:
    """Close the connections in `protocols` at their times, until the timers are cleared."""
    idle_ms_max: int = cluster.config["connections.max.idle.ms"]
    if idle_ms_max <= 0:
        return  # they may be idle for good
    abort_ms = max(1, idle_ms_max // 8)  # for one that does not take its last responses
    closed_at_ms: dict[ClientProtocol, int] = {}

    def due_times() -> Iterable[tuple[int, ClientProtocol]]:
        for protocol in protocols:
            if protocol.is_aborted:
                continue
            if protocol in closed_at_ms:
                yield closed_at_ms[protocol] + abort_ms, protocol
            elif not protocol.is_waiting:
                yield protocol.last_active_ms + idle_ms_max, protocol

    def close_idle(now_ms: int) -> Iterable[None]:
        for protocol in closed_at_ms.keys() - set(protocols):
            del closed_at_ms[protocol]
        due = [protocol for due_ms, protocol in due_times() if due_ms <= now_ms]
        for protocol in due:
            closed_at_ms[protocol] = now_ms
            protocol.close_idle(now_ms - protocol.last_active_ms)
        return ()

    def next_due_ms() -> int | None:
        return min((due_ms for due_ms, _ in due_times()), default=None)

    DueTask(cluster.timers, idle_ms_max, close_idle, next_due_ms).start(now_ms + idle_ms_max)
