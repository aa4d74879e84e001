"""How many partitions internal topics need."""

import pytest

from broker.groups.streams.partition_counts import (
    PartitioningError,
    TopologyError,
    decide_partition_counts,
)
from broker.groups.streams.topology import CopartitionGroup, Subtopology, TopicInfo, Topology
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import Topics


def decided(*subtopologies: Subtopology, **existing: int) -> dict[str, int]:
    topology = Topology(1, {found.subtopology_id: found for found in subtopologies})
    return decide_partition_counts(topology, Topics(**existing)).decided


def writer(number: str, sources: tuple[str, ...], *sinks: str) -> Subtopology:
    return Subtopology(number, sources, repartition_sink_topics=sinks)


def reader(number: str, *topics: TopicInfo, **fields: object) -> Subtopology:
    return Subtopology(number, repartition_source_topics=topics, **fields)  # type: ignore[arg-type]


def test_a_repartition_topic_gets_the_largest_count_of_what_its_writer_reads() -> None:
    found = decided(writer("0", ("a", "b"), "r"), reader("1", TopicInfo("r")), a=2, b=5)
    assert found == {"r": 5}


def test_a_count_that_the_application_gives_stays() -> None:
    found = decided(writer("0", ("a",), "r"), reader("1", TopicInfo("r", 7)), a=2)
    assert found == {"r": 7}


def test_a_topic_waits_for_the_topics_that_its_writer_reads() -> None:
    middle = reader("0", TopicInfo("r1"), repartition_sink_topics=("r2",))
    found = decided(middle, writer("1", ("a",), "r1"), reader("2", TopicInfo("r2")), a=3)
    assert found == {"r1": 3, "r2": 3}


def test_a_long_chain_in_the_wrong_order_is_decided_in_one_go() -> None:
    count = 2_000
    chain = [
        reader(str(n), TopicInfo(f"r{n + 1}"), repartition_sink_topics=(f"r{n}",))
        for n in range(count)
    ]
    found = decided(*chain, writer("last", ("a",), f"r{count}"), reader("x", TopicInfo("r0")), a=3)
    assert found == {f"r{n}": 3 for n in range(count + 1)}


def test_topics_that_depend_on_each_other_are_a_loop() -> None:
    one = reader("0", TopicInfo("r2"), repartition_sink_topics=("r1",))
    other = reader("1", TopicInfo("r1"), repartition_sink_topics=("r2",))
    with pytest.raises(TopologyError, match="There may be loops in the topology"):
        decided(one, other)


def test_a_topic_that_nobody_writes_has_no_count() -> None:
    with pytest.raises(TopologyError, match="never used as a sink topic"):
        decided(reader("0", TopicInfo("r")))


def test_a_changelog_has_a_partition_for_each_task() -> None:
    subtopology = Subtopology("0", ("a", "b"), state_changelog_topics=(TopicInfo("c"),))
    assert decided(subtopology, a=2, b=5) == {"c": 5}


def test_a_subtopology_reads_something() -> None:
    with pytest.raises(TopologyError, match="No source topics found for subtopology 0"):
        decided(Subtopology("0"))


def test_source_topics_of_a_copartition_group_have_the_same_count() -> None:
    group = CopartitionGroup(source_topics=(0, 1))
    subtopology = Subtopology("0", ("a", "b"), copartition_groups=(group,))
    with pytest.raises(PartitioningError, match=r"\[\{a=2, b=5\}\]"):
        decided(subtopology, a=2, b=5)
    assert decided(subtopology, a=5, b=5) == {}


def test_a_repartition_topic_gets_the_count_of_the_sources_that_it_is_joined_with() -> None:
    group = CopartitionGroup((0,), repartition_source_topics=(0,))
    joined = reader("1", TopicInfo("r"), source_topics=("b",), copartition_groups=(group,))
    assert decided(writer("0", ("a",), "r"), joined, a=2, b=5) == {"r": 5}


def test_a_given_count_must_be_that_of_the_sources() -> None:
    group = CopartitionGroup((0,), repartition_source_topics=(0,))
    joined = reader("1", TopicInfo("r", 3), source_topics=("b",), copartition_groups=(group,))
    with pytest.raises(PartitioningError, match=r"partitions \[3\] of repartition topic \[r\]"):
        decided(writer("0", ("a",), "r"), joined, a=2, b=5)


def test_joined_repartition_topics_get_the_largest_count_or_the_given_one() -> None:
    group = CopartitionGroup(repartition_source_topics=(0, 1))
    writers = (writer("0", ("a",), "r"), writer("1", ("b",), "s"))
    flexible = reader("2", TopicInfo("r"), TopicInfo("s"), copartition_groups=(group,))
    assert decided(*writers, flexible, a=2, b=5) == {"r": 5, "s": 5}
    one_given = reader("2", TopicInfo("r", 4), TopicInfo("s"), copartition_groups=(group,))
    assert decided(*writers, one_given, a=2, b=5) == {"r": 4, "s": 4}
    both = reader("2", TopicInfo("r", 4), TopicInfo("s", 6), copartition_groups=(group,))
    with pytest.raises(PartitioningError, match=r"\[\{r=4, s=6\}\]"):
        decided(*writers, both, a=2, b=5)


@pytest.mark.parametrize("index", [1, -1])
def test_an_index_without_a_topic_is_an_error(index: int) -> None:
    group = CopartitionGroup(source_topics=(index,))
    with pytest.raises(TopologyError) as raised:
        decided(Subtopology("0", ("a",), copartition_groups=(group,)), a=2)
    assert raised.value.error_code is ErrorCode.UNKNOWN_SERVER_ERROR
