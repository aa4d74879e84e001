"""Where quotas charge the requests of a client that throttle nobody: their bytes and their time."""

from broker.cluster.quotas import BrokerQuotas
from quotas.client_rate import ClientRate, ClientRateQuotaManager

TIME_MAX_NS = 10_000_000
"""More than the time of any request that is handled without the ordinary path.

If the machine made one take longer, and that exceeds the quota, the next one is throttled for it.
"""


class ClientCharge:
    """The rates of a client at a broker. They are good while `Cluster.generation` stays."""

    __slots__ = (
        "_manager",
        "_time_manager",
        "client_id",
        "principal",
        "rate",
        "time_rate",
    )

    rate: ClientRate | None
    """That of the bytes of its requests; None if no quota counts them."""
    time_rate: ClientRate | None
    """That of the time of their handlers, in ns; None if no quota counts it."""

    def __init__(
        self,
        quotas: BrokerQuotas,
        manager: ClientRateQuotaManager,
        principal: str,
        client_id: str | None,
        now_ms: int,
    ) -> None:
        """`manager` is the one of `quotas` that has the rate of the bytes."""
        self._manager = manager
        self._time_manager = quotas.request
        self.principal = principal
        self.client_id = client_id
        self.renew(now_ms)

    def renew(self, now_ms: int) -> None:
        """Find the rates again: one did not exist yet, or was dropped because it was idle."""
        client = self.principal, self.client_id, now_ms
        self.rate = self._manager.rate_of(*client)
        self.time_rate = self._time_manager.rate_of(*client)

    def allows(self, size_bytes: int, now_ms: int) -> bool:
        """Return whether requests of a size may be charged now, and throttle nobody."""
        rate, time_rate = self.rate, self.time_rate
        if (rate is None or rate.allows(size_bytes, now_ms)) and (
            time_rate is None or time_rate.allows(TIME_MAX_NS, now_ms)
        ):
            return True
        self.renew(now_ms)
        return False

    def record(self, size_bytes: int, now_ms: int) -> None:
        """Charge the bytes of requests, if a quota counts them."""
        if self.rate is not None:
            self.rate.record(size_bytes, now_ms)
