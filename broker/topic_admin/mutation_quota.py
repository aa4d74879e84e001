"""What creating and deleting partitions costs the client that asks for it (KIP-599)."""

from typing import TYPE_CHECKING

from broker.config.alteration import Refusal
from broker.context import RequestContext
from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.cluster import Cluster

QUOTA_EXCEEDED = Refusal(
    ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded."
)


class MutationQuota:
    """The quota of one request: charge each topic in request order, then `settle`."""

    __slots__ = ("_cluster", "_context", "_quota")

    def __init__(self, cluster: "Cluster", context: RequestContext, *, is_strict: bool) -> None:
        """Strict from the version on whose clients know the error; before it nobody is refused."""
        self._cluster = cluster
        self._context = context
        self._quota = cluster.quotas.controller_mutation.quota_for(
            context.principal, context.client_id, is_strict=is_strict
        )

    def charge(self, partition_count: int) -> Refusal | None:
        """Charge for a topic's partitions that are otherwise fine to create or delete."""
        is_accepted = self._quota.charge(partition_count, self._context.now_ms)
        return None if is_accepted else QUOTA_EXCEEDED

    def settle(self) -> None:
        """Have the client pause, if it went too far."""
        context = self._context
        throttle_time_ms = self._quota.throttle_time_ms(context.now_ms)
        if throttle_time_ms > 0:
            context.throttle(throttle_time_ms)
            self._cluster.quotas.controller_mutation.note_throttle(
                context.principal, context.client_id, throttle_time_ms, context.now_ms
            )
