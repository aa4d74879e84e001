"""Quotas in shadow mode: count the requests that they would throttle, but throttle none.

`client.quota.shadow` sets this mode for all quotas of a broker; it can also be set per entity. The
rules are in ADR 19.
"""

from typing import NamedTuple

from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext, ShadowThrottles
from quotas.entities import CONTROLLER_MUTATION_RATE
from quotas.shadow import ShadowCounter, ShadowEvent, ShadowKey


class Shadowed(NamedTuple):
    """A decision of a shadow quota that was counted, and its counter."""

    counter: ShadowCounter
    is_held: bool


def is_shadow(context: RequestContext, cluster: Cluster, quota_key: str) -> bool:
    """Return whether this client's quota of this key is in shadow mode at this broker."""
    if cluster.config.for_broker(context.broker_id)["client.quota.shadow"]:
        return True
    limits = cluster.quotas.clients.limits[quota_key]
    return limits.is_shadow(context.principal, context.client_id)


def count_if_shadow(
    context: RequestContext,
    cluster: Cluster,
    quota_key: str,
    throttle_time_ms: int,
    now_ms: int,
) -> Shadowed | None:
    """Count that a quota would throttle or refuse this request; None where it is enforced.

    Call it only if `throttle_time_ms` is above 0. Several calls for one request count once.
    """
    if not is_shadow(context, cluster, quota_key):
        return None
    session, throttles = context.session, context.shadow
    if throttles is None:
        is_held = now_ms < session.shadow_muted_until_ms
        context.shadow = throttles = ShadowThrottles(is_held=is_held)
    tags = cluster.quotas.clients.limits[quota_key].scope(context.principal, context.client_id).tags
    is_shared = quota_key == CONTROLLER_MUTATION_RATE.name
    key = ShadowKey(quota_key, tags, None if is_shared else context.broker_id)
    counter = cluster.quotas.shadow.counter(key, now_ms)
    times_ms = throttles.throttle_times_ms
    is_new = quota_key not in times_ms
    if throttles.is_held:
        counter.held += is_new
        times_ms[quota_key] = session.shadow_muted_until_ms - now_ms
    else:
        if is_new:
            event = ShadowEvent(now_ms, throttle_time_ms, context.principal, context.client_id)
            counter.throttle(event)
        else:
            counter.extend(throttle_time_ms)
        times_ms[quota_key] = max(throttle_time_ms, times_ms.get(quota_key, 0))
        ends_ms = now_ms + throttle_time_ms
        session.shadow_muted_until_ms = max(session.shadow_muted_until_ms, ends_ms)
    return Shadowed(counter, throttles.is_held)
