"""Descriptions of topologies in responses."""

from typing import Any

from client.topology import TopologyNodeType, topology_description
from protocol import messages

_Description = messages.StreamsGroupDescribeResponse.DescribedGroup.TopologyDescription
_Part = _Description.TopologyDescriptionSubtopology
_Store = _Description.TopologyDescriptionGlobalStore


def node(kind: Any, name: str, node_type: int, **fields: Any) -> Any:
    values: dict[str, Any] = {
        "source_topics": [],
        "sink_topic": None,
        "stores": [],
        "successors": [],
    }
    values |= fields
    return kind.TopologyDescriptionNode(version=1, name=name, node_type=node_type, **values)


def test_predecessors_are_the_nodes_that_name_a_node_as_successor() -> None:
    source = node(_Part, "a", 1, source_topics=["t"], successors=["c", "b"])
    processor = node(_Part, "b", 2, stores=["s"], successors=["c"])
    sink = node(_Part, "c", 3, sink_topic="out")
    store = _Store(
        version=1,
        source=node(_Store, "g", 1, source_topics=["all"], successors=["h"]),
        processor=node(_Store, "h", 2),
    )
    found = topology_description(
        _Description(
            version=1,
            subtopologies=[_Part(version=1, subtopology_id="0", nodes=[source, processor, sink])],
            global_stores=[store],
        )
    )
    (part,) = found.subtopologies
    assert part.subtopology_id == "0"
    assert [(n.node_type, set(n.topics), set(n.predecessors)) for n in part.nodes] == [
        (TopologyNodeType.SOURCE, {"t"}, set()),
        (TopologyNodeType.PROCESSOR, set(), {"a"}),
        (TopologyNodeType.SINK, {"out"}, {"a", "b"}),
    ]
    (filled,) = found.global_stores
    assert set(filled.processor.predecessors) == {"g"}
