"""The description of the topology of a streams group (KIP-1331).

Source: Kafka's `StreamsGroupTopologyDescription` and `DescribeStreamsGroupsHandler`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from protocol import messages

_Description: TypeAlias = "messages.StreamsGroupDescribeResponse.DescribedGroup.TopologyDescription"
_Node: TypeAlias = (
    "messages.StreamsGroupDescribeResponse.DescribedGroup.TopologyDescription"
    ".TopologyDescriptionSubtopology.TopologyDescriptionNode"
    " | messages.StreamsGroupDescribeResponse.DescribedGroup.TopologyDescription"
    ".TopologyDescriptionGlobalStore.TopologyDescriptionNode"
)


class TopologyStatus(IntEnum):
    """Whether there is a description of a topology, as in the message."""

    NOT_REQUESTED = 0
    """Also that of a broker before 4.4."""
    NOT_STORED = 1
    ERROR = 2
    """The broker could not get it; its log says why."""
    AVAILABLE = 3


class TopologyNodeType(IntEnum):
    """The types of a node, as in the message."""

    SOURCE = 1
    PROCESSOR = 2
    SINK = 3


@dataclass(frozen=True, slots=True)
class TopologyNode:
    """A node of a topology. `topics` are those of a source, and that of a sink if it is known.

    `successors` and `predecessors` are names of nodes in the same subtopology.
    """

    name: str
    node_type: TopologyNodeType
    topics: frozenset[str]
    stores: frozenset[str]
    successors: frozenset[str]
    predecessors: frozenset[str]


@dataclass(frozen=True, slots=True)
class DescribedSubtopology:
    """A part of a topology that tasks are made of."""

    subtopology_id: str
    nodes: tuple[TopologyNode, ...]


@dataclass(frozen=True, slots=True)
class GlobalStore:
    """The source and the processor that fill a state store of every instance."""

    source: TopologyNode
    processor: TopologyNode


@dataclass(frozen=True, slots=True)
class TopologyDescription:
    """A topology with all its nodes."""

    subtopologies: tuple[DescribedSubtopology, ...]
    global_stores: tuple[GlobalStore, ...]


def topology_description(found: _Description) -> TopologyDescription:
    """Return the description in a response."""
    return TopologyDescription(
        tuple(
            DescribedSubtopology(part.subtopology_id, _nodes(part.nodes))
            for part in found.subtopologies
        ),
        tuple(
            GlobalStore(*_nodes((store.source, store.processor))) for store in found.global_stores
        ),
    )


def _nodes(found: Iterable[_Node]) -> tuple[TopologyNode, ...]:
    """Return nodes that are in the same part, with their predecessors."""
    nodes = tuple(found)
    return tuple(
        TopologyNode(
            node.name,
            TopologyNodeType(node.node_type),
            frozenset(node.source_topics if node.sink_topic is None else [node.sink_topic]),
            frozenset(node.stores),
            frozenset(node.successors),
            frozenset(other.name for other in nodes if node.name in other.successors),
        )
        for node in nodes
    )
