"""The description of a topology that a streams group keeps (KIP-1331).

Kafka gives descriptions to a plugin. Here the group keeps its own, whatever class
`group.streams.topology.description.plugin.class` names; without a name nobody is asked for one.
Sources: Kafka's `StreamsGroupTopologyDescriptionManager`, `...Converter` and `...Backoff`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from broker.groups.streams.statuses import Status, StatusCode

PLUGIN_KEY = "group.streams.topology.description.plugin.class"

NOTHING_STORED = -1
UNCERTAIN = -2
"""Epochs of the stored description: there is none, or it is just being stored."""

FIRST_DELAY_MS = 30_000
DELAY_MAX_MS = 3_600_000
"""Times until a member is asked again, of which each is twice as long as the one before."""

ASKED_SINCE_VERSION = 1
"""First version of the heartbeat whose clients can be asked for a description."""


class NodeType(IntEnum):
    """The types of a node, as in the messages."""

    SOURCE = 1
    PROCESSOR = 2
    SINK = 3


_NODE_TYPES = frozenset(NodeType)


@dataclass(frozen=True, slots=True)
class Node:
    """A node. A source has topics, a sink perhaps its only topic, a processor state stores."""

    name: str
    node_type: int
    source_topics: tuple[str, ...] = ()
    sink_topic: str | None = None
    stores: tuple[str, ...] = ()
    successors: tuple[str, ...] = ()


class DescribedSubtopology(NamedTuple):
    """A part of a topology that tasks are made of."""

    subtopology_id: str
    nodes: tuple[Node, ...]


class GlobalStore(NamedTuple):
    """A state store that every instance fills from the same source."""

    source: Node
    processor: Node


class TopologyDescription(NamedTuple):
    """A topology with all its nodes."""

    subtopologies: tuple[DescribedSubtopology, ...]
    global_stores: tuple[GlobalStore, ...]

    @property
    def problem(self) -> str | None:
        """Why nobody can have such a topology, or None."""
        for subtopology in self.subtopologies:
            problem = _problem_of(subtopology.nodes)
            if problem is not None:
                return problem
        for store in self.global_stores:
            problem = _problem_of(store)
            if problem is not None:
                return problem
            kinds = (store.source.node_type, store.processor.node_type)
            if kinds != (NodeType.SOURCE, NodeType.PROCESSOR):
                return "Global store must be composed of a source and a processor node."
        return None


def _problem_of(nodes: Iterable[Node]) -> str | None:
    for node in nodes:
        if node.node_type not in _NODE_TYPES:
            return f"Unknown topology node type: {node.node_type}"
    return None


class StoredDescription:
    """The description of one group, and when its members are asked for it."""

    __slots__ = ("_asked_count", "_asked_epoch", "_next_ms", "description", "epoch")

    def __init__(self) -> None:
        self.epoch = NOTHING_STORED
        """The epoch of the topology that `description` describes, or one of those above."""
        self.description: TopologyDescription | None = None
        self.forget_asking()

    def forget_asking(self) -> None:
        """Forget that members were asked, as a new coordinator does."""
        self._asked_epoch = NOTHING_STORED
        self._asked_count = 0
        self._next_ms = 0

    def must_ask(self, topology_epoch: int, statuses: tuple[Status, ...], now_ms: int) -> bool:
        """Return whether to ask a member now; the next one is then asked only after a while.

        `statuses` are those of the response: a member with an old topology cannot describe it.
        """
        is_stale = any(status.code is StatusCode.STALE_TOPOLOGY for status in statuses)
        if is_stale or self.epoch == topology_epoch:
            return False
        if self._asked_epoch != topology_epoch:
            self._asked_epoch, self._asked_count = topology_epoch, 0
        elif now_ms < self._next_ms:
            return False
        self._next_ms = now_ms + min(FIRST_DELAY_MS << self._asked_count, DELAY_MAX_MS)
        self._asked_count += 1
        return True
