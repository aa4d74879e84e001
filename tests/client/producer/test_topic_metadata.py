from client.producer.actions import MetadataResponse, PartitionView, TopicView
from client.producer.batch import TopicPartition
from client.producer.topic_metadata import NO_LEADER_ID, TopicMetadata
from tests.client.producer.driver import BROKERS, TOPIC, topics

PLACE = TopicPartition(TOPIC, 0)


def known(leader_id: int = 1, leader_epoch: int = 3) -> TopicMetadata:
    made = TopicMetadata(1_000)
    made.add_topic(TOPIC)
    made.on_response(
        MetadataResponse(BROKERS, topics([leader_id], leader_epoch=leader_epoch)), 0, 10
    )
    return made


def test_a_wanted_topic_is_asked_for_at_once_and_again_when_it_is_old() -> None:
    metadata = TopicMetadata(1_000)
    assert metadata.due_ms() is None
    metadata.add_topic(TOPIC)
    assert metadata.due_ms() == 0
    metadata.is_requested = True
    assert metadata.due_ms() is None
    metadata.on_response(MetadataResponse(BROKERS, topics()), 50, 10)
    assert metadata.due_ms() == 1_050
    metadata.refresh()
    assert metadata.due_ms() == 60


def test_a_lost_question_is_asked_again() -> None:
    metadata = known()
    metadata.is_requested = True
    metadata.on_failure(100, 7)
    assert metadata.due_ms() == 107


def test_it_asks_on_while_a_topic_or_leader_is_missing() -> None:
    for response in (
        MetadataResponse(BROKERS, {TOPIC: TopicView(3, {})}),
        MetadataResponse(BROKERS, {}),
        MetadataResponse({}, {}),
        MetadataResponse(BROKERS, topics([-1])),
        MetadataResponse(BROKERS, topics([9])),  # no such broker
    ):
        metadata = TopicMetadata(1_000)
        metadata.add_topic(TOPIC)
        metadata.on_response(response, 50, 10)
        assert metadata.due_ms() == 60
        assert metadata.failures == 1
        metadata.on_response(MetadataResponse(BROKERS, topics()), 60, 10)
        assert metadata.failures == 0


def test_a_topic_that_can_never_be_written_to_is_given_up() -> None:
    metadata = TopicMetadata(1_000)
    metadata.add_topic(TOPIC)
    response = MetadataResponse(BROKERS, {TOPIC: TopicView(29, {})})
    assert metadata.on_response(response, 50, 10) == {TOPIC: 29}
    assert metadata.due_ms() is None


def test_older_news_of_a_leader_are_not_believed() -> None:
    metadata = known(leader_id=1, leader_epoch=3)
    metadata.on_response(MetadataResponse(BROKERS, topics([2], leader_epoch=2)), 5, 10)
    assert metadata.leader_of(PLACE) == 1
    metadata.on_response(MetadataResponse(BROKERS, topics([2], leader_epoch=4)), 6, 10)
    assert metadata.leader_of(PLACE) == 2


def test_a_topic_created_again_counts_its_leaders_from_the_start() -> None:
    metadata = known(leader_id=1, leader_epoch=3)
    again = TopicView(0, {0: PartitionView(2, 0)}, topic_id=bytes(15) + b"\1")
    metadata.on_response(MetadataResponse(BROKERS, {TOPIC: again}), 5, 10)
    assert metadata.leader_of(PLACE) == 2
    assert metadata.topic_id(TOPIC) == bytes(15) + b"\1"


def test_a_topic_that_vanished_has_partitions_without_leaders() -> None:
    metadata = known()
    metadata.on_response(MetadataResponse(BROKERS, {TOPIC: TopicView(3, {})}), 5, 10)
    assert metadata.partition_count(TOPIC) == 1
    assert metadata.leader_of(PLACE) == NO_LEADER_ID


def test_keyless_records_go_where_there_is_a_leader_if_there_is_any() -> None:
    metadata = TopicMetadata(1_000)
    metadata.add_topic(TOPIC)
    metadata.on_response(MetadataResponse(BROKERS, topics([-1, 2, 1])), 0, 10)
    assert metadata.candidates(TOPIC) == [1, 2]
    metadata.on_response(MetadataResponse(BROKERS, topics([-1, -1], leader_epoch=1)), 0, 10)
    assert metadata.candidates(TOPIC) == [0, 1]
