"""The methods of a running cluster for coroutines."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Concatenate, ParamSpec, TypeVar

from mock_kafka.verbs import ClusterVerbs

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _twin(
    verb: Callable[Concatenate[ClusterVerbs, _P], _R],
) -> Callable[Concatenate["AsyncVerbs", _P], Awaitable[_R]]:
    async def call(self: "AsyncVerbs", /, *arguments: _P.args, **named: _P.kwargs) -> _R:
        return await asyncio.to_thread(verb, self.cluster, *arguments, **named)

    call.__name__, call.__doc__ = verb.__name__, verb.__doc__
    return call


class AsyncVerbs:
    """The same verbs for coroutines: they run in a thread, and do not block the event loop."""

    def __init__(self, cluster: ClusterVerbs) -> None:
        self.cluster = cluster

    fail = _twin(ClusterVerbs.fail)
    respond = _twin(ClusterVerbs.respond)
    delay = _twin(ClusterVerbs.delay)
    drop_request = _twin(ClusterVerbs.drop_request)
    drop_response = _twin(ClusterVerbs.drop_response)
    hang = _twin(ClusterVerbs.hang)
    throttle = _twin(ClusterVerbs.throttle)
    add_fault = _twin(ClusterVerbs.add_fault)
    add_faults = _twin(ClusterVerbs.add_faults)
    faults = _twin(ClusterVerbs.faults)
    clear_faults = _twin(ClusterVerbs.clear_faults)
    advance = _twin(ClusterVerbs.advance)
    now_ms = _twin(ClusterVerbs.now_ms)
    set_clock = _twin(ClusterVerbs.set_clock)
    stop_broker = _twin(ClusterVerbs.stop_broker)
    isolate_broker = _twin(ClusterVerbs.isolate_broker)
    start_broker = _twin(ClusterVerbs.start_broker)
    add_broker = _twin(ClusterVerbs.add_broker)
    decommission_broker = _twin(ClusterVerbs.decommission_broker)
    fence_broker = _twin(ClusterVerbs.fence_broker)
    move_leader = _twin(ClusterVerbs.move_leader)
    move_coordinator = _twin(ClusterVerbs.move_coordinator)
    quota = _twin(ClusterVerbs.quota)
    shadow_report = _twin(ClusterVerbs.shadow_report)
    metrics = _twin(ClusterVerbs.metrics)
    create_topic = _twin(ClusterVerbs.create_topic)
    delete_topic = _twin(ClusterVerbs.delete_topic)
    topics = _twin(ClusterVerbs.topics)
    records = _twin(ClusterVerbs.records)
    requests = _twin(ClusterVerbs.requests)
    wait_for = _twin(ClusterVerbs.wait_for)
    last_request_number = _twin(ClusterVerbs.last_request_number)
    audit = _twin(ClusterVerbs.audit)
    reset = _twin(ClusterVerbs.reset)
