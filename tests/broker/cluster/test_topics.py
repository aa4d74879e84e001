from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cluster.topics import Topic, TopicTable, place_replicas, topic_name_problem
from broker.config.broker_config import BrokerConfig
from broker.config.topic_config import TopicConfig


def topic_named(name: str, number: int = 1, /, **overrides: str) -> Topic:
    return Topic(name, UUID(int=number), [], TopicConfig(BrokerConfig(), overrides))


@pytest.mark.parametrize("name", ["a", "A-z_0.9", "...", "x" * 249])
def test_a_valid_name_is_accepted(name: str) -> None:
    assert topic_name_problem(name) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "empty string"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, "longer than the max allowed length 249"),
        ("a b", "other than ASCII alphanumerics"),
        ("ä", "other than ASCII alphanumerics"),
        ("a\n", "other than ASCII alphanumerics"),
    ],
)
def test_an_invalid_name_gets_kafkas_message(name: str, words: str) -> None:
    problem = topic_name_problem(name)

    assert problem is not None
    assert problem.startswith("Topic name is invalid: ")
    assert words in problem


def test_a_table_finds_topics_by_name_and_by_id_and_keeps_their_order() -> None:
    table = TopicTable()
    topics = [topic_named(name, number) for number, name in enumerate("cab", start=1)]
    for topic in topics:
        table.add(topic)

    assert [topic.name for topic in table.all()] == ["c", "a", "b"]
    assert table.get("a") is table.get_by_id(UUID(int=2)) is topics[1]
    table.remove(topics[1])
    assert table.get("a") is table.get_by_id(UUID(int=2)) is None
    assert len(table) == 2


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("a.b", None),
        ("a_b", "a.b"),
        ("a.b_c", "a_b.c"),
        ("a_b_c", "a_b.c"),
        ("ab", None),
        ("A.B", None),
        ("a-b", None),
    ],
)
def test_names_collide_when_only_dots_and_underscores_differ(name: str, other: str | None) -> None:
    table = TopicTable()
    for number, existing in enumerate(["a.b", "a_b.c", "x"], start=1):
        table.add(topic_named(existing, number))

    assert table.colliding_name(name) == other
    assert table.colliding_name(name, ["a.b", "a_b.c"]) is None


def test_partition_indexes_begin_at_0() -> None:
    topic = topic_named("a")

    assert topic.partition(0) is None
    assert topic.partition(-1) is None


def test_settings_follow_the_configuration() -> None:
    topic = topic_named("a", **{"segment.ms": "100", "max.message.bytes": "7"})
    assert topic.segment_settings.segment_ms == 100
    assert (topic.max_message_bytes, topic.is_compacted) == (7, False)

    both = {
        "segment.bytes": "2000000",
        "cleanup.policy": "compact,delete",
        "message.timestamp.type": "LogAppendTime",
        "min.insync.replicas": "2",
    }
    topic.replace_config(TopicConfig(BrokerConfig(), both), {})
    assert (topic.segment_bytes, topic.segment_settings.segment_ms) == (2_000_000, 604_800_000)
    assert topic.is_compacted
    assert (topic.is_log_append_time, topic.min_insync_replicas) == (True, 2)


@given(st.integers(1, 8), st.integers(1, 40), st.integers(0, 100), st.data())
def test_replicas_are_distinct_and_leaders_and_followers_spread_evenly(
    broker_count: int, partition_count: int, first: int, data: st.DataObject
) -> None:
    broker_ids = range(1, broker_count + 1)
    replication_factor = data.draw(st.integers(1, broker_count))

    placed = place_replicas(broker_ids, partition_count, replication_factor, first)

    assert len(placed) == partition_count
    for replicas in placed:
        assert len(set(replicas)) == len(replicas) == replication_factor
        assert set(replicas) <= set(broker_ids)
    leaders = Counter(replicas[0] for replicas in placed)
    led = [leaders[node_id] for node_id in broker_ids]
    assert max(led) - min(led) <= 1
    assert placed[0][0] == broker_ids[first % broker_count]


@given(st.integers(2, 6))
def test_over_enough_rounds_the_partitions_of_a_leader_have_every_follower(
    broker_count: int,
) -> None:
    broker_ids = range(1, broker_count + 1)

    placed = place_replicas(broker_ids, broker_count * (broker_count - 1), 2, 0)

    assert len(set(placed)) == broker_count * (broker_count - 1)
