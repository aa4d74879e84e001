"""The hash of topics."""

from uuid import UUID

from broker.groups.consumer.topics import NO_TOPICS, TopicMetadata, group_hash, topic_hash

A = UUID("5f1d36a0-94e5-4b7e-8f1c-2f4a5e0d1c3b")


def test_a_group_without_topics_has_the_hash_0() -> None:
    assert group_hash([]) == 0


def test_hashes_are_those_of_kafkas_hash4j() -> None:
    hashed = topic_hash("orders", A, [["eu-1"], []])
    assert hashed == -4156982770235506118
    assert group_hash([TopicMetadata("orders", A, 2, hashed)]) == -2151077285924593158


def test_the_hash_of_a_group_does_not_depend_on_the_order_of_its_topics() -> None:
    topics = [TopicMetadata("a", A, 1, 5), TopicMetadata("b", A, 1, 6)]
    assert group_hash(topics) == group_hash(topics[::-1]) != group_hash(topics[:1])


def test_name_id_partitions_and_racks_all_count() -> None:
    hashes = {
        topic_hash("a", A, [[], []]),
        topic_hash("b", A, [[], []]),
        topic_hash("a", UUID(int=1), [[], []]),
        topic_hash("a", A, [[]]),
        topic_hash("a", A, [["r"], []]),
        topic_hash("a", A, [[], ["r"]]),
    }
    assert len(hashes) == 6
    assert topic_hash("a", A, [["r", "s"]]) == topic_hash("a", A, [["s", "r"]])


def test_nothing_is_found_without_topics() -> None:
    assert NO_TOPICS.get("t") is None
    assert NO_TOPICS.name_of(A) is None
    assert list(NO_TOPICS.names()) == []
