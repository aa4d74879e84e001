"""A shared run responds to reads of one request, as long as nothing else takes part in them."""

from typing import Any

import pytest

from broker.dispatch.shared_run import SharedRun
from tests.broker.dispatch.produce_runs import (
    Change,
    Produce,
    Run,
    counted_calls,
)


def test_connections_that_send_the_same_have_the_same_responder() -> None:
    made = Run()
    for _ in range(6):
        made.do(Produce())
        made.do(Produce(connection=1))

    first, second, _ = (connection._responder for connection in made.connections)
    assert isinstance(first, SharedRun)
    assert second is first
    with counted_calls(SharedRun, "respond_at_once") as responses:
        made.do(Produce())
        made.do(Produce(connection=1))
    assert len(responses) == 2
    assert all(responses)


@pytest.mark.parametrize(
    "change",
    [
        ("keep_journal", True),
        ("audit", True),
        ("add_error_rule", None),
        ("set_quota", "producer_byte_rate", 1.0, False),
        ("lead", "t", 0, -1),
    ],
)
def test_it_leaves_a_request_to_others_if_something_else_takes_part(change: Change) -> None:
    made = Run()
    for _ in range(6):
        made.do(Produce())
    made.do(change)

    with counted_calls(SharedRun, "respond_at_once") as responses:
        made.do(Produce())
    assert responses == [None]


@pytest.mark.parametrize(
    "other", [{"topics": ("t", "u")}, {"indexes": (0, 1)}, {"topics": ("u",), "indexes": (0, 1)}]
)
def test_a_connection_that_writes_to_several_partitions_asks_no_run(other: dict[str, Any]) -> None:
    made = Run()
    for _ in range(6):
        made.do(Produce())
    for _ in range(6):
        made.do(Produce(**other))

    with counted_calls(SharedRun, "respond_at_once") as responses:
        made.do(Produce(**other))
    assert not responses
