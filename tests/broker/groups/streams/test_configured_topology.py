"""Topologies with their topics as they are in the cluster."""

import pytest

from broker.groups.streams.configured_topology import TASKS_MAX, configure
from broker.groups.streams.partition_counts import TopologyError
from broker.groups.streams.statuses import StatusCode
from broker.groups.streams.topology import Subtopology, TopicInfo, Topology
from tests.broker.groups.consumer.driver import Topics

CONFIGS = (("cleanup.policy", "compact"),)
STORE = TopicInfo("store", replication_factor=2, configs=CONFIGS)
COUNT = Topology(
    3,
    {
        "1": Subtopology(
            "1", repartition_source_topics=(TopicInfo("r"),), state_changelog_topics=(STORE,)
        ),
        "0": Subtopology("0", ("t",), repartition_sink_topics=("r",)),
    },
)


def test_missing_internal_topics_have_what_the_topology_says_of_them() -> None:
    configured = configure(COUNT, Topics(t=4))
    assert configured.problem is not None
    assert configured.problem.code is StatusCode.MISSING_INTERNAL_TOPICS
    assert configured.problem.detail == "Internal topics are missing: r, store"
    store = configured.missing["store"]
    assert (store.partition_count, store.replication_factor) == (4, 2)
    assert store.configs == dict(CONFIGS)
    assert configured.missing["r"].replication_factor is None
    assert configured.ready is None


def test_a_group_is_ready_when_all_topics_exist() -> None:
    configured = configure(COUNT, Topics(t=4, r=4, store=4))
    assert configured.problem is None
    assert configured.ready is not None
    assert list(configured.ready) == ["0", "1"]
    assert [found.task_count for found in configured.ready.values()] == [4, 4]
    assert [found.is_stateful for found in configured.ready.values()] == [False, True]


def test_missing_source_topics_are_named_up_to_three() -> None:
    topology = Topology(1, {"0": Subtopology("0", ("d", "b", "a", "c", "t"))})
    problem = configure(topology, Topics(t=1)).problem
    assert problem is not None
    assert problem.code is StatusCode.MISSING_SOURCE_TOPICS
    assert problem.detail == "Source topics a, b, c and 1 additional topics are missing."


def test_an_internal_topic_with_another_count_does_not_fit() -> None:
    problem = configure(COUNT, Topics(t=4, r=4, store=3)).problem
    assert problem is not None
    assert problem.code is StatusCode.INCORRECTLY_PARTITIONED_TOPICS
    assert problem.detail == (
        "Existing topic store has different number of partitions: expected 4, found 3"
    )


def test_an_existing_repartition_topic_decides_how_many_tasks_read_it() -> None:
    configured = configure(COUNT, Topics(t=2, r=2))
    assert configured.missing["store"].partition_count == 2


def test_the_number_of_tasks_has_a_limit() -> None:
    topology = Topology(1, {"0": Subtopology("0", ("t",)), "1": Subtopology("1", ("t",))})
    assert configure(topology, Topics(t=TASKS_MAX // 2)).problem is None
    with pytest.raises(TopologyError, match="may have up to"):
        configure(topology, Topics(t=TASKS_MAX // 2 + 1))


def test_a_negative_count_is_an_error() -> None:
    sink = Subtopology("0", ("t",), repartition_sink_topics=("r",))
    source = Subtopology("1", repartition_source_topics=(TopicInfo("r", -1),))
    with pytest.raises(TopologyError, match="must be at least 1"):
        configure(Topology(1, {"0": sink, "1": source}), Topics(t=4))
