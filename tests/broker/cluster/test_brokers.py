"""The coordinator of a group, and the advertised address of a listener."""

from broker.addresses import Address
from broker.cluster.brokers import Broker, coordinator_of

GROUPS = [f"group-{number}" for number in range(60)]


def brokers(*node_ids: int) -> dict[int, Broker]:
    return {node_id: Broker(node_id, "h", node_id) for node_id in node_ids}


def test_coordinators_are_spread_over_the_first_brokers() -> None:
    known = brokers(1, 2, 3, 4)
    assert {coordinator_of(group, known, (1, 2, 3), {}) for group in GROUPS} == {1, 2, 3}


def test_only_the_groups_of_a_broker_that_is_down_move() -> None:
    known = brokers(1, 2, 3)
    before = {group: coordinator_of(group, known, (1, 2, 3), {}) for group in GROUPS}
    known[2].is_alive = False
    for group, node_id in before.items():
        after = coordinator_of(group, known, (1, 2, 3), {})
        assert after == (3 if node_id == 2 else node_id)


def test_a_moved_group_stays_where_it_was_moved_while_that_broker_is_up() -> None:
    known = brokers(1, 2, 3)
    assert coordinator_of("g", known, (1, 2, 3), {"g": 3}) == 3
    known[3].is_alive = False
    assert coordinator_of("g", known, (1, 2, 3), {"g": 3}) in {1, 2}
    known[1].is_alive = known[2].is_alive = False
    assert coordinator_of("g", known, (1, 2, 3), {"g": 3}) is None


def test_a_listener_without_an_address_advertises_the_first_one() -> None:
    broker = Broker(1, "first", 9092, endpoints={"TLS": Address("tls", 9093)})
    assert broker.address("TLS") == Address("tls", 9093)
    assert broker.address("PLAINTEXT") == Address("first", 9092)
