"""The controller: its broker, and the events in its queue."""

import msgspec

from broker.http_admin.operation import operation
from broker.http_admin.state import Admin
from protocol.pacing import may_pause


class EventView(msgspec.Struct):
    """One event of the controller; `mutations` are partitions it creates, adds or deletes."""

    name: str
    arrived_ms: int
    is_processing: bool
    mutations: int


class ControllerView(msgspec.Struct):
    """The controller and its queue, the oldest event first.

    `node_id` is -1 while no broker is up. `remaining_ms` is the time until the queue is empty if
    nothing is added. The queue is always empty while `controller.mutation.time.us` is 0.
    """

    node_id: int
    mutation_time_ms: float
    remaining_ms: float
    events: list[EventView]


@operation("GET", "/v1/controller", tag="brokers")
@may_pause
def get_controller(admin: Admin) -> ControllerView:
    """Show the controller's queue: requests for topics and partitions, and elections."""
    queue = admin.cluster.controller_queue
    return ControllerView(
        node_id=admin.cluster.controller_id,
        mutation_time_ms=queue.mutation_time_us / 1000,
        remaining_ms=queue.remaining_ms(admin.now_ms()),
        events=[
            EventView(
                name=event.name,
                arrived_ms=event.arrived_us // 1000,
                is_processing=event.mutations is not None,
                mutations=event.mutation_count() if event.mutations is None else event.mutations,
            )
            for event in queue
        ],
    )
