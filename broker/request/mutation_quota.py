"""Charge clients for the partitions that they create and delete (KIP-599)."""

from broker.cluster.cluster import Cluster
from broker.errors import Refusal
from broker.request.context import RequestContext
from broker.request.shadow_quotas import count_if_shadow
from protocol.errors import ErrorCode
from quotas.entities import CONTROLLER_MUTATION_RATE

QUOTA_EXCEEDED = Refusal(
    ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded."
)


class MutationQuota:
    """The quota of one request: charge each topic in request order, then `settle`."""

    __slots__ = ("_cluster", "_context", "_is_shadow", "_manager", "_quota")

    def __init__(self, cluster: Cluster, context: RequestContext, *, is_strict: bool) -> None:
        """Refuse requests only in versions whose clients know THROTTLING_QUOTA_EXCEEDED."""
        self._cluster = cluster
        self._context = context
        self._is_shadow = False
        self._manager = cluster.quotas.controller_mutation
        self._quota = self._manager.quota_for(
            context.principal, context.client_id, is_strict=is_strict
        )

    def charge(self, partition_count: int) -> Refusal | None:
        """Charge for the partitions of a topic that passed all other checks."""
        now_ms = self._context.now_ms
        is_accepted = self._quota.charge(partition_count, now_ms)
        throttle_time_ms = self._quota.throttle_time_ms(now_ms)
        if throttle_time_ms > 0 and self._count_if_shadow(
            partition_count, throttle_time_ms, now_ms, is_charged=is_accepted
        ):
            return None
        return None if is_accepted else QUOTA_EXCEEDED

    def _count_if_shadow(
        self, partition_count: int, throttle_time_ms: int, now_ms: int, *, is_charged: bool
    ) -> bool:
        context = self._context
        quota_key = CONTROLLER_MUTATION_RATE.name
        shadowed = count_if_shadow(context, self._cluster, quota_key, throttle_time_ms, now_ms)
        if shadowed is None:
            return False
        self._is_shadow = True
        if is_charged and shadowed.is_held:
            # Under an enforced quota the client would still be muted.
            self._manager.charge(context.principal, context.client_id, -partition_count, now_ms)
        if shadowed.is_held or not is_charged:
            shadowed.counter.exceed(partition_count)
        return True

    def settle(self, now_ms: int) -> None:
        """Throttle the client if it exceeded the quota; `now_ms` is the time of the response.

        The time that the request waited for the controller is part of the throttle (KIP-599).
        """
        if self._is_shadow:
            return
        self._context.throttle(self._quota.throttle_time_ms(now_ms), self._manager, now_ms)
