"""The text of `mock-kafka groups --describe --topology`."""

from typing import Any

import pytest

from client.resources import Address, GroupDescription
from client.tools.session import ToolError
from client.tools.topology_text import topology_text
from client.topology import (
    DescribedSubtopology,
    GlobalStore,
    TopologyDescription,
    TopologyNode,
    TopologyNodeType,
    TopologyStatus,
)


def node(name: str, node_type: TopologyNodeType, **fields: set[str]) -> TopologyNode:
    names = {
        key: frozenset(fields.get(key, ()))
        for key in ("topics", "stores", "successors", "predecessors")
    }
    return TopologyNode(name, node_type, **names)


def group(**fields: Any) -> GroupDescription:
    values: dict[str, Any] = {
        "group_id": "g",
        "group_type": "streams",
        "state": "Stable",
        "assignor": "sticky",
        "coordinator_id": 1,
        "coordinator": Address("h", 9),
        "members": (),
    }
    return GroupDescription(**(values | fields))


def test_each_node_is_printed_with_its_neighbours() -> None:
    source = node("a", TopologyNodeType.SOURCE, topics={"u", "t"}, successors={"c", "b"})
    processor = node("b", TopologyNodeType.PROCESSOR, stores={"s"}, predecessors={"a"})
    sink = node("c", TopologyNodeType.SINK, topics={"out"}, predecessors={"a"})
    dynamic = node("d", TopologyNodeType.SINK, predecessors={"a"})
    topology = TopologyDescription(
        (DescribedSubtopology("0", (source, processor, sink, dynamic)),),
        (GlobalStore(source, processor),),
    )
    assert topology_text(group(topology=topology)) == (
        "Topologies:\n"
        "   Sub-topology: 0\n"
        "    Source: a (topics: [t, u])\n"
        "      --> b, c\n"
        "    Processor: b (stores: [s])\n"
        "      --> none\n"
        "      <-- a\n"
        "    Sink: c (topic: out)\n"
        "      <-- a\n"
        "    Sink: d (topic: null)\n"
        "      <-- a\n"
        "\n"
        "   Sub-topology: 1 for global store (will not generate tasks)\n"
        "    Source: a (topics: [t, u])\n"
        "      --> b, c\n"
        "    Processor: b (stores: [s])\n"
        "      --> none\n"
        "      <-- a\n"
        "\n"
    )


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"group_type": "consumer"}, "Group 'g' is not a streams group."),
        (
            {"topology_status": TopologyStatus.NOT_STORED},
            "No topology description is stored for streams group 'g'.",
        ),
        (
            {"topology_status": TopologyStatus.ERROR},
            (
                "The broker failed to fetch the topology description for streams group 'g'. See the"
                " broker logs for details."
            ),
        ),
        (
            {},
            "No topology description is available for streams group 'g' (status: NOT_REQUESTED).",
        ),
    ],
)
def test_a_group_without_a_description_says_why(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ToolError) as caught:
        topology_text(group(**fields))
    assert str(caught.value) == problem
