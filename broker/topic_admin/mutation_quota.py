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

    __slots__ = ("_context", "_manager", "_quota")

    def __init__(self, cluster: "Cluster", context: RequestContext, *, is_strict: bool) -> None:
        """Strict from the version on whose clients know the error; before it nobody is refused."""
        self._context = context
        self._manager = cluster.quotas.controller_mutation
        self._quota = self._manager.quota_for(
            context.principal, context.client_id, is_strict=is_strict
        )

    def charge(self, partition_count: int) -> Refusal | None:
        """Charge for a topic's partitions that are otherwise fine to create or delete."""
        is_accepted = self._quota.charge(partition_count, self._context.now_ms)
        return None if is_accepted else QUOTA_EXCEEDED

    def settle(self, now_ms: int) -> None:
        """Throttle the client if it exceeded the quota; `now_ms` is the time of the response.

        What the request waited for the controller counts as part of the throttle (KIP-599).
        """
        self._context.throttle(self._quota.throttle_time_ms(now_ms), self._manager, now_ms)
