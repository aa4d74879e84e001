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


def test_a_new_topic_is_requested_at_once_and_again_after_the_maximum_age() -> None:
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


def test_a_lost_metadata_request_is_sent_again() -> None:
    metadata = known()
    metadata.is_requested = True
    metadata.on_failure(100, 7)
    assert metadata.due_ms() == 107


def test_metadata_is_requested_again_while_a_topic_or_leader_is_missing() -> None:
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


def test_a_topic_with_a_fatal_error_is_not_requested_again() -> None:
    metadata = TopicMetadata(1_000)
    metadata.add_topic(TOPIC)
    response = MetadataResponse(BROKERS, {TOPIC: TopicView(29, {})})
    assert metadata.on_response(response, 50, 10) == {TOPIC: 29}
    assert metadata.due_ms() is None


def test_a_leader_with_an_older_epoch_is_ignored() -> None:
    metadata = known(leader_id=1, leader_epoch=3)
    metadata.on_response(MetadataResponse(BROKERS, topics([2], leader_epoch=2)), 5, 10)
    assert metadata.leader_of(PLACE) == 1
    metadata.on_response(MetadataResponse(BROKERS, topics([2], leader_epoch=4)), 6, 10)
    assert metadata.leader_of(PLACE) == 2


def test_a_recreated_topic_accepts_any_leader_epoch() -> None:
    metadata = known(leader_id=1, leader_epoch=3)
    again = TopicView(0, {0: PartitionView(2, 0)}, topic_id=bytes(15) + b"\1")
    metadata.on_response(MetadataResponse(BROKERS, {TOPIC: again}), 5, 10)
    assert metadata.leader_of(PLACE) == 2
    assert metadata.topic_id(TOPIC) == bytes(15) + b"\1"


def test_partitions_of_a_deleted_topic_have_no_leader() -> None:
    metadata = known()
    metadata.on_response(MetadataResponse(BROKERS, {TOPIC: TopicView(3, {})}), 5, 10)
    assert metadata.partition_count(TOPIC) == 1
    assert metadata.leader_of(PLACE) == NO_LEADER_ID


def test_keyless_records_prefer_partitions_with_a_leader() -> None:
    metadata = TopicMetadata(1_000)
    metadata.add_topic(TOPIC)
    metadata.on_response(MetadataResponse(BROKERS, topics([-1, 2, 1])), 0, 10)
    assert metadata.candidates(TOPIC) == [1, 2]
    metadata.on_response(MetadataResponse(BROKERS, topics([-1, -1], leader_epoch=1)), 0, 10)
    assert metadata.candidates(TOPIC) == [0, 1]
