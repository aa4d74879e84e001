"""Charge a request to its client's quotas; the context holds the throttle time.

Sources: `KafkaApis.handleProduceRequest` and `processResponseCallback` of Fetch,
`ClientRequestQuotaManager.maybeRecordAndGetThrottleTimeMs`.
"""

from broker.cluster.cluster import Cluster
from broker.request.charged_run import ChargedRun
from broker.request.context import RequestContext
from broker.request.shadow_quotas import count_if_shadow, is_shadow
from quotas.entities import CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE

SIZE_BYTES = 4
"""The size field of a response, which counts as fetched bytes."""


def charge_time(
    context: RequestContext, cluster: Cluster, now_ms: int, *, is_exempt: bool = False
) -> None:
    """Charge the handler's time to `request_percentage`, once per request."""
    stopwatch, context.stopwatch = context.stopwatch, None
    if stopwatch is None:
        return
    manager = cluster.quotas.brokers[context.broker_id].request
    if is_exempt:
        manager.record_exempt(stopwatch(), now_ms)
        return
    spent_ns = stopwatch()
    _charge_ns(context, cluster, spent_ns, now_ms)


def _charge_ns(context: RequestContext, cluster: Cluster, spent_ns: int, now_ms: int) -> None:
    manager = cluster.quotas.brokers[context.broker_id].request
    throttle_time_ms = manager.record(context.principal, context.client_id, spent_ns, now_ms)
    if throttle_time_ms == 0:
        return
    shadowed = count_if_shadow(context, cluster, REQUEST_PERCENTAGE.name, throttle_time_ms, now_ms)
    if shadowed is None:
        context.throttle(throttle_time_ms, manager, now_ms)
    elif shadowed.is_held:
        # Under an enforced quota the client would still be muted.
        manager.unrecord(context.principal, context.client_id, spent_ns, now_ms)
        shadowed.counter.exceed(round(spent_ns / 1e6))


def charge_produce(context: RequestContext, cluster: Cluster, *, expects_response: bool) -> None:
    """Charge a Produce request, including batches that were refused."""
    now_ms = context.now_ms
    run, stopwatch = context.run, context.stopwatch
    if run is not None:
        spent_ns = 0 if stopwatch is None else stopwatch()
        byte_count, total_ns = run.byte_count + context.size_bytes, run.spent_ns + spent_ns
        if byte_count <= run.byte_credit and total_ns <= run.ns_credit:
            run.byte_count, run.spent_ns = byte_count, total_ns
            return
        if _is_within_new_credit(context, cluster, run, spent_ns):
            return
        _charge_ns(context, cluster, spent_ns, now_ms)
    elif stopwatch is not None:
        charge_time(context, cluster, now_ms, is_exempt=not expects_response)
    manager = cluster.quotas.brokers[context.broker_id].produce
    throttle_time_ms = manager.record(
        context.principal, context.client_id, context.size_bytes, now_ms
    )
    if throttle_time_ms == 0:
        return
    shadowed = count_if_shadow(context, cluster, PRODUCER_BYTE_RATE.name, throttle_time_ms, now_ms)
    if shadowed is None:
        context.throttle(throttle_time_ms, manager, now_ms)
    elif shadowed.is_held:
        manager.unrecord(context.principal, context.client_id, context.size_bytes, now_ms)
        shadowed.counter.exceed(context.size_bytes)


def end_run(context: RequestContext, cluster: Cluster, run: ChargedRun) -> None:
    """Charge what the requests of a run were not charged yet, at the time of these requests."""
    _charge_so_far(context, cluster, run)
    run.byte_credit = run.ns_credit = -1
    run.has_begun = False


def _is_within_new_credit(
    context: RequestContext, cluster: Cluster, run: ChargedRun, spent_ns: int
) -> bool:
    """Charge the requests before this one, and return whether it may wait for others."""
    _charge_so_far(context, cluster, run)
    if not run.has_begun:
        run.has_begun = True
        return False
    user, client_id, now_ms = context.principal, context.client_id, context.now_ms
    quotas = cluster.quotas.brokers[context.broker_id]
    run.byte_credit = quotas.produce.credit(user, client_id, now_ms)
    run.ns_credit = quotas.request.credit(user, client_id, now_ms)
    if context.size_bytes > run.byte_credit or spent_ns > run.ns_credit:
        run.byte_credit = run.ns_credit = -1  # it is charged by itself, which uses some of it up
        return False
    run.byte_count, run.spent_ns = context.size_bytes, spent_ns
    return True


def _charge_so_far(context: RequestContext, cluster: Cluster, run: ChargedRun) -> None:
    """Charge within the credit: that throttles nobody."""
    if run.byte_count:
        user, client_id, now_ms = context.principal, context.client_id, context.now_ms
        quotas = cluster.quotas.brokers[context.broker_id]
        quotas.produce.record(user, client_id, run.byte_count, now_ms)
        quotas.request.record(user, client_id, run.spent_ns, now_ms)
        run.byte_count = run.spent_ns = 0


def records_bytes_max(cluster: Cluster, requested_bytes: int) -> int:
    """Return how many bytes of records the configuration allows a Fetch."""
    configured: int = min(cluster.config["fetch.max.bytes"], cluster.config["response.bytes.max"])
    return min(requested_bytes, configured)


def fetch_bytes_max(context: RequestContext, cluster: Cluster, requested_bytes: int) -> int:
    """Return how many bytes a Fetch may return: more than the quota's burst never passes."""
    bytes_max = records_bytes_max(cluster, requested_bytes)
    if not cluster.quotas.clients.is_enabled:
        return bytes_max
    manager = cluster.quotas.brokers[context.broker_id].fetch
    quota_bytes = manager.bytes_max(context.principal, context.client_id)
    if quota_bytes is None or is_shadow(context, cluster, CONSUMER_BYTE_RATE.name):
        return bytes_max
    return min(bytes_max, quota_bytes)


def charge_fetch(context: RequestContext, cluster: Cluster, byte_count: int, now_ms: int) -> bool:
    """Charge a Fetch response; return False if it is throttled and must be empty."""
    charge_time(context, cluster, now_ms)
    manager = cluster.quotas.brokers[context.broker_id].fetch
    throttle_time_ms = manager.record(context.principal, context.client_id, byte_count, now_ms)
    shadowed = None
    if throttle_time_ms > 0:
        shadowed = count_if_shadow(
            context, cluster, CONSUMER_BYTE_RATE.name, throttle_time_ms, now_ms
        )
        if shadowed is None:
            context.throttle(throttle_time_ms, manager, now_ms)
        else:
            shadowed.counter.exceed(byte_count)
    if context.throttle_time_ms == 0 and shadowed is None:
        return True
    # A throttled client gets no records, so it is not charged.
    manager.unrecord(context.principal, context.client_id, byte_count, now_ms)
    return context.throttle_time_ms == 0
