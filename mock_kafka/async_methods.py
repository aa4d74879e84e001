"""The methods of a running cluster for coroutines."""

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from mock_kafka.methods import ClusterMethods
from mock_kafka.threads import run_in_thread

__tracebackhide__ = True  # pytest shows the line of the caller

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _in_thread(
    method: Callable[Concatenate[ClusterMethods, _P], _R],
) -> Callable[Concatenate["AsyncMethods", _P], Coroutine[Any, Any, _R]]:
    async def call(self: "AsyncMethods", /, *arguments: _P.args, **named: _P.kwargs) -> _R:
        try:
            return await run_in_thread(method, self.cluster, *arguments, **named)
        except Exception as error:  # noqa: BLE001 - raised again
            # Without the frames of the thread: the traceback has the line of the caller.
            raise error.with_traceback(None) from error.__cause__

    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


class AsyncMethods:
    """The methods of `ClusterMethods` as coroutines; a thread runs them, not the event loop."""

    def __init__(self, cluster: ClusterMethods) -> None:
        self.cluster = cluster

    fail = _in_thread(ClusterMethods.fail)
    respond = _in_thread(ClusterMethods.respond)
    delay = _in_thread(ClusterMethods.delay)
    drop_request = _in_thread(ClusterMethods.drop_request)
    drop_response = _in_thread(ClusterMethods.drop_response)
    hang = _in_thread(ClusterMethods.hang)
    hold = _in_thread(ClusterMethods.hold)
    sequence = _in_thread(ClusterMethods.sequence)
    wait_for_fault = _in_thread(ClusterMethods.wait_for_fault)
    release = _in_thread(ClusterMethods.release)
    throttle = _in_thread(ClusterMethods.throttle)
    add_fault = _in_thread(ClusterMethods.add_fault)
    add_faults = _in_thread(ClusterMethods.add_faults)
    faults = _in_thread(ClusterMethods.faults)
    clear_faults = _in_thread(ClusterMethods.clear_faults)
    advance = _in_thread(ClusterMethods.advance)
    now_ms = _in_thread(ClusterMethods.now_ms)
    set_clock = _in_thread(ClusterMethods.set_clock)
    stop_broker = _in_thread(ClusterMethods.stop_broker)
    isolate_broker = _in_thread(ClusterMethods.isolate_broker)
    start_broker = _in_thread(ClusterMethods.start_broker)
    add_broker = _in_thread(ClusterMethods.add_broker)
    decommission_broker = _in_thread(ClusterMethods.decommission_broker)
    advertise = _in_thread(ClusterMethods.advertise)
    fence_broker = _in_thread(ClusterMethods.fence_broker)
    move_leader = _in_thread(ClusterMethods.move_leader)
    move_coordinator = _in_thread(ClusterMethods.move_coordinator)
    groups = _in_thread(ClusterMethods.groups)
    committed = _in_thread(ClusterMethods.committed)
    lag = _in_thread(ClusterMethods.lag)
    reset_offsets = _in_thread(ClusterMethods.reset_offsets)
    wait_for_stable = _in_thread(ClusterMethods.wait_for_stable)
    fence_member = _in_thread(ClusterMethods.fence_member)
    rebalance = _in_thread(ClusterMethods.rebalance)
    assign = _in_thread(ClusterMethods.assign)
    quota = _in_thread(ClusterMethods.quota)
    shadow_report = _in_thread(ClusterMethods.shadow_report)
    metrics = _in_thread(ClusterMethods.metrics)
    allow = _in_thread(ClusterMethods.allow)
    deny = _in_thread(ClusterMethods.deny)
    acls = _in_thread(ClusterMethods.acls)
    delete_acls = _in_thread(ClusterMethods.delete_acls)
    authorize = _in_thread(ClusterMethods.authorize)
    create_topic = _in_thread(ClusterMethods.create_topic)
    delete_topic = _in_thread(ClusterMethods.delete_topic)
    topic = _in_thread(ClusterMethods.topic)
    topics = _in_thread(ClusterMethods.topics)
    records = _in_thread(ClusterMethods.records)
    delete_records = _in_thread(ClusterMethods.delete_records)
    compact = _in_thread(ClusterMethods.compact)
    truncate = _in_thread(ClusterMethods.truncate)
    leave_gap = _in_thread(ClusterMethods.leave_gap)
    append_control_record = _in_thread(ClusterMethods.append_control_record)
    pause_follower = _in_thread(ClusterMethods.pause_follower)
    resume_follower = _in_thread(ClusterMethods.resume_follower)
    produce = _in_thread(ClusterMethods.produce)
    wait_for_records = _in_thread(ClusterMethods.wait_for_records)
    transactions = _in_thread(ClusterMethods.transactions)
    abort_transaction = _in_thread(ClusterMethods.abort_transaction)
    expire_transactional_id = _in_thread(ClusterMethods.expire_transactional_id)
    request = _in_thread(ClusterMethods.request)
    save_pcap = _in_thread(ClusterMethods.save_pcap)
    requests = _in_thread(ClusterMethods.requests)
    wait_for = _in_thread(ClusterMethods.wait_for)
    last_request_number = _in_thread(ClusterMethods.last_request_number)
    audit = _in_thread(ClusterMethods.audit)
    snapshot = _in_thread(ClusterMethods.snapshot)
    load_snapshot = _in_thread(ClusterMethods.load_snapshot)
    reset = _in_thread(ClusterMethods.reset)
