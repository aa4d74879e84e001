from client.producer.actions import InitProducerIdRequest, MetadataRequest, ProduceRequest
from client.producer.connections import Nodes, State
from tests.client.producer.driver import settings

PRODUCE = ProduceRequest(-1, 100, (), ())


def nodes() -> Nodes:
    return Nodes(settings(), lambda: 0.5)


def connected(node_id: int = 1) -> Nodes:
    made = nodes()
    made.connecting(node_id, 0)
    made.connected(node_id)
    return made


def test_a_lost_connection_returns_its_requests_and_reconnects_after_a_backoff() -> None:
    one = connected()
    for request in (PRODUCE, MetadataRequest(("a",))):
        one.sent(1, request, 5)
    assert one[1].produce_count == 1
    assert one.lost(1, 100) == [PRODUCE, MetadataRequest(("a",))]
    assert one[1].produce_count == 0
    assert not one.may_connect(1, 104)
    assert one.may_connect(1, 105)


def test_reconnect_backoff_grows_until_a_connection_succeeds() -> None:
    one = nodes()
    waits = []
    for _ in range(4):
        one.connecting(1, 0)
        one.lost(1, 0)
        waits.append(one[1].retry_at_ms)
    assert waits == [5, 10, 20, 20]
    one.connecting(1, 0)
    one.connected(1)
    one.lost(1, 0)
    assert one[1].retry_at_ms == 5


def test_requests_and_connection_attempts_time_out() -> None:
    one = connected()
    one.sent(1, PRODUCE, 5)
    one.sent(1, InitProducerIdRequest(), 50)
    one.connecting(2, 10)
    assert one.overdue(59) == []
    assert one.overdue(60) == [2]
    assert one.overdue(105) == [1, 2]
    assert sorted(one.next_due_ms()) == [60, 105]
    assert one.responded(1, 0, 60) == PRODUCE
    assert sorted(one.next_due_ms()) == [60, 150]


def test_a_throttled_connection_is_not_used() -> None:
    one = connected()
    one.sent(1, PRODUCE, 5)
    one.responded(1, 30, 10)
    assert not one[1].is_usable(39)
    assert one[1].is_usable(40)
    assert one.least_loaded([1], 39) is None


def test_least_loaded_returns_the_node_with_the_fewest_requests() -> None:
    one = connected()
    one.connecting(2, 0)
    one.connected(2)
    one.sent(1, PRODUCE, 5)
    assert one.least_loaded([1, 2, 3], 5) == 2
    assert one[3].state is State.DOWN
    assert dict(one.items()).keys() == {1, 2, 3}
