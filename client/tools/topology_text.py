"""The text of `mock-kafka groups --describe --topology`, as kafka-streams-groups.sh prints it.

Source: Kafka's `TopologyDescriptionFormatter` and `StreamsGroupCommand`.
"""

from collections.abc import Iterator, Set

from client.resources import GroupDescription
from client.tools.session import ToolError
from client.topology import TopologyNode, TopologyNodeType, TopologyStatus


def topology_text(group: GroupDescription) -> str:
    """Return the text for a streams group.

    Raises:
        ToolError: it is a group of another type, or its broker has no description.
    """
    if group.group_type != "streams":
        raise ToolError(f"Group '{group.group_id}' is not a streams group.")
    topology = group.topology
    if topology is None:
        raise ToolError(_problem(group))
    parts = [
        (f"Sub-topology: {part.subtopology_id}", part.nodes) for part in topology.subtopologies
    ] + [
        (
            f"Sub-topology: {number} for global store (will not generate tasks)",
            (store.source, store.processor),
        )
        for number, store in enumerate(topology.global_stores, len(topology.subtopologies))
    ]
    text = "Topologies:\n"
    for title, nodes in parts:
        text += f"   {title}\n"
        text += "".join(f"    {line}\n" for node in nodes for line in _lines(node))
        text += "\n"
    return text


def _problem(group: GroupDescription) -> str:
    if group.topology_status is TopologyStatus.NOT_STORED:
        return f"No topology description is stored for streams group '{group.group_id}'."
    if group.topology_status is TopologyStatus.ERROR:
        return (
            "The broker failed to fetch the topology description for streams group"
            f" '{group.group_id}'. See the broker logs for details."
        )
    return (
        f"No topology description is available for streams group '{group.group_id}' (status:"
        f" {group.topology_status.name})."
    )


def _lines(node: TopologyNode) -> Iterator[str]:
    if node.node_type is TopologyNodeType.SOURCE:
        yield f"Source: {node.name} (topics: {_listed(node.topics)})"
    elif node.node_type is TopologyNodeType.PROCESSOR:
        yield f"Processor: {node.name} (stores: {_listed(node.stores)})"
    else:
        yield f"Sink: {node.name} (topic: {next(iter(node.topics), 'null')})"
    if node.node_type is not TopologyNodeType.SINK:
        yield f"  --> {_names(node.successors)}"
    if node.node_type is not TopologyNodeType.SOURCE:
        yield f"  <-- {_names(node.predecessors)}"


def _listed(names: Set[str]) -> str:
    return f"[{', '.join(sorted(names))}]"


def _names(names: Set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
