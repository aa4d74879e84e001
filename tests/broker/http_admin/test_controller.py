from functools import partial

from broker.cluster.controller_queue import ControllerEvent
from broker.http_admin.controller import EventView, get_controller
from tests.broker.cluster_builder import NOW_MS
from tests.broker.http_admin.admin_server import make_admin


def test_the_queue_is_shown_with_the_remaining_time() -> None:
    admin = make_admin(**{"controller.mutation.time.us": "1500"})
    queue = admin.cluster.controller_queue
    for name, mutations in (("createTopics", 10), ("deleteTopics", 4)):
        event = ControllerEvent(name, lambda _now_ms: None, partial(int, mutations))
        queue.submit(event, NOW_MS)

    view = get_controller(admin)
    assert (view.node_id, view.mutation_time_ms, view.remaining_ms) == (1, 1.5, 21)
    assert view.events == [
        EventView("createTopics", NOW_MS, is_processing=True, mutations=10),
        EventView("deleteTopics", NOW_MS, is_processing=False, mutations=4),
    ]

    admin.server.timer_driver.advance(21)
    assert get_controller(admin).events == []
