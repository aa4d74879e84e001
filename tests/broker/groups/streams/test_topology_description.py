"""What a streams group keeps of the description of its topology."""

import pytest

from broker.groups.streams.statuses import Status, StatusCode
from broker.groups.streams.topology_description import (
    DELAY_MAX_MS,
    FIRST_DELAY_MS,
    DescribedSubtopology,
    GlobalStore,
    Node,
    NodeType,
    StoredDescription,
    TopologyDescription,
)

SOURCE = Node("a", NodeType.SOURCE, ("t",), successors=("b",))
PROCESSOR = Node("b", NodeType.PROCESSOR, stores=("s",))
STALE = (Status(StatusCode.STALE_TOPOLOGY, ""),)


def test_each_delay_is_twice_as_long_as_the_one_before_up_to_an_hour() -> None:
    stored = StoredDescription()
    expected_ms = FIRST_DELAY_MS
    now_ms = 0
    for _ in range(12):
        assert stored.must_ask(1, (), now_ms)
        assert not stored.must_ask(1, (), now_ms + expected_ms - 1)
        now_ms += expected_ms
        expected_ms = min(2 * expected_ms, DELAY_MAX_MS)
    assert expected_ms == DELAY_MAX_MS


def test_another_topology_is_asked_for_at_once_and_also_by_a_new_coordinator() -> None:
    stored = StoredDescription()
    assert stored.must_ask(1, (), 0)
    assert stored.must_ask(2, (), 0)
    assert not stored.must_ask(2, (), 1)
    stored.forget_asking()
    assert stored.must_ask(2, (), 1)


def test_nobody_is_asked_for_what_is_stored_nor_a_member_with_an_old_topology() -> None:
    stored = StoredDescription()
    assert not stored.must_ask(1, STALE, 0)
    stored.epoch = 1
    assert not stored.must_ask(1, (), 0)
    assert stored.must_ask(2, (), 0)


@pytest.mark.parametrize(
    ("nodes", "stores", "problem"),
    [
        ((SOURCE, PROCESSOR), (GlobalStore(SOURCE, PROCESSOR),), None),
        ((Node("c", 4),), (), "Unknown topology node type: 4"),
        ((), (GlobalStore(Node("c", 0), PROCESSOR),), "Unknown topology node type: 0"),
        (
            (),
            (GlobalStore(PROCESSOR, SOURCE),),
            "Global store must be composed of a source and a processor node.",
        ),
    ],
)
def test_a_description_is_made_of_nodes_of_known_types(
    nodes: tuple[Node, ...], stores: tuple[GlobalStore, ...], problem: str | None
) -> None:
    description = TopologyDescription((DescribedSubtopology("0", nodes),), stores)
    assert description.problem == problem
