"""Topologies as members send them."""

from broker.groups.streams.topology import Subtopology, TopicInfo, Topology, named_topics

TOPOLOGY = Topology(
    1,
    {
        "0": Subtopology("0", ("t", "u"), repartition_sink_topics=("r",)),
        "1": Subtopology(
            "1",
            repartition_source_topics=(TopicInfo("r"),),
            state_changelog_topics=(TopicInfo("c"),),
        ),
    },
)


def test_a_topic_belongs_to_the_subtopology_that_reads_it() -> None:
    assert TOPOLOGY.subtopology_of == {"t": "0", "u": "0", "r": "1"}


def test_changelogs_are_required_and_topics_that_are_written_only_are_not() -> None:
    assert TOPOLOGY.required_topics == {"t", "u", "r", "c"}


def test_topics_are_named_once_in_order() -> None:
    assert named_topics(TOPOLOGY.subtopologies.values()) == ["t", "u", "r", "c"]


def test_topologies_are_equal_if_all_their_parts_are() -> None:
    assert Topology(1, dict(TOPOLOGY.subtopologies)) == TOPOLOGY
    assert Topology(2, TOPOLOGY.subtopologies) != TOPOLOGY
