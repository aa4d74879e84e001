"""Where a quota on bytes charges the requests of a client that throttle nobody."""

from broker.cluster.cluster import Cluster
from quotas.client_rate import ClientRate, ClientRateQuotaManager

_NO_VERSION = -1
"""While quotas charge the time of requests: only the ordinary path measures it."""


class ClientCharge:
    """The rate of a client at a broker. It is good while `ClientQuotas.version` stays."""

    __slots__ = ("_cluster", "_manager", "client_id", "principal", "quota_version", "rate")

    def __init__(
        self,
        cluster: Cluster,
        manager: ClientRateQuotaManager,
        principal: str,
        client_id: str | None,
        now_ms: int,
    ) -> None:
        self._cluster = cluster
        self._manager = manager
        self.principal = principal
        self.client_id = client_id
        self.rate: ClientRate | None = None
        """That of its bytes; None if no quota counts them."""
        self.renew(now_ms)

    def renew(self, now_ms: int) -> None:
        """Find the rate: quotas have changed, or it was idle for so long that it was dropped."""
        quotas = self._cluster.quotas.clients
        is_timed = quotas.request_percentage.is_enabled
        self.quota_version = _NO_VERSION if is_timed else quotas.version
        self.rate = self._manager.rate_of(self.principal, self.client_id, now_ms)

    def allows(self, size_bytes: int, now_ms: int) -> bool:
        """Return whether the bytes of requests may be recorded now, and throttle nobody."""
        version = self._cluster.quotas.clients.version
        if self.quota_version != version:
            self.renew(now_ms)
        if self.rate is None or self.rate.allows(size_bytes, now_ms):
            return self.quota_version == version
        self.renew(now_ms)
        return False

    def record(self, size_bytes: int, now_ms: int) -> None:
        """Charge the bytes of requests, if a quota counts them."""
        if self.rate is not None:
            self.rate.record(size_bytes, now_ms)
